import { within } from '../../lib/timeout'
import type { Context } from '../../platform/context'
import { logProblem } from '../../platform/log'
import { type Deletion, type DeletionPlace, DeletionsReply } from './deletions.messages'

/** How long a call of the list may take, in milliseconds, and how often it is tried. */
const PATIENCE = 2_000
const TRIES = 3

/** The name of the only object. */
const NAME = 'account'

/**
 * Adds deletions to the list that survives a restore (M3). Do this before the deletion itself, which may be
 * interrupted: doing it again for something that still exists is what the caller wanted anyway. Throws if the
 * list cannot be reached.
 */
export async function noteDeletions(
  { env }: Pick<Context, 'env'>,
  deletions: readonly Deletion[],
): Promise<void> {
  if (deletions.length === 0) return
  for (let tries = 1; ; tries += 1) {
    try {
      await within(PATIENCE, env.DELETIONS.getByName(NAME).note({ deletions: [...deletions] }))
      return
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}

/**
 * The same, but never throws: a deletion must not depend on the list. If the list cannot be reached, the log
 * says so.
 */
export async function tryToNoteDeletions(
  context: Pick<Context, 'env'>,
  deletions: readonly Deletion[],
): Promise<void> {
  try {
    await noteDeletions(context, deletions)
  } catch (error) {
    logProblem('error', { error: `deletions not noted for a restore: ${error}` })
  }
}

/** The next deletions after a place, oldest first (M3). */
export async function nextDeletions(
  { env }: Pick<Context, 'env'>,
  after: DeletionPlace | null,
  limit: number,
): Promise<{ deletions: Deletion[]; last: DeletionPlace | null }> {
  return DeletionsReply.parse(await env.DELETIONS.getByName(NAME).page({ after, limit }))
}
