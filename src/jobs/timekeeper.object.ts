import { DurableObject } from 'cloudflare:workers'
import { readTestClock } from '../access/clock.repository'
import { exists } from '../access/tenants.repository'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { DAY, MINUTE, SECOND } from '../lib/units'
import type { TenantContext } from '../runtime/context'
import { newContext } from '../runtime/context'
import type { Bindings } from '../runtime/env'
import { Instance } from '../runtime/instance'
import type { DueKind } from './due-kinds.types'
import type { Jobs } from './job.types'
import { type Grace, nextWork, wantedAt, workOff, workOffKind } from './run.service'

declare module '../runtime/env' {
  interface Bindings {
    TIMEKEEPER: DurableObjectNamespace<TimekeeperObject>
  }
}

/** Steps of work that one alarm does before it sets the next one: D1 takes a thousand queries of one, and a step makes two dozen at most. */
const STEPS_AN_ALARM = 40
/**
 * In real time an event may be stored some seconds after the moment at which it counts (see MOST_LATE of commit.ts). Under a set clock
 * none is: an event counts at the time that the clock shows when it is stored.
 */
const REAL: Grace = { first: 10 * SECOND, finals: MINUTE }
const SET: Grace = { first: 0, finals: 0 }
/** The longest that an alarm is set ahead, in milliseconds: the platform takes no time of its far future. */
const LONGEST = DAY
/** When work that has failed is tried again, in milliseconds. */
const PAUSE = MINUTE

/**
 * A tenant's Timekeeper: it does what falls due, and sets its alarm for what will. What is due stands in D1, so that
 * an alarm that is lost or runs twice costs time and never work; the cron trigger wakes it where one was lost (C2).
 */
export abstract class TimekeeperObject extends DurableObject<Bindings> {
  /** What it does; the room above all says so. */
  protected abstract readonly jobs: Jobs
  readonly #instance = new Instance()
  /** The work that is under way: one piece after another, in order of due time. */
  #last: Promise<unknown> = Promise.resolve()

  /** Does what is due, or so many steps of it, and sees to the rest by alarm. */
  async wake(tenantId: string, steps: number): Promise<void> {
    await this.#remember(tenantId)
    await this.#inTurn(() => this.#run(tenantId, null, steps))
  }

  /**
   * Erases the tenant, or does so many steps of that, and sees to the rest by alarm. That is set first, so that nothing stays here if this breaks
   * off when the tenant is gone.
   */
  async purge(tenantId: string, steps: number): Promise<void> {
    await this.ctx.storage.setAlarm(systemNow() + PAUSE)
    await this.wake(tenantId, steps)
  }

  /** Does everything that falls due while the clock is moved from a moment to another. Throws what keeps it from that. */
  async catchUp(tenantId: string, from: Instant, to: Instant): Promise<void> {
    await this.#remember(tenantId)
    await this.#inTurn(() => this.#run(tenantId, { from, to }, Number.POSITIVE_INFINITY))
  }

  /** Does all work of one kind that is due by a moment. Throws what keeps it from that. */
  async catchUpKind(tenantId: string, kind: DueKind, to: Instant): Promise<void> {
    await this.#remember(tenantId)
    await this.#inTurn(() => workOffKind(this.jobs, this.#context(tenantId), kind, to))
  }

  /** Does what the alarm was set for; the platform runs it at least once. */
  override async alarm(): Promise<void> {
    const tenantId = await this.ctx.storage.get('tenantId')
    if (typeof tenantId !== 'string') return
    try {
      await this.#inTurn(() => this.#run(tenantId, null, STEPS_AN_ALARM))
    } catch (error) {
      console.error(JSON.stringify({ level: 'error', tenantId, error: String(error) }))
      await this.ctx.storage.setAlarm(systemNow() + PAUSE)
    }
  }

  /** Keeps whose Timekeeper this is, for the alarm. */
  async #remember(tenantId: string): Promise<void> {
    if ((await this.ctx.storage.get('tenantId')) === undefined)
      await this.ctx.storage.put('tenantId', tenantId)
  }

  async #forget(): Promise<void> {
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
  }

  #context(tenantId: string): TenantContext {
    const context = newContext(this.#instance, this.env, (work) => this.ctx.waitUntil(work))
    return { ...context, db: context.db.of(tenantId) }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Works off what is due while the clock is moved (null: by now), and sets the alarm for what comes next. */
  async #run(tenantId: string, moved: { from: Instant; to: Instant } | null, steps: number): Promise<void> {
    const context = this.#context(tenantId)
    const clock = await readTestClock(context.db)
    const now = clock ?? systemNow()
    const grace = clock === null ? REAL : SET
    await workOff(this.jobs, context, {
      to: moved?.to ?? now,
      steps,
      mustAll: moved !== null,
      isSet: clock !== null,
      from: moved?.from ?? null,
      grace,
    })
    await this.jobs.afterwards(context, now)
    const coming = await nextWork(context, this.jobs)
    const [next] = coming
    // A tenant that is gone leaves nothing here.
    if (next === undefined && !(await exists(context.db))) return this.#forget()
    // A test clock that is set moves only when it is told to, and then whoever moves it does what is due.
    if (next === undefined || (clock !== null && next.dueAt > now)) return
    const present = systemNow()
    const wanted =
      clock === null ? Math.min(...coming.map((work) => wantedAt(this.jobs, work, grace))) : present
    await this.ctx.storage.setAlarm(Math.min(Math.max(wanted, present), present + LONGEST))
  }
}
