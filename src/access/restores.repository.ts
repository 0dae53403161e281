import * as z from 'zod'
import type { AccountDatabase } from '../db/database'
import type { Databases } from '../db/databases/databases'
import type { Statement } from '../db/statement'
import type { Instant } from '../lib/clock'

const READ = 'SELECT epoch, redone, progress FROM restores'

const Row = z.object({ epoch: z.number(), redone: z.number(), progress: z.string().nullable() })

/** The last restore of the database, and how much was done after it (see restores.table.ts). */
export type Restored = z.infer<typeof Row>

const NOTE_MOMENT = 'UPDATE restores SET moment = ?1 WHERE id = 1'

/**
 * Notes the same moment of real time in all databases, so that a restore can find out whether all of them
 * were brought back to one moment (M1). With one database it does nothing. A database that can't be reached
 * gets the next one.
 */
export async function noteMoment(databases: Databases, now: Instant): Promise<void> {
  if (!databases.isSeveral) return
  await Promise.allSettled(
    databases.names.map((name) => databases.named(name).run({ sql: NOTE_MOMENT, params: [now] })),
  )
}

/** Reads whether the database was brought back to an earlier moment (M1). */
export async function readRestored(db: AccountDatabase): Promise<Restored> {
  const [row] = await db.rows(db.statement(READ))
  return Row.parse(row)
}

const ADVANCE = 'UPDATE restores SET progress = ?2 WHERE epoch = ?1'
const FINISH = 'UPDATE restores SET redone = ?1, progress = NULL WHERE epoch = ?1'

/**
 * Stores the last deletion that was done again after the restore of this epoch; null: all of them (M3). Does
 * nothing if there was another restore meanwhile.
 */
export function advanceRedo(db: AccountDatabase, epoch: number, progress: string | null): Statement {
  return progress === null ? db.statement(FINISH, epoch) : db.statement(ADVANCE, epoch, progress)
}
