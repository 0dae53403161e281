import * as z from 'zod'
import { LOG_OF_ACCOUNT } from '../../access/tenants.sql.ts'
import { endpointsOf } from '../../api/endpoint'
import { Timestamp, UserId, Uuid, UuidResponse } from '../../api/fields'
import { cursorQuery, integerQuery, type LongPage, longPage, pageResponse } from '../../api/queries'
import { AUDIT_ACTIONS } from '../../configuration/audit.rules'
import { auditPage, oldestKept, type StoredEntry } from '../../configuration/audit.sql.ts'
import { AUDIT_KINDS } from '../../configuration/tables.sql.ts'
import { iso } from '../../lib/clock'
import { isId } from '../../lib/ids'
import { PAGES } from '../../lib/limits'
import type { AccountScope } from '../../platform/context'
import { findIid } from '../../store/users/users.sql.ts'

/** The cursor of a page: the id of the last entry before it. */
const AuditCursor = z.string().refine(isId)

const once = () => z.string('must be given once')

const AuditLogQuery = z.object({
  id: Uuid.optional(),
  kind: z.enum(AUDIT_KINDS, `must be one of ${AUDIT_KINDS.join(', ')}`).optional(),
  key: once().optional(),
  actor: once().optional(),
  userId: UserId.optional(),
  after: cursorQuery(AuditCursor).optional(),
  limit: integerQuery({ min: 1, ...PAGES.admin }),
})

const AuditLogEntry = z
  .object({
    id: UuidResponse,
    at: Timestamp,
    actor: z.object({ keyId: UuidResponse.nullable(), name: z.string().nullable() }),
    action: z.enum(AUDIT_ACTIONS),
    kind: z.enum(AUDIT_KINDS),
    resourceId: z.string().nullable(),
    key: z.string().nullable(),
    fields: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
    requestId: z.string(),
  })
  .meta({ id: 'AuditLogEntry' })

const AuditLogResponse = z.array(AuditLogEntry).meta({ id: 'AuditLogResponse' })

function entryResponse({ at, keyId, keyName, ...entry }: StoredEntry): z.infer<typeof AuditLogEntry> {
  return { ...entry, at: iso(at), actor: { keyId, name: keyName } }
}

/**
 * A page of the audit log of the tenant or of the account, newest first. Entries are shown for a year. A
 * user who does not exist has none (Z1).
 */
async function readAuditLog(
  scope: AccountScope,
  { after, limit, ...wanted }: z.output<typeof AuditLogQuery>,
): Promise<LongPage<z.infer<typeof AuditLogEntry>[], z.input<typeof AuditCursor>>> {
  const page = { before: after, oldest: oldestKept(scope.now), limit }
  const { userId, ...filters } = wanted
  const { databases, auditLog: log } = scope
  const hasUsers = log !== LOG_OF_ACCOUNT
  const userIid =
    userId !== undefined && hasUsers ? await findIid(databases.usersOf(log).of(userId), userId) : null
  if (userId !== undefined && userIid === null) return { items: [], next: null }
  const { entries, next } = await auditPage(scope, { ...filters, ...(userIid !== null && { userIid }) }, page)
  return { items: entries.map(entryResponse), next }
}

const endpoint = endpointsOf('admin')

/** The endpoints of the audit logs: of each tenant, and of the account (Z1). */
export const auditEndpoints = [
  endpoint(
    'GET /audit-log',
    {
      id: 'admin_audit_log',
      tenantOrAccount: true,
      archived: true,
      summary: 'List the changes that admins made, newest first',
      query: AuditLogQuery,
      responses: { 200: pageResponse('A page of entries.', AuditLogResponse) },
    },
    async (scope, { query }) => longPage(scope, query, await readAuditLog(scope, query)),
  ),
]
