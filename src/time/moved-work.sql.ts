import type * as z from 'zod'
import { type AccountDatabase, type FixedSql, type Statement, statement } from '../platform/database'
import { guardSql } from '../platform/guard'
import { type DueKind, DueRow } from './due-work.sql.ts'

/* Due work that moves along with users, and the work of moving them (B3). The tenant is ?1. */

export const MovedWork = DueRow.omit({ asked: true })
/** A piece of due work that moves along with users. */
export type MovedWork = z.infer<typeof MovedWork>

const OF_KINDS = `
  SELECT kind, subject, due_at AS dueAt, progress FROM due_work
  WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(?2))`

/** Reads all work of some kinds. Parse the rows with `MovedWork`. */
export const workOfKinds = (tenantId: string, kinds: readonly string[]): Statement =>
  statement(OF_KINDS, tenantId, JSON.stringify(kinds))

const FORGET = `
  DELETE FROM due_work WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(?2))`

/** Deletes due work of some kinds. */
export const forgetWork = (tenantId: string, kinds: readonly string[]): Statement =>
  statement(FORGET, tenantId, JSON.stringify(kinds))

/** Work that both databases have goes on at the earlier moment; what both have done is done. */
const JOIN = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?2) WHERE true
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1,
    progress = CASE WHEN progress ->> '$.through' < excluded.progress ->> '$.through'
      THEN json_set(progress, '$.through', excluded.progress -> '$.through') ELSE progress END`

/** Brings due work to a database, beside the work that it has. */
export function joinWork(tenantId: string, works: readonly MovedWork[]): Statement {
  const rows = works.map(({ kind, subject, dueAt, progress }) => [kind, subject, dueAt, progress])
  return statement(JOIN, tenantId, JSON.stringify(rows))
}

const LOWER_UNTIL = `
  UPDATE due_work SET progress = json_set(progress, '$.until', ?3)
  WHERE tenant_id = ?1 AND kind = ?2 AND progress ->> '$.until' > ?3`

/** Lowers the moment `until` in the progress of the work of a kind, in milliseconds. */
export const lowerUntil = (tenantId: string, kind: DueKind, until: number): Statement =>
  statement(LOWER_UNTIL, tenantId, kind, until)

// -- The work of moving --

const ofKind = "tenant_id = ?1 AND kind = ?2 AND subject = ''"

/** A subquery: how often work of the kind ?2 was asked for, and its progress, as a list; null without work. */
export const ASKED_AND_PROGRESS = `(SELECT json_array(asked, progress) FROM due_work WHERE ${ofKind})`

/** SQL: whether a tenant has work of a kind. Both are SQL: a column, and a parameter. */
export const hasWorkOf = <const T extends string, const K extends string>(
  tenantId: T & FixedSql<T>,
  kind: K & FixedSql<K>,
) => `EXISTS (SELECT 1 FROM due_work w WHERE w.tenant_id = ${tenantId} AND w.kind = ${kind})` as const

const IS_NEXT = guardSql(`
  coalesce((SELECT progress ->> '$.no' FROM due_work WHERE ${ofKind}), 0) = ?3`)
const STORE = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) VALUES (?1, ?2, '', 0, ?3)
  ON CONFLICT DO UPDATE SET progress = excluded.progress`

/**
 * Stores progress, which has the number `no` of times it was stored. If it was stored again since it was
 * read, this is a conflict. The work is always due.
 */
export const storeNumbered = (
  tenantId: string,
  kind: DueKind,
  progress: { readonly no: number },
): Statement[] => [
  statement(IS_NEXT, tenantId, kind, progress.no),
  statement(STORE, tenantId, kind, JSON.stringify({ ...progress, no: progress.no + 1 })),
]

const END = `DELETE FROM due_work WHERE ${ofKind} AND asked = ?3`

/** Ends work, unless it was asked for again. */
export const endWork = (tenantId: string, kind: DueKind, asked: number): Statement =>
  statement(END, tenantId, kind, asked)

const SCHEDULE_EVERYONE = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at)
  SELECT id, ?1, '', 0 FROM tenants WHERE status IN ('active', 'archived')
  ON CONFLICT DO UPDATE SET asked = asked + 1`

/** Schedules work of each tenant, also of archived ones. It is always due. */
export const scheduleForTenants = (first: AccountDatabase, kind: DueKind): Statement =>
  first.statement(SCHEDULE_EVERYONE, kind)
