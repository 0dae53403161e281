import { AccountDatabase, type Cost, noCost, type TenantDatabase } from '../db/database'
import type { Instant } from '../lib/clock'
import { type Bindings, type Variables, variables } from './env'
import type { Instance } from './instance'

/** A tenant as every request reads it. */
export type Tenant = { id: string; customerId: string; configVersion: number }

/** Whom a valid key speaks for (K3). */
export type Access = { kind: 'admin' } | { kind: 'application'; userId: string }

/** What every request has from its first moment. */
export type Context = {
  requestId: string
  /** Through which address the request came, such as `https://example.com`; null where nobody has sent one. */
  origin: string | null
  /** The path that was asked for, percent-encoded, under whichever base (G1); empty if nobody has sent a request. */
  path: string
  env: Bindings
  variables: Variables
  instance: Instance
  db: AccountDatabase
  cost: Cost
  /** Figures of the log line that only some requests have, such as conflicts. */
  notes: Record<string, number | string | boolean>
  /** Keeps work alive when the caller has gone. */
  waitUntil(work: Promise<unknown>): void
}

/** The same on behalf of one tenant: what work that no request has asked for is handed. */
export type TenantContext = Context & { db: TenantDatabase }

/** A request with a valid key, at one moment: what verbs of the whole account are handed. */
export type AccountScope = Context & { access: Access; now: Instant }

/** The same inside one tenant: what all other verbs are handed. */
export type Scope = AccountScope & TenantContext & { tenant: Tenant }

/** The context that a request, a queue message, an alarm or a cron run begins with. */
export function newContext(instance: Instance, env: Bindings, waitUntil: Context['waitUntil']): Context {
  const cost = noCost()
  const settings = variables(env)
  return {
    requestId: crypto.randomUUID(),
    origin: null,
    path: '',
    env,
    variables: settings,
    instance,
    db: new AccountDatabase(env.DB, cost, settings.TEST_CLOCK === 'on'),
    cost,
    notes: {},
    waitUntil,
  }
}
