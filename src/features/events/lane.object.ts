import { DurableObject } from 'cloudflare:workers'
import type * as z from 'zod'
import { newInstance } from '../../configuration/configuration'
import { databasesOf } from '../../platform/context'
import { type Cost, noCost } from '../../platform/database'
import type { Bindings } from '../../platform/env'
import { type CommitDeps, Contention, commit, giveUp, IN_LANE, type UserRef } from '../../store/commit/commit'
import type { Job } from '../../store/commit/decide'
import { ensureAlarm } from '../../time/timekeeper'
import { requestDrain } from '../../webhooks/delivery/drain'
import { queuesOf } from './queues'
import { failedResult, resultsOf } from './results'
import { type CommandResult, Commands, type LaneReply } from './sent'

declare module '../../platform/env' {
  interface Bindings {
    USER_LANE: DurableObjectNamespace<UserLane>
  }
}

/**
 * A user's lane: one object for all isolates. The user's commands go through it after isolates have had three
 * conflicts. It stores nothing: D1's guards decide here as everywhere. After a conflict with another writer
 * it tries again, with a growing pause. In the end the result is 429 (E3).
 */
export class UserLane extends DurableObject<Bindings> {
  readonly #instance = newInstance()
  /** Events that wait or are committed now, by id. An isolate that loses its connection sends them again. */
  readonly #underWay = new Map<string, Promise<CommandResult>>()

  /** Commits commands of one user. Takes and returns JSON: `Commands` in, `LaneReply` out. */
  async commit(user: UserRef, messages: string): Promise<string> {
    const cost = noCost()
    const commands = Commands.parse(JSON.parse(messages))
    const results = await Promise.all(
      commands.map((job) => this.#submitOnce(user, job, cost).catch(failedResult)),
    )
    return JSON.stringify({ results, cost } satisfies z.infer<typeof LaneReply>)
  }

  /** Of two events with one id in a commit, both would count, since neither is in the log yet (E3). */
  #submitOnce(user: UserRef, job: Job, cost: Cost): Promise<CommandResult> {
    if (job.command.kind !== 'event') return this.#submit(user, job, cost)
    const { eventId } = job.command
    const known = this.#underWay.get(eventId)
    if (known !== undefined) return known
    const result = this.#submit(user, job, cost).finally(() => this.#underWay.delete(eventId))
    this.#underWay.set(eventId, result)
    return result
  }

  #submit(user: UserRef, job: Job, cost: Cost): Promise<CommandResult> {
    return queuesOf(this.#instance).submit(
      JSON.stringify([user.tenantId, user.userId]),
      job,
      async (jobs, stillLeads) => {
        const waitUntil = (work: Promise<unknown>) => this.ctx.waitUntil(work)
        const deps: CommitDeps = {
          db: databasesOf(this.#instance, this.env, cost).usersOf(user.tenantId).of(user.userId),
          instance: this.#instance,
          ensureAlarm: () => waitUntil(ensureAlarm({ env: this.env }, user.tenantId)),
          scheduleDrain: () =>
            requestDrain({ env: this.env, instance: this.#instance, waitUntil }, user.tenantId),
        }
        const batch = { userId: user.userId, jobs, stillLeads }
        const outcomes = await commit(deps, batch, {
          conflicted: () => undefined,
          limits: IN_LANE,
        }).catch((error: unknown) => {
          if (!(error instanceof Contention)) throw error
          return giveUp(deps, batch)
        })
        return resultsOf({ env: this.env, notes: {}, waitUntil }, jobs, outcomes)
      },
      (work) => this.ctx.waitUntil(work),
    )
  }
}
