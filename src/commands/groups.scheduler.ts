import { perInstance } from '../runtime/instance'
import type { UserBatch } from './commit.service'
import { type End, LeaderScheduler } from './leader.scheduler'
import type { CommandResult } from './result.messages'

/** Most users to one commit, and most commands, unless the first has more. */
const MOST_USERS = 30
const MOST_COMMANDS = 60
/** Commits of a tenant that are on their way at once: while some are, those who come wait for each other, and go together. */
const MOST_GROUPS = 2
/** Most users of a tenant that wait here; one more goes alone. */
const MOST_WAITING = 1_000

/**
 * Commits the batches of several users together. Once the work that they have in common is done it answers, in their order, how each will
 * end, so that none has to wait for another's end; null for a user who has to go alone.
 */
export type CommitBatches = (batches: readonly UserBatch[]) => Promise<(Promise<CommandResult[]> | null)[]>

/**
 * Group commit in one isolate: users of a tenant whose commands arrive together share batches of D1. If a leader is gone, each of the others
 * goes alone, and the guards and the log tell what it had done.
 *
 * Holds at most 1,000 users a tenant.
 */
export class Groups {
  readonly #scheduler = new LeaderScheduler<UserBatch, CommandResult[]>({
    mostWaiting: MOST_WAITING,
    mostGroups: MOST_GROUPS,
    sizeOf,
    // A group decides on what it has read: two batches of one user would both be stored, and one of them be lost.
    excludes: (waiting, batch) => waiting.userId === batch.userId,
    isWanted: (batch) => batch.mayWrite(),
    afterDeath: 'part',
    isCertain: () => true,
  })

  /**
   * Has a user's batch committed together with others of its tenant. Answers null if it has to go alone: because its user was changed
   * meanwhile, the group failed, too many wait, or another batch of the same user does. `waitUntil` keeps the work for others alive when the caller
   * has gone.
   */
  submit(
    tenantId: string,
    batch: UserBatch,
    commit: CommitBatches,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<CommandResult[] | null> {
    return this.#scheduler.submit(
      tenantId,
      batch,
      async ({ items, leads, isOpen }) => {
        // Asking for one user is a sign of life of the whole group. A batch that went alone may not be written here any more.
        const watched = items.map((one, index) => ({
          ...one,
          mayWrite: () => leads() && isOpen(index) && one.mayWrite(),
        }))
        return (await commit(watched)).map((end) => end?.then(toResult, toError))
      },
      waitUntil,
    )
  }
}

const toResult = (result: CommandResult[]): End<CommandResult[]> => ({ result })
const toError = (error: unknown): End<CommandResult[]> => ({ error })

/** How many of those who wait go into one group. */
function sizeOf(waiting: readonly UserBatch[]): number {
  let commands = 0
  const end = waiting.findIndex(({ jobs }, index) => {
    commands += jobs.length
    return index === MOST_USERS || (index > 0 && commands > MOST_COMMANDS)
  })
  return end < 0 ? waiting.length : end
}

export const groupsOf = perInstance(() => new Groups())
