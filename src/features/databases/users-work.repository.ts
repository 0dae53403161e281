import * as z from 'zod'
import type { AccountDatabase } from '../../platform/database'
import { json } from '../../platform/json-column'
import type { Statement } from '../../platform/statement'

/* The due work on users that moves with them (B3). */

/** The due work of the tenant ?1, of the kinds ?2. */
export const USERS_WORK = `
  SELECT kind, subject, due_at AS dueAt, progress FROM due_work
  WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(?2))`
const Sweep = z.looseObject({
  through: z.number().optional(),
  sweep: z.unknown().optional(),
  found: z.unknown().optional(),
  pass: z.unknown().optional(),
})
export const Work = z.object({
  kind: z.string(),
  subject: z.string(),
  dueAt: z.number(),
  progress: z.string().nullable(),
})
/** A piece of due work on users. */
export type Work = z.infer<typeof Work>

/** All due work on users in a database. `kinds` are the kinds of such work. */
export async function workIn(
  db: AccountDatabase,
  tenantId: string,
  kinds: readonly string[],
): Promise<Work[]> {
  return z.array(Work).parse(await db.rows(db.statement(USERS_WORK, tenantId, JSON.stringify(kinds))))
}

/** The parts of the progress of a sweep that matter for a move. */
export const sweepOf = ({ progress }: Work) => (progress === null ? null : json(Sweep).parse(progress))

const FORGET_WORK = `
  DELETE FROM due_work WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(?2))`
/** Work that both databases have goes on at the earlier moment; what both have done is done. */
const JOIN_WORK = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?2) WHERE true
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1,
    progress = CASE WHEN progress ->> '$.through' < excluded.progress ->> '$.through'
      THEN json_set(progress, '$.through', excluded.progress -> '$.through') ELSE progress END`

/** Brings due work to a database, beside the work that it has. */
export const joinWork = (tenantId: string, works: readonly Work[]): Statement => ({
  sql: JOIN_WORK,
  params: [
    tenantId,
    JSON.stringify(works.map(({ kind, subject, dueAt, progress }) => [kind, subject, dueAt, progress])),
  ],
})

const COUNTS_FROM = `
  UPDATE due_work SET progress = json_set(progress, '$.until', ?2)
  WHERE tenant_id = ?1 AND kind = 'analytics' AND progress ->> '$.until' > ?2`

/** Makes the analytics say that changes after a moment (in milliseconds) are not counted yet. */
export const countsFrom = (tenantId: string, until: number): Statement => ({
  sql: COUNTS_FROM,
  params: [tenantId, until],
})

/** Deletes due work of some kinds. */
export const forgetWork = (tenantId: string, kinds: readonly string[]): Statement => ({
  sql: FORGET_WORK,
  params: [tenantId, JSON.stringify(kinds)],
})
