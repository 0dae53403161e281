import { env } from 'cloudflare:workers'
import type { TenantContext } from '../../src/runtime/context'
import { newContext } from '../../src/runtime/context'
import { Instance } from '../../src/runtime/instance'

/** What work of a tenant is handed that no request has asked for, of an isolate that remembers nothing. */
export function contextOf(tenantId: string, DB: D1Database = env.DB): TenantContext {
  const context = newContext(new Instance(), { ...env, DB }, () => undefined)
  return { ...context, db: context.db.of(tenantId) }
}
