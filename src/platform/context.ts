import { BoundedMap } from '../lib/bounded'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { type AccountDatabase, Connection, type Cost, noCost, type TenantDatabase } from './database'
import { Databases, type Settle, type WakeMover } from './databases/databases'
import { type Directory, FIRST } from './databases/directory'
import { type Bindings, type Variables, variables } from './env'

/**
 * One isolate, or one object. All data that is kept between requests belongs to an instance. Two instances
 * share only the database. Each room declares its kept data with `perInstance`, so this file knows no room.
 */
export class Instance {
  /** How its databases bring a copy of a configuration up to date, which a higher room knows. */
  constructor(readonly settle: Settle) {}
}

/** A value that each instance keeps. */
export type Kept<T> = {
  /** The value of an instance. */
  (instance: Instance): T
  /** Replaces the value of an instance, for example by one with other limits. */
  put(instance: Instance, value: T): void
}

/** Declares a value that each instance makes on first use. Its docstring states its bound and its key. */
export function perInstance<T extends object>(create: (instance: Instance) => T): Kept<T> {
  const kept = new WeakMap<Instance, T>()
  const keptBy = (instance: Instance): T => {
    const found = kept.get(instance)
    if (found !== undefined) return found
    const made = create(instance)
    kept.set(instance, made)
    return made
  }
  return Object.assign(keptBy, { put: (instance: Instance, value: T) => void kept.set(instance, value) })
}

/** Directories by tenant, at most 10,000. A database refuses a batch that was sent by an old one (B3). */
const directoriesOf = perInstance(() => new BoundedMap<string, Directory>(10_000))

const MOST_DATABASES = 100

/** The bound databases by name: `DB`, `DB_2`, `DB_3` and so on, without gaps (B1). */
export function boundDatabases(env: Bindings): { name: string; d1: D1Database }[] {
  const list = [{ name: FIRST, d1: env.DB }]
  for (let nth = 2; nth <= MOST_DATABASES; nth += 1) {
    const name = `DB_${nth}`
    const d1: unknown = Reflect.get(env, name)
    if (!isDatabase(d1)) break
    list.push({ name, d1 })
  }
  return list
}

const isDatabase = (binding: unknown): binding is D1Database =>
  typeof binding === 'object' && binding !== null && 'batch' in binding && 'prepare' in binding

/** All databases, for one request, call or alarm. Its round trips and rows are counted in `cost`. */
export function databasesOf(
  instance: Instance,
  env: Bindings,
  cost: Cost,
  wakeMover: WakeMover = () => undefined,
): Databases {
  return new Databases({
    cost,
    connections: boundDatabases(env).map(({ name, d1 }) => new Connection(name, d1, cost)),
    testClock: variables(env).TEST_CLOCK === 'on',
    directories: directoriesOf(instance),
    settle: instance.settle,
    wakeMover,
  })
}

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
  /** The requested path, percent-encoded, under the caller's base (G1); empty without a request. */
  path: string
  env: Bindings
  variables: Variables
  instance: Instance
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
