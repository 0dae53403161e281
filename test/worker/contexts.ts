import { env } from 'cloudflare:workers'
import type { TenantContext } from '../../src/runtime/context'
import { newContext } from '../../src/runtime/context'
import { Instance } from '../../src/runtime/instance'

/** The context of a tenant's background work, in an isolate without cached data. */
export function contextOf(tenantId: string, DB: D1Database = env.DB): TenantContext {
  const context = newContext(new Instance(), { ...env, DB }, () => undefined)
  return { ...context, db: context.db.of(tenantId) }
}
