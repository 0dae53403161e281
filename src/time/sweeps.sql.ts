import * as z from 'zod'
import type { Instant } from '../lib/clock'
import type { AccountDatabase, Statement, TenantDatabase } from '../platform/database'
import { guardSql } from '../platform/guard'
import { type DueKind, DueRow, progressText, readProgress, type State } from './due-work.sql.ts'

/*
 * Some work is done in sweeps over all users. Each sweep does the work that is due in a span of time. The
 * progress has `through`, the moment up to which all is done, and `sweep`. Between two sweeps, `sweep` is
 * null. Otherwise it has `to`, the end of the span, and `skipped`, the ids of users that must be visited
 * again.
 */

/** The moment that the present sweep, or the last one, has reached. */
const REACHED = "max(progress ->> '$.through', coalesce(progress ->> '$.sweep.to', 0))"

const BETWEEN_SWEEPS = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work
    WHERE tenant_id = ?1 AND kind = ?2 AND subject = '' AND progress ->> '$.sweep.to' IS NOT NULL)`)

/** A guard: holds while no sweep is under way. For a change of the configuration: in any database (B4). */
export function betweenSweeps(db: TenantDatabase, kind: DueKind): Statement {
  return { ...db.statement(BETWEEN_SWEEPS, db.tenantId, kind), isForUsers: true }
}

const STILL_AHEAD = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ''
    AND ${REACHED} >= ?3)`)

/** A guard: holds while no sweep has reached a moment. For a change of the configuration: in any database. */
export function stillAhead(db: TenantDatabase, kind: DueKind, at: Instant): Statement {
  return { ...db.statement(STILL_AHEAD, db.tenantId, kind, at), isForUsers: true }
}

const ADVANCE_SWEEP = `
  UPDATE due_work SET
    progress = CASE skipped WHEN '[]' THEN ?4 ELSE json_set(?6, '$.sweep.skipped', json(skipped)) END,
    due_at = CASE skipped WHEN '[]' THEN ?5 ELSE ?7 END
  FROM (
    SELECT json_group_array(asked.value ->> 0) AS skipped FROM json_each(?3) asked WHERE NOT EXISTS (
      SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = asked.value ->> 0
        AND u.iid = asked.value ->> 1 AND u.seq = asked.value ->> 2))
  WHERE tenant_id = ?1 AND kind = ?2 AND subject = ''
  RETURNING due_at AS dueAt, progress`

/**
 * Advances a sweep in the batch that changes these users, before they are changed. If all of them are as they
 * were read, it stores the state `done`. Otherwise it stores `open`, and skips the users who have changed.
 * The result is the stored state, for `parseState`.
 */
export function advanceSweep(
  db: TenantDatabase,
  kind: DueKind,
  users: readonly { id: string; iid: string; seq: number }[],
  { done, open }: { done: State<object>; open: State<object> },
): Statement {
  const seen = JSON.stringify(users.map(({ id, iid, seq }) => [id, iid, seq]))
  const states = [done, open].flatMap(({ progress, dueAt }) => [progressText(progress), dueAt])
  return db.statement(ADVANCE_SWEEP, db.tenantId, kind, seen, ...states)
}

const States = z.array(DueRow.pick({ dueAt: true, progress: true }))

/** The state that `advanceSweep` has stored. */
export function parseState<P>(schema: z.ZodType<P>, result: D1Result | undefined): State<P> {
  const [state] = States.parse(result?.results)
  return { dueAt: state?.dueAt ?? null, progress: readProgress(schema, state?.progress ?? null) }
}

const IS_AHEAD = `kind = ?2 AND ${REACHED} > ?1`

/** A query of the ids of tenants with a sweep of the kind ?2 that has passed the moment ?1. */
export const TENANTS_AHEAD = `SELECT tenant_id FROM due_work WHERE ${IS_AHEAD}`

const RESTART = [
  `UPDATE due_work SET progress = NULL WHERE ${IS_AHEAD}`,
  'UPDATE due_work SET due_at = min(due_at, ?1) WHERE kind = ?2',
] as const

/**
 * Restarts the sweeps of all tenants that have passed `now`, and makes all sweeps due by then. For a clock
 * that went back (C1).
 */
export function restartSweeps(db: AccountDatabase, kind: DueKind, now: Instant): Statement[] {
  return RESTART.map((sql) => db.statement(sql, now, kind))
}
