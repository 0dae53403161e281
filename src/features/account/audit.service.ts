import type * as z from 'zod'
import { nextLink } from '../../api/cursors'
import { auditPage, type StoredEntry } from '../../configuration/audit/audit.repository'
import { oldestKept } from '../../configuration/audit/retention.service'
import { iso } from '../../lib/clock'
import type { AccountScope } from '../../platform/context'
import type { AuditCursor, AuditLogEntry, AuditLogQuery } from './audit.schemas'

function entryResponse({ at, keyId, keyName, ...entry }: StoredEntry): z.infer<typeof AuditLogEntry> {
  return { ...entry, at: iso(at), actor: { keyId, name: keyName } }
}

/**
 * A page of the audit log of the tenant or of the account, newest first, and the header `Link` to the next
 * page; null on the last page. Entries are shown for a year (Z1).
 */
export async function readAuditLog(
  scope: AccountScope,
  { after, limit, ...wanted }: z.output<typeof AuditLogQuery>,
): Promise<{ entries: z.infer<typeof AuditLogEntry>[]; next: string | null }> {
  const page = { before: after, oldest: oldestKept(scope.now), limit }
  const { entries, next } = await auditPage(scope, wanted, page)
  const given = Object.entries(wanted).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const cursor: z.input<typeof AuditCursor> | null = next
  return {
    entries: entries.map(entryResponse),
    next: cursor && nextLink(scope, { ...Object.fromEntries(given), limit: String(limit) }, cursor),
  }
}
