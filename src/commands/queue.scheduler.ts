import { perInstance } from '../runtime/instance'
import { LeadershipLost } from './commit.service'
import type { Job } from './commit.types'
import { type End, LeaderScheduler } from './leader.scheduler'
import type { CommandResult } from './result.messages'

/** Most commands to one commit; those that wait longer go into the next. */
const GROUP = 30
/** Most commands of one user that wait here. One more is committed alone, which is right too, but costs more. */
const MOST_WAITING = 5_000

/** Commits a group of one user. `mayWrite` is false once another request has taken the group over; asking it is the leader's sign of life. */
export type CommitGroup = (jobs: readonly Job[], mayWrite: () => boolean) => Promise<CommandResult[]>

/**
 * The queue of commands in one isolate: commands of one user that arrive together are committed together, one group at a time, so that they
 * do not conflict with each other. If a leader is gone, one of those who wait takes its group over, and the guards and the log tell what it
 * had done.
 *
 * Holds at most 5,000 commands a user, by tenant and user.
 */
export class UserQueues {
  readonly #scheduler = new LeaderScheduler<Job, CommandResult>({
    mostWaiting: MOST_WAITING,
    mostGroups: 1,
    sizeOf: () => GROUP,
    excludes: null,
    isWanted: () => true,
    afterDeath: 'take over',
    isCertain: isRecorded,
  })

  /**
   * Commits one command of a user, together with others that wait. `waitUntil` keeps a commit alive whose caller has
   * gone. Throws what the commit threw.
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

/** True if the end of a command is that its event is in the log. */
const isRecorded = (end: End<CommandResult>): boolean =>
  'result' in end && end.result?.kind === 'event' && end.result.status === 201

/** Commits a group. If it fails as a whole, each command is committed alone, so that none pays for another's fault. */
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

const withoutEnd = () => new Error('a commit left a command without an end')

function first([result]: readonly CommandResult[]): CommandResult {
  if (result === undefined) throw withoutEnd()
  return result
}

export const queuesOf = perInstance(() => new UserQueues())
