import { readTestClock } from '../../access/clock.sql.ts'
import { isActive } from '../../access/tenants.sql.ts'
import { newInstance, presentState } from '../../configuration/configuration'
import { DAY, type Instant, instant, iso, isoOrNull, MINUTE, SECOND } from '../../lib/clock'
import { systemNow, within } from '../../lib/system-clock'
import { newContext, type TenantContext } from '../../platform/context'
import { variables } from '../../platform/env'
import { logProblem } from '../../platform/log'
import { StoringObject } from '../../platform/objects'
import { schedule } from '../../time/due-work.sql.ts'
import { ensureAlarm } from '../../time/timekeeper'
import {
  type Accepting,
  type Answered,
  type ChannelAdapter,
  type Channels,
  type Condition,
  type Delivery,
  Destination,
  type Held,
  type HeldMessage,
  type LogPage,
  nameOf,
  type Place,
  type QueuedMessage,
  type Resend,
} from './messages'
import { DeliveryQueueStore, placeOf, type Row } from './queue.sql.ts'
import { FURTHEST_DELIVERY, HEALTHY, isFailing, isOfAnotherTime } from './retries.rules'
import { DeliveryRunner, Pruning, type RunLimits } from './runner'

function deliveryOf({ id, event, status, attempts, lastStatus, lastError, created, nextAt }: Row): Delivery {
  const nextAttempt = nextAt === null ? null : instant(Math.max(nextAt, created))
  return { id, event, status, attempts, lastStatus, lastError, created: instant(created), nextAttempt }
}

const placedOf = (row: Row): Delivery & { place: Place } => ({ ...deliveryOf(row), place: placeOf(row) })

function heldOf({ rows, hasMore }: { rows: (Row & { body: string })[]; hasMore: boolean }): Held {
  return { messages: rows.map((row): HeldMessage => ({ ...placedOf(row), body: row.body })), hasMore }
}

const NOTHING: Held = { messages: [], hasMore: false }

declare module '../../platform/env' {
  interface Bindings {
    DELIVERY_QUEUE: DurableObjectNamespace<DeliveryQueueObject>
  }
}

/** How long a run begins attempts, in ms. An alarm may take 15 minutes, and an attempt takes 5 at most. */
const LONGEST_RUN = 5 * MINUTE
/** The most attempts of a run. Its requests and queries stay far below the platform's limits for a call. */
const MOST_BEGUN = 500
const MOST_GIVEN_UP = 1_000
/** How long D1's configuration is used, in ms. A change of a webhook notifies its delivery queue at once. */
const BELIEVED = SECOND
/** When the Timekeeper calls again while messages are in progress, in ms, in case the alarm is lost. */
const LOOK_AGAIN = 5 * MINUTE
/** How long a sample waits for its answer, in ms: less than clients wait. Its attempt may take longer. */
const PATIENCE = 20 * SECOND
/** After how long an interrupted run is tried again, in milliseconds. */
const PAUSE = MINUTE

/** The most pending messages that are counted, and the newest messages that are searched for failed ones. */
const MOST_COUNTED = 10_000

/** The state in D1: the test clock, if it is set, and the channel adapter. */
type Present = { read: Instant; clock: Instant | null; adapter: ChannelAdapter | 'waits' | 'gone' }

/**
 * One object for each destination. It delivers messages and keeps the log. `DeliveryRunner` does the work.
 * Messages that can be sent now are sent by the object's own alarm. For retries, the Timekeeper calls it
 * (C2).
 */
export abstract class DeliveryQueueObject extends StoringObject<DeliveryQueueStore> {
  /** The channels by which it reaches destinations. `src/worker` sets them. */
  protected abstract readonly channels: Channels
  readonly #instance = newInstance()
  readonly #runner = new DeliveryRunner(() => this.store)
  #pruning = this.#newPruning()
  #last: Promise<unknown> = Promise.resolve()
  #present: Present | null = null
  #loggedRows = 0
  /** When the Timekeeper will call, as far as this object knows. */
  #calledAt: Instant | null = null

  #newPruning(): Pruning {
    return new Pruning(variables(this.env).DELIVERY_LOG_DAYS)
  }

  protected override openStore(): DeliveryQueueStore {
    return new DeliveryQueueStore(this.ctx.storage)
  }

  protected override stop(): void {
    this.#present = null
    this.#pruning = this.#newPruning()
  }

  get #destination(): Destination | null {
    if (!this.isUsed) return null
    const note = this.store.sql.note('destination')
    return note === null ? null : Destination.parse(note)
  }

  #context(tenantId: string): TenantContext {
    const context = newContext(this.#instance, this.env, (work) => this.ctx.waitUntil(work))
    return { ...context, db: context.db.of(tenantId) }
  }

  /** Takes messages over, each once. Drops those of a deleted destination or an erased tenant. */
  async accept({ destination, messages, now, epoch }: Accepting): Promise<void> {
    this.revive(epoch)
    if (!this.isUsed && !(await isActive(this.#context(destination.tenantId).db))) return
    if (this.isPurged || this.isDeleted) return
    this.store.remember(destination)
    this.store.add(messages, now)
    await this.#wake()
    await this.#scheduleRun(destination, now)
  }

  /** Starts a run soon, by alarm. So it does not depend on the caller. */
  #wake(): Promise<void> {
    this.#runner.lookAgain()
    return this.#callAt(systemNow())
  }

  async #callAt(at: number): Promise<void> {
    if (!this.isPurged) await this.ctx.storage.setAlarm(at)
  }

  /** Under a test clock, makes a move of the clock wait for these messages (C1). */
  async #scheduleRun(destination: Destination, now: Instant): Promise<void> {
    const { db } = this.#context(destination.tenantId)
    if ((await readTestClock(db)) !== null)
      await db.batch([schedule(db, 'delivery', { at: now, subject: nameOf(destination) })])
  }

  /** Does the work of the alarm. The platform runs it at least once. */
  override async alarm(): Promise<void> {
    try {
      await this.#inTurn(() => this.#run(null))
    } catch (error) {
      logProblem('error', {
        queue: this.ctx.id.name ?? '',
        error: `delivery queue stopped: ${String(error)}`,
      })
      await this.#callAt(systemNow() + PAUSE)
    }
  }

  /**
   * Sends messages that are due by `now` (W4, C2). With `wait`, it sends all of them, waits for the end of
   * every attempt, and asks to be called for nothing earlier (C1). Otherwise it only begins, and returns at
   * once. `dueAt` is when it must be called next; null if no message waits
   * for a time.
   */
  async runDue({ now, wait }: { now: Instant; wait: boolean }): Promise<{ dueAt: Instant | null }> {
    if (!this.isUsed) return { dueAt: null }
    // A clock went back (C1, C3). The caller is told the time after that.
    if (!wait) this.store.capDueTimes(instant(now + FURTHEST_DELIVERY), now)
    if (wait) await this.#inTurn(() => this.#run(now))
    else await this.#wake()
    const next = this.#isIdle ? null : this.#runner.nextAt()
    this.#calledAt = next === null || next > now ? next : instant(now + LOOK_AGAIN)
    return { dueAt: this.#calledAt }
  }

  /**
   * Reads the destination's configuration again, and continues with waiting messages. A rest ends, since the
   * change may have repaired the destination.
   */
  async refresh(): Promise<void> {
    this.#present = null
    if (this.#destination === null) return
    this.store.endRest()
    await this.#wake()
  }

  /** Tries the next pending message at once, also during a rest, which ends (W4). */
  async tryNow({ now }: { now: Instant }): Promise<void> {
    if (this.#destination === null) return
    const [next] = this.store.due(instant(now + FURTHEST_DELIVERY), 1)
    if (next !== undefined && next.nextAt > now) this.store.wait(next, now)
    await this.#sendAgain(this.#destination, now)
  }

  async #sendAgain(destination: Destination, now: Instant): Promise<void> {
    this.store.endRest()
    await this.#wake()
    await this.#scheduleRun(destination, now)
  }

  /** Whether the destination gets nothing now, as far as this object knows. */
  get #isIdle(): boolean {
    return this.#present !== null && typeof this.#present.adapter === 'string'
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Sends messages that are due by a moment. Null: by now, and then it schedules the rest. */
  async #run(to: Instant | null): Promise<void> {
    const destination = this.#destination
    if (destination === null) return
    const context = this.#context(destination.tenantId)
    this.#present = null
    const { clock, adapter } = await this.#read(context, destination)
    if (adapter === 'gone') return this.forget()
    const before = this.#runner.settled
    const nowOf = () => to ?? clock ?? systemNow()
    if (clock === null) {
      this.store.capDueTimes(instant(systemNow() + FURTHEST_DELIVERY), systemNow())
      if (isOfAnotherTime(this.store.health, systemNow())) this.store.health = HEALTHY
    }
    const lastBeginning = instant(systemNow() + LONGEST_RUN)
    const limits: RunLimits = {
      until: nowOf,
      // A run with a given moment does everything at its due time, even if the test clock was removed in the
      // meantime. Otherwise a message that waits for that time would never become due.
      momentOf: (dueAt) => (to === null && clock === null ? systemNow() : dueAt),
      adapter: async () => {
        this.#pruning.inPassing(this.store, nowOf(), this.#runner.settled)
        const present = await this.#read(context, destination)
        // If a test clock was set or removed since the start, the next run continues.
        const isSame = (present.clock === null) === (clock === null)
        return isSame && typeof present.adapter !== 'string' ? present.adapter : null
      },
      isOver: () => to === null && systemNow() > lastBeginning,
      givesUp: to === null ? MOST_GIVEN_UP : Number.POSITIVE_INFINITY,
      begins: to === null ? MOST_BEGUN : Number.POSITIVE_INFINITY,
    }
    await this.#runner.run(limits)
    while (!this.#isIdle && this.store.resendPart(nowOf()) && to !== null) await this.#runner.run(limits)
    this.#pruning.run(this.store, nowOf(), this.#runner.settled)
    if (to === null && !this.isPurged) await this.#plan(context, destination, nowOf())
    if (this.#runner.settled > before) console.log(this.#line(context, this.#runner.settled - before))
  }

  /** The log line of a run, as JSON: settled messages, and rows since the last line. Nothing about a user. */
  #line({ db, cost }: TenantContext, messages: number): string {
    const objectRows = this.store.sql.rowsWritten - this.#loggedRows
    this.#loggedRows = this.store.sql.rowsWritten
    const queue = this.ctx.id.name
    return JSON.stringify({
      level: 'info',
      work: 'delivery',
      tenant: db.tenantId,
      queue,
      messages,
      d1: cost,
      objectRows,
    })
  }

  async #read(context: TenantContext, destination: Destination): Promise<Present> {
    const read = systemNow()
    if (this.#present !== null && read - this.#present.read < BELIEVED) return this.#present
    const { config, clock } = await presentState(context)
    const adapter = config === null ? 'waits' : this.channels(context, config, destination)
    this.#present = { read, clock, adapter }
    return this.#present
  }

  async #plan(context: TenantContext, destination: Destination, now: Instant): Promise<void> {
    if (this.#isIdle) return
    const next = this.store.resend?.running ? now : this.#runner.nextAt()
    if (next === null) return
    if (next <= now) return this.#wake()
    if (this.#calledAt !== null && this.#calledAt <= next && this.#calledAt > now) return
    const { db } = context
    await db.batch([schedule(db, 'delivery', { at: next, subject: nameOf(destination) })])
    this.#calledAt = next
    // Not awaited, since the Timekeeper may be waiting for this object.
    this.ctx.waitUntil(ensureAlarm(context, db.tenantId))
  }

  list(page: LogPage): { deliveries: (Delivery & { place: Place })[]; next: Place | null } {
    if (!this.isUsed) return { deliveries: [], next: null }
    const { rows, next } = this.store.list(page)
    return { deliveries: rows.map(placedOf), next }
  }

  log(page: LogPage): Held {
    return this.isUsed ? heldOf(this.store.log(page)) : NOTHING
  }

  /** The moment of the message after the `skip` newest ones; null if there is none. */
  moment({ skip }: { skip: number }): number | null {
    return this.isUsed ? this.store.moment(skip) : null
  }

  /** What waits, what was given up, and what failed within a day (W4, G12). It reads 20,000 rows at most. */
  condition(now: Instant): Condition {
    const dayAgo = instant(now - DAY)
    const none = { pending: 0, dead: 0, tried: 0, failed: 0, oldest: null }
    const { oldest, ...counts } = this.isUsed ? this.store.counts(MOST_COUNTED, dayAgo) : none
    const health = this.isUsed ? this.store.health : HEALTHY
    return {
      ...counts,
      failing: isFailing(health, counts.tried, counts.failed),
      since: iso(instant(Math.max(dayAgo, oldest ?? dayAgo))),
      restsUntil: (health.probeAt ?? now) > now ? isoOrNull(health.probeAt) : null,
    }
  }

  /** A message of the log; null if none has this id. */
  #find(id: string): Delivery | null {
    const row = this.isUsed ? this.store.find(id) : undefined
    return row === undefined ? null : deliveryOf(row)
  }

  whole(id: string): (Delivery & { body: string }) | null {
    const row = this.isUsed ? this.store.findWhole(id) : undefined
    return row === undefined ? null : { ...deliveryOf(row), body: row.body }
  }

  /** Makes a message pending again, with all its attempts; null if none has this id (W4). */
  async redeliver({ id, now }: { id: string; now: Instant }): Promise<Delivery | null> {
    if (!this.isUsed) return null
    const [row, destination] = [this.store.find(id), this.#destination]
    if (row === undefined || destination === null) return null
    this.store.renew(row, now)
    const renewed = this.#find(id)
    await this.#sendAgain(destination, now)
    return renewed
  }

  /** Begins to send messages again, in parts (W4). Returns false if that is going on already. */
  async redeliverAll(asked: Pick<Resend, 'since' | 'status'>, now: Instant): Promise<boolean> {
    const destination = this.#destination
    if (destination === null) return true
    if (this.store.resend?.running) return false
    this.store.beginResend(asked)
    await this.#sendAgain(destination, now)
    return true
  }

  /** How far the last resend is; null if there was none. */
  resend(): Resend | null {
    return this.isUsed ? this.store.resend : null
  }

  /**
   * Sends a message at once, also during a rest, and waits for the answer (W1). Null if the destination gets nothing
   * now. If this object is killed meanwhile, its alarm sends the message.
   */
  async sample(
    destination: Destination,
    message: QueuedMessage,
    epoch: number,
  ): Promise<{ delivery: Delivery | null; answer: Answered | null } | null> {
    this.revive(epoch)
    this.#present = null
    await this.#scheduleRun(destination, instant(message.at))
    const { clock, adapter } = await this.#read(this.#context(destination.tenantId), destination)
    if (typeof adapter === 'string' || this.isPurged || this.isDeleted) return null
    this.store.remember(destination)
    this.store.add([message], instant(message.at))
    const pending = this.store.pending(message)
    let answer: Answered | null = null
    const attempt: ChannelAdapter['attempt'] = (one, now) =>
      adapter.attempt(one, now, (seen) => {
        answer = seen
      })
    const sending =
      pending && this.#runner.begin(pending, { ...adapter, attempt }, () => clock ?? systemNow())
    await this.#wake()
    if (sending) await within(PATIENCE, sending).catch(() => undefined)
    return { delivery: this.#find(message.id), answer }
  }

  /** The next stored messages about a user, oldest first (U8). */
  held({ iid, after }: { iid: string; after: Place | null }): Held {
    return this.isUsed ? heldOf(this.store.held(iid, after)) : NOTHING
  }

  /** The newest notifications to a user before a place, newest first (X2). */
  newest({ iid, before, limit }: { iid: string; before: Place; limit: number }): Held {
    return this.isUsed ? heldOf(this.store.newest(iid, before, limit)) : NOTHING
  }

  /** Deletes a user's messages, and the user's entries in rankings of others, by the caller's id (U8). */
  erase(user: { iid: string; userId: string }): void {
    if (this.isUsed) this.store.erase(user)
  }
}
