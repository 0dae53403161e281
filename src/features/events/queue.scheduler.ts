import { perInstance } from '../../platform/instance'
import { LeadershipLost } from '../../store/commit/commit.service'
import type { Job } from '../../store/commit/commit.types'
import { type End, LeaderScheduler } from './leader.scheduler'
import type { CommandResult } from './result.messages'

/** The most commands of one commit. Commands that do not fit go into the next one. */
const GROUP = 30
/** The most waiting commands of a user. A further one is committed alone: correct, but it costs more. */
const MOST_WAITING = 5_000

/**
 * Commits a group of one user's commands. `mayWrite` is false once another request has taken the group over.
 * Each call of it is the leader's sign of life.
 */
export type CommitGroup = (jobs: readonly Job[], mayWrite: () => boolean) => Promise<CommandResult[]>

/**
 * The queue of commands in one isolate. Commands of one user that arrive together are committed together, one
 * group at a time, so that they do not conflict with each other. If a leader stops, a waiting request takes
 * its group over. The guards and the log show what the leader had stored.
 *
 * Holds at most 5,000 commands a user, by tenant and user.
 */
export class UserQueues {
  readonly #scheduler = new LeaderScheduler<Job, CommandResult>({
    mostWaiting: MOST_WAITING,
    mostGroups: 1,
    isEnough: () => false,
    gathering: 0,
    sizeOf: () => GROUP,
    excludes: null,
    isWanted: () => true,
    afterDeath: 'take over',
    isCertain: isRecorded,
  })

  /**
   * Commits one command of a user, together with others that wait. `waitUntil` keeps the commit alive if its
   * caller disconnects. Throws the error of the commit.
   */
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

/** True if a command has ended with its event in the log. */
const isRecorded = (end: End<CommandResult>): boolean =>
  'result' in end && end.result?.kind === 'event' && end.result.status === 201

/** If a group fails as a whole, commits each command alone, so that an error affects only its own. */
async function commitEach(
  jobs: readonly Job[],
  commit: CommitGroup,
  mayWrite: () => boolean,
): Promise<End<CommandResult>[]> {
  try {
    const results = await commit(jobs, mayWrite)
    return jobs.map((_, index) => {
      const result = results[index]
      return result === undefined ? { error: withoutEnd() } : { result }
    })
  } catch (error) {
    if (jobs.length === 1 || error instanceof LeadershipLost) return jobs.map(() => ({ error }))
    const ends: End<CommandResult>[] = []
    for (const job of jobs) {
      const end = commit([job], mayWrite).then((settled) => ({ result: first(settled) }))
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
