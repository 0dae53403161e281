import * as z from 'zod'
import { json } from '../../platform/columns'
import type { TenantDatabase } from '../../platform/database'
import { firstDayOf } from '../../rules/runs.rules'
import type { Definition } from '../board'

/** How far the upkeep of a board has got. */
export const Progress = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null if they never did. */
  day: z.number().nullable(),
  /**
   * A comparison with D1 in progress: `since` when users must have changed (0: all users), when it began, and
   * the last user id that it has compared.
   */
  comparison: z.object({ since: z.number(), began: z.number(), after: z.string() }).nullable(),
  /** Whether all users must be compared before anything else. */
  mustCompareAll: z.boolean(),
  /** When the last comparison began, in milliseconds. It goes back with work that comes late. */
  compared: z.number(),
  /** For which epoch the scores were read from D1 (M1). */
  epoch: z.number(),
  /** Whether all scores are being read again from D1, which was brought back to an earlier moment (M2). */
  isRefilling: z.boolean(),
  /**
   * D1 has noted a comparison of this moment or a later one; 0 if that is unknown. An earlier note means a
   * restore (M2).
   */
  noted: z.number(),
})
export type Progress = z.infer<typeof Progress>

/** The progress of a new board. */
export const newProgress = ({ start, epoch }: Definition): Progress => ({
  openFrom: firstDayOf({ start }),
  day: null,
  comparison: null,
  mustCompareAll: true,
  compared: 0,
  epoch,
  isRefilling: false,
  noted: 0,
})

/**
 * How far the upkeep of a leaderboard had got, as D1 knows it. If D1 is brought back to an earlier moment,
 * this says what the leaderboard's object had done by then (M2).
 */
export const UpkeepNote = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null if they never did. Earlier days are in the history. */
  day: z.number().nullable(),
  /** When the last comparison with D1 began, in milliseconds. */
  compared: z.number(),
})
export type UpkeepNote = z.infer<typeof UpkeepNote>

/** The note of a new leaderboard: nothing is final. */
export const NO_UPKEEP = noteOf({ openFrom: 0, day: null, compared: 0 })

/** The stored form of a note. Equal notes have the same form. */
function noteOf({ openFrom, day, compared }: UpkeepNote): string {
  return JSON.stringify({ openFrom, day, compared })
}

const Row = z.object({ upkeep: json(UpkeepNote) })

const READ = 'SELECT upkeep FROM leaderboards WHERE id = ?2 AND tenant_id = ?1'

/** The note of D1 about the upkeep of a leaderboard. Null if the leaderboard does not exist. */
export async function readUpkeep(db: TenantDatabase, boardId: string): Promise<UpkeepNote | null> {
  const [row] = await db.rows(db.statement(READ, db.tenantId, boardId))
  return row === undefined ? null : Row.parse(row).upkeep
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
