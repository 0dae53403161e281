import { perInstance } from '../../platform/context'
import { LeadershipLost, type UserBatch } from '../../store/commit/commit'
import type { Job } from '../../store/commit/decide'
import { type End, LeaderScheduler } from './leader'
import type { CommandResult } from './sent'

/** The most commands of one commit. Commands that do not fit go into the next one. */
const GROUP = 30
/** The most waiting commands of a user. A further one is committed alone: correct, but it costs more. */
const COMMANDS_WAITING = 5_000

/** Commits a user's commands. `stillLeads`: a sign of life; false once another request leads the group. */
export type CommitGroup = (jobs: readonly Job[], stillLeads: () => boolean) => Promise<CommandResult[]>

/**
 * The queue of commands in one isolate. Commands of one user that arrive together are committed together, one
 * group at a time, so that they do not conflict with each other. If a leader stops, a waiting request takes
 * its group over. The guards and the log show what the leader had stored.
 */
export class UserQueues {
  readonly #scheduler = new LeaderScheduler<Job, CommandResult>({
    mostWaiting: COMMANDS_WAITING,
    mostGroups: 1,
    isEnough: () => false,
    gathering: 0,
    sizeOf: () => GROUP,
    excludes: null,
    isWanted: () => true,
    afterDeath: 'take over',
    isCertain: isRecorded,
  })

  /** `waitUntil` keeps the commit alive if its caller disconnects. Throws the error of the commit. */
  async submit(
    user: string,
    job: Job,
    commit: CommitGroup,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<CommandResult> {
    if (this.#scheduler.isFull(user)) return first(await commit([job], () => true))
    const result = await this.#scheduler.submit(
      user,
      job,
      ({ items, leads }) => commitEach(items, commit, leads),
      waitUntil,
    )
    return first(result === null ? [] : [result])
  }
}

const isRecorded = (end: End<CommandResult>): boolean =>
  'result' in end && end.result?.kind === 'event' && end.result.status === 201

/** If a group fails as a whole, commits each command alone, so that an error affects only its own. */
async function commitEach(
  jobs: readonly Job[],
  commit: CommitGroup,
  stillLeads: () => boolean,
): Promise<End<CommandResult>[]> {
  try {
    const results = await commit(jobs, stillLeads)
    return jobs.map((_, index) => {
      const result = results[index]
      return result === undefined ? { error: withoutEnd() } : { result }
    })
  } catch (error) {
    if (jobs.length === 1 || error instanceof LeadershipLost) return jobs.map(() => ({ error }))
    const ends: End<CommandResult>[] = []
    for (const job of jobs) {
      const end = commit([job], stillLeads).then((settled) => ({ result: first(settled) }))
      ends.push(await end.catch((reason: unknown) => ({ error: reason })))
    }
    return ends
  }
}

const withoutEnd = () => new Error('a commit returned no result for a command')

function first([result]: readonly CommandResult[]): CommandResult {
  if (result === undefined) throw withoutEnd()
  return result
}

export const queuesOf = perInstance(() => new UserQueues())

/** The most users and the most commands of one commit. The first user may have more commands. */
const MOST_USERS = 30
const MOST_COMMANDS = 60
/** The most commits of a tenant at once. Users who arrive meanwhile are committed together. */
const MOST_GROUPS = 2
/**
 * While a commit of more than `FEW` users is in progress, a second one begins only with `MANY` users, or with
 * more than the first one has. If several isolates share a database that has no time left, each of their
 * batches waits for those of the others. Then fewer batches with more users store more events. Without this
 * rule, the users of an isolate would stay divided into two halves.
 */
const FEW = 2
const MANY = 20
/** How long a commit waits, in ms, so that users who send together are committed together. */
const GATHERING = 2
/** The most users of a tenant that wait here. A further user is committed alone. */
const USERS_WAITING = 1_000

/**
 * Commits the batches of several users together. Resolves once the common work is done, with one promise for
 * each user, so that no user waits for another's result. Null for a user who must be committed alone.
 */
export type CommitBatches = (batches: readonly UserBatch[]) => Promise<(Promise<CommandResult[]> | null)[]>

/**
 * Group commit in one isolate: users of a tenant whose commands arrive together share batches of D1. If a
 * leader stops, each of the other users is committed alone. The guards and the log show what the leader had
 * stored.
 */
export class Groups {
  readonly #scheduler = new LeaderScheduler<UserBatch, CommandResult[]>({
    mostWaiting: USERS_WAITING,
    mostGroups: MOST_GROUPS,
    isEnough: (waiting, inProgress) => inProgress <= FEW || waiting >= MANY || waiting > inProgress,
    gathering: GATHERING,
    sizeOf,
    // A group decides on the data that it has read. With two batches of one user, both would be stored, and
    // one would be lost.
    excludes: (waiting, batch) => waiting.userId === batch.userId,
    isWanted: (batch) => batch.stillLeads(),
    afterDeath: 'part',
    isCertain: () => true,
  })

  /**
   * Returns null if the batch must be committed alone: its user was changed in the meantime, the group
   * failed, too many users wait, or another batch of the same user waits.
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
        // Asking for one user is a sign of life of the whole group. A batch that was committed alone must not
        // be written here.
        const watched = items.map((one, index) => ({
          ...one,
          stillLeads: () => leads() && isOpen(index) && one.stillLeads(),
        }))
        return (await commit(watched)).map((end) => end?.then(toResult, toError))
      },
      waitUntil,
    )
  }
}

const toResult = (result: CommandResult[]): End<CommandResult[]> => ({ result })
const toError = (error: unknown): End<CommandResult[]> => ({ error })

function sizeOf(waiting: readonly UserBatch[]): number {
  let commands = 0
  const end = waiting.findIndex(({ jobs }, index) => {
    commands += jobs.length
    return index === MOST_USERS || (index > 0 && commands > MOST_COMMANDS)
  })
  return end < 0 ? waiting.length : end
}

export const groupsOf = perInstance(() => new Groups())
