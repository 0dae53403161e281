import { DurableObject } from 'cloudflare:workers'
import type * as z from 'zod'
import { AccountDatabase, type Cost, noCost } from '../db/database'
import { wakeOutbox } from '../delivery/drain-debouncer.cache'
import { arm } from '../jobs/timekeeper.service'
import { type Bindings, variables } from '../runtime/env'
import { Instance } from '../runtime/instance'
import type { Job } from './attempts.types'
import { Commands } from './command.messages'
import { Contention, commit, giveUp, type Line, type Means } from './commit.service'
import { IN_LANE } from './conflict-retry.rules'
import { queuesOf } from './queue.scheduler'
import { failedSettlement, type LaneReply, type Settlement, settleAll } from './result.presenter'

declare module '../runtime/env' {
  interface Bindings {
    USER_LANE: DurableObjectNamespace<UserLane>
  }
}

/** Seconds after which a caller is asked to try again if the lane has given up. */
const RETRY_AFTER = 1

/**
 * A user's lane: one object for all isolates, through which that user's commands go once isolates have got into each
 * other's way three times. It keeps nothing; D1's guards hold here as everywhere. Conflicts with other writers are tried again after a
 * growing pause, and are 429 in the end (E3).
 */
export class UserLane extends DurableObject<Bindings> {
  readonly #instance = new Instance()

  /** Commits commands of one user, given and answered as JSON: `Commands` in, `LaneReply` out. */
  async commit(line: Line, messages: string): Promise<string> {
    const cost = noCost()
    const commands = Commands.parse(JSON.parse(messages))
    const settlements = await Promise.all(
      commands.map((job) => this.#submit(line, job, cost).catch(failedSettlement)),
    )
    return JSON.stringify({ settlements, cost } satisfies z.infer<typeof LaneReply>)
  }

  #submit(line: Line, job: Job, cost: Cost): Promise<Settlement> {
    const testClock = variables(this.env).TEST_CLOCK === 'on'
    return queuesOf(this.#instance).submit(
      JSON.stringify([line.tenantId, line.userId]),
      job,
      async (jobs, mayWrite) => {
        const waitUntil = (work: Promise<unknown>) => this.ctx.waitUntil(work)
        const means: Means = {
          db: new AccountDatabase(this.env.DB, cost, testClock).of(line.tenantId),
          instance: this.#instance,
          hastened: () => waitUntil(arm({ env: this.env }, line.tenantId)),
          newsworthy: () => wakeOutbox({ env: this.env, instance: this.#instance, waitUntil }, line.tenantId),
        }
        const member = { userId: line.userId, jobs, mayWrite }
        const outcomes = await commit(means, member, {
          conflicted: () => undefined,
          limits: IN_LANE,
        }).catch((error: unknown) => {
          if (!(error instanceof Contention)) throw error
          return giveUp(means, member, RETRY_AFTER)
        })
        const commands = jobs.map((one) => one.command)
        return settleAll({ env: this.env, notes: {}, waitUntil }, commands, outcomes)
      },
      (work) => this.ctx.waitUntil(work),
    )
  }
}
