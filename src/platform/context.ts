import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { type AccountDatabase, type Cost, noCost, type TenantDatabase } from './database'
import { databasesOf } from './databases/bound'
import type { Databases, WakeMover } from './databases/databases'
import { type Bindings, type Variables, variables } from './env'
import type { Instance } from './instance'

/** The things that an application key or a user token may do: reads and writes, or reads alone (K5). */
export const KEY_SCOPES = ['write', 'read'] as const
export type KeyScope = (typeof KEY_SCOPES)[number]

/** A tenant as every request reads it. */
export type Tenant = { id: string; customerId: string; configVersion: number }

/**
 * The access that a valid key gives (K3). `keyId` is null for the key from a variable (K4), and for the demo.
 * `keyName` is then the name of the variable. For other keys it may be null: the first database has the name.
 */
export type Access =
  | { kind: 'admin'; keyId: string | null; keyName: string | null }
  | { kind: 'application'; userId: string; scope: KeyScope }

/** Figures of the log line that only some requests have. */
export type Notes = {
  /** The event was committed alone, not together with others that came at the same time. */
  alone?: boolean
  /** How often the commit was repeated, because the user had changed. */
  conflicts?: number
  /** The event went through the user's lane. */
  lane?: boolean
  /** With how many other users' events it was committed, itself included. */
  group?: number
  /** A message was sent to the queue of the outbox. */
  queued?: number
  /** How often leaderboards were called, how many calls that was, and the rows that they wrote. */
  objectWaves?: number
  objectCalls?: number
  objectRows?: number
}

/** The data that every request has from its beginning. */
export type Context = {
  requestId: string
  /** When it began, by the machine's clock. */
  began: Instant
  /** The origin of the request's address, such as `https://example.com`; null if there is no request. */
  origin: string | null
  /**
   * The requested path, percent-encoded, under the base that the caller used (G1); empty if there is no
   * request.
   */
  path: string
  env: Bindings
  variables: Variables
  instance: Instance
  /** All databases of the account. */
  databases: Databases
  /** The first one of them. In a scope or in background work, it may be one that holds users: see there. */
  db: AccountDatabase
  cost: Cost
  notes: Notes
  /** Keeps work alive after the caller has gone. */
  waitUntil(work: Promise<unknown>): void
}

/**
 * The same for one tenant. Background work gets this. `db` is the database of the request's user if it is
 * about one; the database whose users the work is about; else the first one.
 */
export type TenantContext = Context & { db: TenantDatabase }

/** A request with a valid key, at one moment. Verbs of the whole account get this. */
export type AccountScope = Context & {
  access: Access
  now: Instant
  /** The audit log of the request: the id of the tenant, or an empty text for the log of the account (Z1). */
  auditLog: string
}

/** The same inside one tenant. All other verbs get this. */
export type Scope = AccountScope & TenantContext & { tenant: Tenant }

/** Makes the context with which a request, a queue message, an alarm or a cron run begins. */
export function newContext(
  instance: Instance,
  env: Bindings,
  waitUntil: Context['waitUntil'],
  wakeMover?: WakeMover,
): Context {
  const cost = noCost()
  const settings = variables(env)
  const databases = databasesOf(instance, env, cost, wakeMover)
  return {
    requestId: crypto.randomUUID(),
    began: systemNow(),
    origin: null,
    path: '',
    env,
    variables: settings,
    instance,
    databases,
    db: databases.first,
    cost,
    notes: {},
    waitUntil,
  }
}
