import * as z from 'zod'
import type { AccountDatabase } from '../../platform/database'
import type { Statement } from '../../platform/statement'

const READ = 'SELECT epoch, redone, progress FROM restores'

const Row = z.object({ epoch: z.number(), redone: z.number(), progress: z.string().nullable() })

/** The last restore of the database, and how much was done after it (see restores.table.ts). */
export type Restored = z.infer<typeof Row>

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
