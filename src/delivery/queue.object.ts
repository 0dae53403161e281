import { DurableObject } from 'cloudflare:workers'
import type * as z from 'zod'
import { readTestClock } from '../access/clock.repository'
import { isActive } from '../access/tenants.repository'
import { presentState } from '../config/configuration.service'
import { hasTables } from '../db/object-migrations'
import { makeDue } from '../jobs/due-work.repository'
import { ensureAlarm } from '../jobs/timekeeper.service'
import { type Instant, instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { HOUR, MINUTE, SECOND } from '../lib/units'
import type { TenantContext } from '../runtime/context'
import { newContext } from '../runtime/context'
import type { Bindings } from '../runtime/env'
import { Instance } from '../runtime/instance'
import { deliveryOf, heldOf } from './deliveries.presenter'
import { DeliveryRunner, type RunLimits } from './delivery-runner.model'
import { Pruning } from './prune.service'
import {
  AcceptRequest,
  type ChannelAdapter,
  type Channels,
  type DeliveryReply,
  Destination,
  EraseRequest,
  type HeldReply,
  HeldRequest,
  type ListReply,
  ListRequest,
  type LogReply,
  LogRequest,
  type MomentReply,
  MomentRequest,
  nameOf,
  RedeliverRequest,
  type RunDueReply,
  RunDueRequest,
} from './queue.messages'
import { DeliveryQueueStore } from './queue.store'
import { HEALTHY, isOfAnotherTime } from './retries.rules'

declare module '../runtime/env' {
  interface Bindings {
    DELIVERY_QUEUE: DurableObjectNamespace<DeliveryQueueObject>
  }
}

/** How long a run begins attempts, in milliseconds: an alarm has a quarter of an hour, and an attempt takes five minutes at most. */
const LONGEST_RUN = 5 * MINUTE
/** Attempts that a run begins at most, so that its requests and its queries of D1 are far from what the platform allows one call. */
const MOST_BEGUN = 500
/** Letters that a run gives up without an attempt, at most. */
const MOST_GIVEN_UP = 1_000
/** For how long what D1 says of the destination is believed, in milliseconds. A change of a webhook tells its courier at once. */
const BELIEVED = SECOND
/** When it is looked again at letters that are being carried, in milliseconds, should the alarm that carries them be lost. */
const LOOK_AGAIN = 5 * MINUTE
/** When a run that broke off is tried again, in milliseconds. */
const PAUSE = MINUTE
/** The furthest ahead that anything is due, in milliseconds; what is further was put there by a test clock that went back (C1). */
const FURTHEST = 25 * HOUR

/** What D1 says: by the clock that is set, if one is, and how letters are carried. */
type Present = { read: Instant; clock: Instant | null; adapter: ChannelAdapter | 'waits' | 'gone' }

/**
 * One object a destination, which carries letters there and keeps the log of it. A thin shell: what it does is in courier.ts. What can go now goes
 * by its own alarm; for retries it has the Timekeeper call it (C2).
 */
export abstract class DeliveryQueueObject extends DurableObject<Bindings> {
  /** How it reaches destinations; the room above all says so. */
  protected abstract readonly channels: Channels
  /** What it keeps; null until that is needed. */
  #opened: DeliveryQueueStore | null = null
  /** Whether its tenant was erased while this object was at work. */
  #isPurged = false
  readonly #instance = new Instance()
  readonly #runner = new DeliveryRunner(() => this.#store)
  #pruning = new Pruning()
  /** The run that is under way: one after another. */
  #last: Promise<unknown> = Promise.resolve()
  #present: Present | null = null
  /** Rows written up to the last line of the log. */
  #loggedRows = 0
  /** When the Timekeeper is going to call, as far as this knows. */
  #calledAt: Instant | null = null

  get #store(): DeliveryQueueStore {
    this.#opened ??= new DeliveryQueueStore(this.ctx.storage)
    return this.#opened
  }

  /** Whether it keeps anything. Whoever asks it without need leaves nothing behind. */
  get #isUsed(): boolean {
    return !this.#isPurged && (this.#opened !== null || hasTables(this.ctx.storage.sql))
  }

  get #isDeleted(): boolean {
    return this.#isUsed && this.#store.note('deleted') !== null
  }

  get #destination(): Destination | null {
    if (!this.#isUsed) return null
    const note = this.#store.note('destination')
    return note === null ? null : Destination.parse(note)
  }

  #context(tenantId: string): TenantContext {
    const context = newContext(this.#instance, this.env, (work) => this.ctx.waitUntil(work))
    return { ...context, db: context.db.of(tenantId) }
  }

  /** Takes letters over, each once, to be carried. Those of a destination that was deleted are dropped, and those of a tenant that was erased. */
  async accept(request: z.input<typeof AcceptRequest>): Promise<void> {
    const { destination, messages, now } = AcceptRequest.parse(request)
    if (!this.#isUsed && !(await isActive(this.#context(destination.tenantId).db))) return
    if (this.#isPurged || this.#isDeleted) return
    this.#store.remember(destination)
    this.#store.add(messages, now)
    await this.#wake()
    await this.#scheduleRun(destination, now)
  }

  /** Begins to carry, in a moment and whatever happens to whoever has called. */
  #wake(): Promise<void> {
    this.#runner.lookAgain()
    return this.#callAt(systemNow())
  }

  async #callAt(at: number): Promise<void> {
    if (!this.#isPurged) await this.ctx.storage.setAlarm(at)
  }

  /** Under a set clock, has whoever moves it wait for what was handed over (C1). */
  async #scheduleRun(destination: Destination, now: Instant): Promise<void> {
    const { db } = this.#context(destination.tenantId)
    if ((await readTestClock(db)) !== null)
      await db.batch([makeDue(db, 'delivery', nameOf(destination), now)])
  }

  /** Does what the alarm was set for; the platform runs it at least once. */
  override async alarm(): Promise<void> {
    try {
      await this.#inTurn(() => this.#run(null))
    } catch (error) {
      console.error(JSON.stringify({ level: 'error', queue: this.ctx.id.name, error: String(error) }))
      await this.#callAt(systemNow() + PAUSE)
    }
  }

  /** Sees to what is due (W4, C2). */
  async runDue(request: z.input<typeof RunDueRequest>): Promise<z.input<typeof RunDueReply>> {
    const { now, wait } = RunDueRequest.parse(request)
    if (!this.#isUsed) return { dueAt: null }
    if (wait) await this.#inTurn(() => this.#run(now))
    else await this.#wake()
    const isIdle = this.#present !== null && typeof this.#present.adapter === 'string'
    const next = isIdle ? null : this.#runner.nextAt()
    this.#calledAt = next === null || next > now ? next : instant(now + LOOK_AGAIN)
    return { dueAt: this.#calledAt }
  }

  /** Learns anew how the destination is configured, before anything else is sent, and goes on with what waits. */
  async refresh(): Promise<void> {
    this.#present = null
    if (this.#destination !== null) await this.#wake()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Carries what is due by a moment (null: by now, and then sees to the rest). */
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
      this.#store.capDueTimes(instant(systemNow() + FURTHEST), systemNow())
      if (isOfAnotherTime(this.#store.health, systemNow())) this.#store.health = HEALTHY
    }
    const lastBeginning = instant(systemNow() + LONGEST_RUN)
    const limits: RunLimits = {
      until: nowOf,
      // Whoever is called to a moment does all at its time, also where the clock that was moved there is gone: else a letter that waits for
      // that time would never find that it has come.
      momentOf: (dueAt) => (to === null && clock === null ? systemNow() : dueAt),
      adapter: async () => {
        this.#pruning.inPassing(this.#store, nowOf(), this.#runner.settled)
        const present = await this.#read(context, destination)
        // A clock that was set or taken away since is for the next run.
        const isSame = (present.clock === null) === (clock === null)
        return isSame && typeof present.adapter !== 'string' ? present.adapter : null
      },
      isOver: () => to === null && systemNow() > lastBeginning,
      givesUp: to === null ? MOST_GIVEN_UP : Number.POSITIVE_INFINITY,
      begins: to === null ? MOST_BEGUN : Number.POSITIVE_INFINITY,
    }
    await this.#runner.run(limits)
    this.#pruning.run(this.#store, nowOf(), this.#runner.settled)
    if (to === null && !this.#isPurged) await this.#plan(context, destination, nowOf())
    if (this.#runner.settled > before) console.log(this.#line(context, this.#runner.settled - before))
  }

  /** The log line of a run, as JSON: letters that it settled, and the rows written since the one before. Nothing of a user. */
  #line({ db, cost }: TenantContext, messages: number): string {
    const objectRows = this.#store.rowsWritten - this.#loggedRows
    this.#loggedRows = this.#store.rowsWritten
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

  /** Sees to it that what is left is carried when it is due. */
  async #plan(context: TenantContext, destination: Destination, now: Instant): Promise<void> {
    const next = this.#runner.nextAt()
    const isIdle = this.#present !== null && typeof this.#present.adapter === 'string'
    if (next === null || isIdle) return
    if (next <= now) return this.#wake()
    if (this.#calledAt !== null && this.#calledAt <= next && this.#calledAt > now) return
    const { db } = context
    await db.batch([makeDue(db, 'delivery', nameOf(destination), next)])
    this.#calledAt = next
    // Not awaited: the Timekeeper may be waiting for this very object.
    this.ctx.waitUntil(ensureAlarm(context, db.tenantId))
  }

  /** A page of the log, newest first. */
  list(request: z.input<typeof ListRequest>): z.input<typeof ListReply> {
    const { limit, skip } = ListRequest.parse(request)
    if (!this.#isUsed) return []
    return this.#store.list(limit, skip).map(deliveryOf)
  }

  /** The same with what was carried. */
  log(request: z.input<typeof LogRequest>): z.input<typeof LogReply> {
    if (!this.#isUsed) return { messages: [], hasMore: false }
    const { rows, hasMore } = this.#store.log(LogRequest.parse(request))
    return { messages: rows.map(heldOf), hasMore }
  }

  /** When a letter of the log happened. */
  moment(request: z.input<typeof MomentRequest>): z.input<typeof MomentReply> {
    const { skip } = MomentRequest.parse(request)
    return this.#isUsed ? this.#store.moment(skip) : null
  }

  /** A letter of the log; null where there is none of this id. */
  find(id: string): z.input<typeof DeliveryReply> {
    const row = this.#isUsed ? this.#store.find(id) : undefined
    return row === undefined ? null : deliveryOf(row)
  }

  /** Makes a letter pending again, with all its tries; null where there is none of this id (W4). */
  async redeliver(request: z.input<typeof RedeliverRequest>): Promise<z.input<typeof DeliveryReply>> {
    const { id, now } = RedeliverRequest.parse(request)
    if (!this.#isUsed) return null
    const [row, destination] = [this.#store.find(id), this.#destination]
    if (row === undefined || destination === null) return null
    this.#store.renew(row, now)
    const renewed = this.find(id)
    await this.#wake()
    await this.#scheduleRun(destination, now)
    return renewed
  }

  /** What is kept about a user (U8). */
  held(request: z.input<typeof HeldRequest>): z.input<typeof HeldReply> {
    const { iid, after } = HeldRequest.parse(request)
    if (!this.#isUsed) return { messages: [], hasMore: false }
    const { rows, hasMore } = this.#store.held(iid, after)
    return { messages: rows.map(heldOf), hasMore }
  }

  /** Forgets what there is about a user, pending or not (U8). */
  erase(request: z.input<typeof EraseRequest>): void {
    const user = EraseRequest.parse(request)
    if (this.#isUsed) this.#store.erase(user)
  }

  /** Forgets everything but that the destination was deleted, so that what arrives late leaves nothing behind. */
  async forget(): Promise<void> {
    if (this.#isPurged) return
    this.#present = null
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
    this.#opened = new DeliveryQueueStore(this.ctx.storage)
    this.#store.setNote('deleted', true)
    this.#pruning = new Pruning()
  }

  /**
   * Forgets everything, for good: the tenant is erased. What is at work stores nothing any more and begins nothing new; what arrives later finds
   * the tenant gone.
   */
  async purge(): Promise<void> {
    this.#isPurged = true
    this.#present = null
    this.#opened?.close()
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
  }
}
