import type { Cost, Database } from './db/database'
import type { Bindings, Variables } from './env'
import type { Instance } from './instance'
import type { Tenant } from './modules/tenants/tenants.repository'
import type { Instant } from './shared/clock'

/** Whom a valid key speaks for (K3). */
export type Access = { kind: 'admin' } | { kind: 'application'; userId: string }

/** What every request has from its first moment. */
export type Context = {
  requestId: string
  env: Bindings
  variables: Variables
  instance: Instance
  db: Database
  cost: Cost
  /** Figures of the log line that only some requests have, such as conflicts. */
  notes: Record<string, number | string | boolean>
  /** Keeps work alive when the caller has gone. */
  waitUntil(work: Promise<unknown>): void
}

/** A request with a valid key, inside one tenant, at one moment: what every verb is handed. */
export type Scope = Context & { access: Access; tenant: Tenant; now: Instant }
