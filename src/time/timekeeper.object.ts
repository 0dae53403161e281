import { DurableObject } from 'cloudflare:workers'
import { readTestClock } from '../access/clock.sql.ts'
import { exists } from '../access/tenants.sql.ts'
import { DAY, type Instant, MINUTE, SECOND } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { type Instance, newContext } from '../platform/context'
import type { Bindings } from '../platform/env'
import { isDatabaseAway } from '../platform/guard'
import { logProblem } from '../platform/log'
import type { DueKind } from './due-work.sql.ts'
import type { Jobs, Workplace } from './job'
import {
  comesAfter,
  firstDue,
  type Grace,
  isGone,
  nextWork,
  Paused,
  placesWithMessages,
  wantedAt,
  workOff,
  workOffKind,
  workplacesOf,
} from './run'

declare module '../platform/env' {
  interface Bindings {
    TIMEKEEPER: DurableObjectNamespace<TimekeeperObject>
  }
}

/** Steps of work that one alarm does at most before it sets the next one. */
const STEPS_AN_ALARM = 40
/**
 * In real time an event may be stored some seconds after the moment at which it counts (MOST_LATE in
 * src/store/commit/decide.ts). With a test clock, this does not happen: an event counts at the time
 * that the clock shows when it is stored.
 */
const REAL: Grace = { first: 10 * SECOND, finals: MINUTE }
const SET: Grace = { first: 0, finals: 0 }
/** The longest time until an alarm, in milliseconds. The platform accepts no time in the far future. */
const LONGEST = DAY
const PAUSE = MINUTE

/**
 * A tenant's Timekeeper: it does due work, and sets its alarm for the next work. Due work is stored in D1, so
 * an alarm that is lost or runs twice costs time, but loses no work. If an alarm was lost, the cron trigger
 * wakes the Timekeeper (C2).
 */
export abstract class TimekeeperObject extends DurableObject<Bindings> {
  /** The jobs that it does. The room `worker` defines them. */
  protected abstract readonly jobs: Jobs
  protected abstract readonly instance: Instance
  #paused = new Paused()
  /** The last call in the line: calls run one after another. */
  #last: Promise<unknown> = Promise.resolve()

  /** Does due work, at most `steps` steps of it, and sets an alarm for the rest. */
  async wake(tenantId: string, steps: number): Promise<void> {
    await this.#remember(tenantId)
    await this.#inTurn(() => this.#run(tenantId, null, steps))
  }

  /**
   * Erases the tenant, in at most `steps` steps, and sets an alarm for the rest. It sets an alarm before the
   * steps, too. So if the call breaks off after the tenant is gone, the alarm clears this object's storage.
   */
  async purge(tenantId: string, steps: number): Promise<void> {
    await this.ctx.storage.setAlarm(systemNow() + PAUSE)
    await this.wake(tenantId, steps)
  }

  /** Does all work that is due while the clock moves from one moment to another. Throws if a step fails. */
  async catchUp(tenantId: string, from: Instant, to: Instant): Promise<void> {
    await this.#remember(tenantId)
    await this.#inTurn(() => this.#run(tenantId, { from, to }, Number.POSITIVE_INFINITY))
  }

  async catchUpKind(tenantId: string, kind: DueKind, to: Instant): Promise<void> {
    await this.#remember(tenantId)
    await this.#inTurn(async () => workOffKind((await this.#places(tenantId, true)).places, kind, to))
  }

  override async alarm(): Promise<void> {
    const tenantId = await this.ctx.storage.get('tenantId')
    if (typeof tenantId !== 'string') return
    try {
      await this.#inTurn(() => this.#run(tenantId, null, STEPS_AN_ALARM))
    } catch (error) {
      logProblem('error', { tenant: tenantId, error: `due work stopped: ${String(error)}` })
      await this.ctx.storage.setAlarm(systemNow() + PAUSE)
    }
  }

  async #remember(tenantId: string): Promise<void> {
    if ((await this.ctx.storage.get('tenantId')) === undefined)
      await this.ctx.storage.put('tenantId', tenantId)
  }

  async #forget(): Promise<void> {
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
  }

  /**
   * The databases in which the tenant has due work now. Work on users waits while some of them are between
   * two databases of which one is away; then `areUsersWhole` is false, or with `mustAll` this throws.
   */
  async #places(
    tenantId: string,
    mustAll: boolean,
  ): Promise<{ places: Workplace[]; areUsersWhole: boolean }> {
    const context = newContext(this.instance, this.env, (work) => this.ctx.waitUntil(work))
    context.databases.forget(tenantId)
    try {
      await this.jobs.moves.finish(context, tenantId, this.#kindsOfUsers())
    } catch (error) {
      if (mustAll || !isDatabaseAway(error)) throw error
      logProblem('warn', { tenant: tenantId, error: `work on users waits for a move: ${String(error)}` })
      const places = (await workplacesOf(context, tenantId, this.jobs)).map((place) => ({
        ...place,
        list: place.list.filter((job) => job.of === 'tenant' && !comesAfter(job)),
      }))
      return { places, areUsersWhole: false }
    }
    return { places: await workplacesOf(context, tenantId, this.jobs), areUsersWhole: true }
  }

  #kindsOfUsers(): DueKind[] {
    return this.jobs.list.flatMap(({ kind, of }) => (of === 'users' ? [kind] : []))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Does the work due during a move of the clock, or by now if `moved` is null, and sets the next alarm. */
  async #run(tenantId: string, moved: { from: Instant; to: Instant } | null, steps: number): Promise<void> {
    const { places, areUsersWhole } = await this.#places(tenantId, moved !== null)
    const [first] = places
    if (first === undefined) return
    const { context } = first
    const clock = await readTestClock(context.db)
    const now = clock ?? systemNow()
    const grace = clock === null ? REAL : SET
    await workOff(this.jobs, places, {
      to: moved?.to ?? now,
      steps,
      mustAll: moved !== null,
      isClockSet: clock !== null,
      from: moved?.from ?? null,
      grace,
      paused: this.#paused,
    })
    // A move of the clock does all work, also work that was paused.
    if (moved !== null) this.#paused = new Paused()
    // Side by side: a database that users have left answers only after the switch.
    await Promise.all(
      placesWithMessages(places).map(async ({ context: own }) => {
        await this.jobs.afterwards(own, now).catch((error: unknown) => {
          if (places.length === 1) throw error
          if (isGone(error)) return
          logProblem('warn', { tenant: tenantId, error: `a database's messages wait: ${String(error)}` })
        })
      }),
    )
    const pauses = this.#paused.at(systemNow())
    const { found: coming, isWhole: areAllThere } = await nextWork(places, this.jobs, false, pauses)
    const isWhole = areAllThere && areUsersWhole
    const next = firstDue(coming)
    // After a move of the clock, the moves of users go on by the alarm.
    const moving = await this.jobs.moves.step(
      context,
      tenantId,
      this.#kindsOfUsers(),
      steps > 0 && moved === null,
    )
    // If the tenant is gone, this object's storage is cleared.
    if (next === null && moving === null && isWhole && !(await exists(context.db))) return this.#forget()
    // A test clock moves only by a request, and that request makes this object do the due work. So there is
    // no alarm for later work.
    const present = systemNow()
    const isDue = next !== null && next <= now
    const times = [
      ...(clock === null ? coming.map((one) => wantedAt(one, grace)) : isDue ? [present] : []),
      ...pauses.map(({ until }) => until),
      ...(isWhole ? [] : [present + PAUSE]),
      ...(moving === null ? [] : [moving]),
    ]
    if (times.length === 0) return
    await this.ctx.storage.setAlarm(Math.min(Math.max(Math.min(...times), present), present + LONGEST))
  }
}
