import * as z from 'zod'
import { cursorQuery } from '../../api/cursors'
import { Timestamp, Uuid, UuidResponse } from '../../api/fields'
import { integerQuery } from '../../api/queries'
import { AUDIT_ACTIONS, AUDIT_KINDS } from '../../configuration/audit/audit.types'
import { isId } from '../../lib/ids'
import { PAGES } from '../../lib/limits'

/** The cursor of a page: the id of the last entry before it. */
export const AuditCursor = z.string().refine(isId)

const once = () => z.string('must be given once')

/** The page of an audit log, and which entries it has (Z1). */
export const AuditLogQuery = z.object({
  id: Uuid.optional(),
  kind: z.enum(AUDIT_KINDS, `must be one of ${AUDIT_KINDS.join(', ')}`).optional(),
  key: once().optional(),
  actor: once().optional(),
  after: cursorQuery(AuditCursor).optional(),
  limit: integerQuery({ min: 1, ...PAGES.admin }),
})

/** An entry of an audit log (Z1). */
export const AuditLogEntry = z
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

export const AuditLogResponse = z.array(AuditLogEntry).meta({ id: 'AuditLogResponse' })
