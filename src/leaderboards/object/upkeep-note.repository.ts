import * as z from 'zod'
import type { TenantDatabase } from '../../platform/database'
import { UpkeepNote } from './upkeep-note.types'

/** The note of a new leaderboard: nothing is final. */
export const NO_UPKEEP = noteOf({ openFrom: 0, day: null, compared: 0 })

/** The stored form of a note. Equal notes have the same form. */
function noteOf({ openFrom, day, compared }: UpkeepNote): string {
  return JSON.stringify({ openFrom, day, compared })
}

const Row = z.object({
  upkeep: z
    .string()
    .nullable()
    .transform((text): unknown => (text === null ? null : JSON.parse(text)))
    .pipe(UpkeepNote.nullable()),
})

const READ = 'SELECT upkeep FROM leaderboards WHERE id = ?2 AND tenant_id = ?1'

/**
 * The note of D1 about the upkeep of a leaderboard. Null if only an earlier version of Laurel has done it, or
 * if the leaderboard does not exist.
 */
export async function readUpkeep(db: TenantDatabase, boardId: string): Promise<UpkeepNote | null> {
  const [row] = await db.rows(db.statement(READ, db.tenantId, boardId))
  const { upkeep } = Row.parse(row ?? { upkeep: null })
  return upkeep
}

const WRITE = `
  UPDATE leaderboards SET upkeep = ?4 WHERE id = ?2 AND tenant_id = ?1 AND upkeep IS ?3`

/**
 * Notes how far the upkeep of a leaderboard has got. Does nothing if D1 has another note than before: then it
 * was brought back to an earlier moment meanwhile (M2). Writes no row if nothing has changed. Returns whether
 * D1 has the note.
 */
export async function noteUpkeep(
  db: TenantDatabase,
  boardId: string,
  { before, after }: { before: UpkeepNote | null; after: UpkeepNote },
): Promise<boolean> {
  const notes = [before && noteOf(before), noteOf(after)] as const
  if (notes[0] === notes[1]) return true
  const { meta } = await db.run(db.statement(WRITE, db.tenantId, boardId, ...notes))
  return meta.changes > 0
}
