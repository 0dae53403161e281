import { NEXT_LINK } from '../../api/cursors'
import type { App } from '../../api/hono'
import { mountForTenantOrAccount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { AuditLogQuery, AuditLogResponse } from './audit.schemas'
import { readAuditLog } from './audit.service'

export const adminAuditLog = operation({
  id: 'admin_audit_log',
  surface: 'admin',
  tenantOrAccount: true,
  archived: true,
  method: 'get',
  path: '/audit-log',
  summary: 'List the changes that admins made, newest first',
  query: AuditLogQuery,
  responses: {
    200: { description: 'A page of entries.', body: AuditLogResponse, optionalHeaders: { Link: NEXT_LINK } },
  },
})

/** Serves the audit logs: of each tenant, and of the account (Z1). */
export function auditRoutes(app: App): void {
  mountForTenantOrAccount(app, adminAuditLog, {}, async (scope, { query }) => {
    const { entries, next } = await readAuditLog(scope, query)
    return { ...ok(entries), ...(next !== null && { headers: { Link: next } }) }
  })
}
