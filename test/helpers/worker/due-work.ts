/** Due work behind the Timekeeper's back: the only place of the tests that knows the table (C2). */
import { z } from 'zod'
import { lastDatabase, rowsEverywhere } from './harness'

/** Which due work is meant: all of it, or that of a tenant, of a kind, or with a subject. */
export type WhichWork = { tenant?: { id: string } | undefined; kind?: string; subject?: string }

const Due = z.array(
  z.object({ kind: z.string(), subject: z.string(), dueAt: z.number(), progress: z.string().nullable() }),
)

const WHERE = `WHERE (?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR subject = ?3)`

const params = ({ tenant, kind, subject }: WhichWork) => [tenant?.id ?? null, kind ?? null, subject ?? null]

/** The due work of all databases, by kind, subject and time. Times are in milliseconds. */
export async function dueWork(which: WhichWork) {
  const sql = `SELECT kind, subject, due_at AS dueAt, progress FROM due_work ${WHERE} ORDER BY kind, subject, due_at`
  return Due.parse(await rowsEverywhere(sql, ...params(which)))
}

/** Stores due work in one database. The time is in milliseconds. */
export async function addDueWork(
  { id }: { id: string },
  kind: string,
  { dueAt, subject = '', d1 = lastDatabase().d1 }: { dueAt: number; subject?: string; d1?: D1Database },
): Promise<void> {
  const sql = 'INSERT OR REPLACE INTO due_work (tenant_id, kind, subject, due_at) VALUES (?1, ?2, ?3, ?4)'
  await d1.prepare(sql).bind(id, kind, subject, dueAt).run()
}

/** Makes work due at another time, in milliseconds. */
export async function makeDueAt(which: WhichWork, dueAt: number): Promise<void> {
  await rowsEverywhere(`UPDATE due_work SET due_at = ?4 ${WHERE}`, ...params(which), dueAt)
}

/** Forgets due work, as if nothing had asked for it. */
export async function forgetDueWork(which: WhichWork = {}): Promise<void> {
  await rowsEverywhere(`DELETE FROM due_work ${WHERE}`, ...params(which))
}
