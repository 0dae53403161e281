import { DAY, HOUR, type Instant, instant, MINUTE } from '../../lib/clock'
import { MOST_LOGGED } from '../../lib/limits'
import { logProblem } from '../../platform/log'
import type { Attempt, ChannelAdapter } from './messages'
import type { DeliveryQueueStore, Outcome, Pending } from './queue.sql.ts'
import { afterFailure, afterSuccess, heldSince, heldUntil, isGivenUp, retryAt } from './retries.rules'

/** The most messages in progress at the same time. A Worker may have six open connections. */
const AT_ONCE = 5
/** How many due messages are read to find the next one that may be sent. More than are in progress. */
const PAGE = 20
/** How far a message is put off that waits for one in progress. It is released as soon as that one is settled. */
const PUT_OFF = MINUTE

const UNKNOWN = 'unknown whether the message arrived'
const TOO_OLD = 'given up after 24 hours: every attempt at this destination failed'

/** The limits of a run. */
export type RunLimits = {
  /** Messages that are due by this moment are sent now, by the service's clock. */
  until(): Instant
  /**
   * The moment of work that was due at `dueAt`: now in real time, and `dueAt` under a test clock, which does not
   * move by itself.
   */
  momentOf(dueAt: Instant): Instant
  /** The present channel adapter; null if messages must wait. */
  adapter(): Promise<ChannelAdapter | null>
  isOver(): boolean
  /** The most messages that are given up without an attempt. */
  givesUp: number
  /** The most attempts that begin. */
  begins: number
}

/**
 * Delivers messages of one destination. Messages about one user are sent in order. Failed attempts are
 * repeated (W4), and a destination that keeps failing gets rests.
 */
export class DeliveryRunner {
  readonly #storeOf: () => DeliveryQueueStore
  readonly #underWay = new Map<string, { message: Pending; end: Promise<void> }>()

  /** Makes a run that waits for messages in progress look for more messages. */
  #look: () => void = () => undefined

  /** Messages that were settled since this was made. */
  settled = 0

  constructor(storeOf: () => DeliveryQueueStore) {
    this.#storeOf = storeOf
  }

  get #store(): DeliveryQueueStore {
    return this.#storeOf()
  }

  /** Sends all due messages and waits for all attempts. Throws if the channel adapter can't be read. */
  async run(limits: RunLimits): Promise<void> {
    const budget = { givenUp: limits.givesUp }
    let begun = 0
    try {
      for (;;) {
        while (this.#underWay.size < AT_ONCE && begun < limits.begins && !limits.isOver()) {
          const adapter = await limits.adapter()
          const message = adapter && this.#next(limits, budget)
          if (adapter === null || message === null) break
          const dueAt = this.#momentOf(message, limits)
          this.begin(message, adapter, () => limits.momentOf(dueAt))
          begun += 1
        }
        if (this.#underWay.size === 0) return
        const looking = Promise.withResolvers<void>()
        this.#look = looking.resolve
        await Promise.race([looking.promise, ...[...this.#underWay.values()].map(({ end }) => end)])
      }
    } finally {
      await Promise.all([...this.#underWay.values()].map(({ end }) => end))
    }
  }

  /** Tells a run in progress of new messages. If it has room, it sends them before others end. */
  lookAgain(): void {
    this.#look()
  }

  /** When the next message may be tried, by the store; null if none is pending. */
  nextAt(): Instant | null {
    const first = this.#store.first()
    if (first === null) return null
    return instant(Math.max(first, this.#store.health.probeAt ?? first))
  }

  /** The next message to send now, or null. Ends or puts off messages in front of it that cannot be sent. */
  #next(limits: RunLimits, budget: { givenUp: number }): Pending | null {
    for (;;) {
      const by = limits.until()
      const { health } = this.#store
      if (health.probeAt !== null && (this.#underWay.size > 0 || health.probeAt > by)) return null
      const page = this.#store.due(by, PAGE)
      const idle = page.filter(({ id }) => !this.#underWay.has(id))
      let moved = 0
      for (const message of idle) {
        const now = this.#momentOf(message, limits)
        if (message.claimed === 1) this.#end(message, gone(UNKNOWN), { now, attempts: 1 })
        else if (isGivenUp(health, message.since, now)) {
          if (budget.givenUp === 0) return null
          budget.givenUp -= 1
          this.#end(message, gone(TOO_OLD), { now, attempts: 0 })
        } else {
          const before = this.#before(message, now)
          if (before === null) return message
          // A message in progress is soon settled. Putting others off pays only if a whole page waits for
          // such messages.
          if (before.isUnderWay && page.length < PAGE) continue
          const until = heldUntil(before.at)
          this.#store.wait(message, before.isUnderWay ? instant(Math.max(until, by + PUT_OFF)) : until)
        }
        moved += 1
      }
      if (moved === 0) return null
    }
  }

  /** The message of the same user that this one waits for: in progress, or pending for under an hour. */
  #before(message: Pending, now: Instant): { at: number; isUnderWay: boolean } | null {
    const { subject } = message
    if (subject === null) return null
    const stored = this.#store.before({ ...message, subject }, heldSince(now))
    if (stored !== null) return { at: stored, isUnderWay: false }
    const ofUser = [...this.#underWay.values()].find((one) => one.message.subject === subject)
    return ofUser === undefined ? null : { at: ofUser.message.at, isUnderWay: true }
  }

  /** When a message is tried, by the service's clock: not before it was handed over, or a rest has ended. */
  #momentOf({ nextAt, created }: Pending, limits: RunLimits): Instant {
    const { probeAt, restedUntil } = this.#store.health
    return limits.momentOf(instant(Math.max(nextAt, created, probeAt ?? 0, restedUntil ?? 0)))
  }

  /** Sends a message, whatever else waits or rests. Resolves when its result is stored. */
  begin(message: Pending, adapter: ChannelAdapter, nowOf: () => Instant): Promise<void> {
    if (!adapter.mayRepeat) this.#store.claim(message)
    const end = this.#attempt(message, adapter, nowOf())
      .then((attempt) => this.#settle(message, attempt, nowOf()))
      .finally(() => this.#underWay.delete(message.id))
    this.#underWay.set(message.id, { message, end })
    return end
  }

  /** Sends a message once. Never throws. */
  async #attempt(message: Pending, adapter: ChannelAdapter, now: Instant): Promise<Attempt> {
    const whole = this.#store.message(message)
    if (whole === undefined) return gone(UNKNOWN)
    try {
      return await adapter.attempt(whole, now)
    } catch (error) {
      logProblem('error', { message: message.id, error: `attempt interrupted: ${String(error)}` })
      return adapter.mayRepeat
        ? { kind: 'failed', status: null, error: 'the attempt was interrupted' }
        : gone(UNKNOWN)
    }
  }

  /** Stores the result of an attempt that ended at `now`, for the message and for the destination. */
  #settle(message: Pending, attempt: Attempt, now: Instant): void {
    const { health } = this.#store
    if (attempt.kind === 'failed')
      this.#store.health = afterFailure(health, now, attempt.isForAll ? attempt.retryAfter : 0)
    else if (attempt.kind === 'postponed' && attempt.retryAfter !== undefined)
      this.#store.health = afterFailure(health, now, attempt.retryAfter)
    else if (attempt.kind === 'delivered' && (health.failures > 0 || health.probeAt !== null))
      this.#store.health = afterSuccess(health, now)
    this.#end(message, attempt, { now, attempts: 1 })
  }

  #end(message: Pending, attempt: Attempt, { now, attempts }: { now: Instant; attempts: 0 | 1 }): void {
    // The present row: the message may have been renewed or erased while it was in progress.
    const present = this.#store.pending(message)
    if (present === undefined) return
    if (attempt.kind === 'failed' && attempt.body !== undefined) this.#store.rewrite(present, attempt.body)
    const tries = attempt.kind === 'postponed' ? 0 : attempts
    const outcome = outcomeOf(attempt, present.tries + tries, now)
    this.#store.settle(present, outcome, attempts, tries)
    if (outcome.nextAt !== null) return
    this.settled += 1
    const { subject } = present
    if (subject !== null) this.#store.release({ ...present, subject }, now)
  }
}

const gone = (error: string): Attempt => ({ kind: 'refused', status: null, error })

/** The status after an attempt that ended at `now`. `tries` counts since it last became pending. */
function outcomeOf(attempt: Attempt, tries: number, now: Instant): Outcome {
  switch (attempt.kind) {
    case 'delivered':
      return { status: 'delivered', nextAt: null, lastStatus: attempt.status, lastError: null }
    case 'unsent':
      return { status: attempt.error, nextAt: null, lastStatus: null, lastError: null }
    case 'refused':
      return { status: 'dead', nextAt: null, lastStatus: attempt.status, lastError: attempt.error }
    case 'postponed':
    case 'failed': {
      const nextAt = attempt.kind === 'postponed' ? retryAt(1, now) : retryAt(tries, now, attempt.retryAfter)
      const status = nextAt === null ? 'dead' : 'pending'
      return { status, nextAt, lastStatus: attempt.status, lastError: attempt.error }
    }
  }
}

/** The most messages that one statement deletes, and after how many newly settled ones a run prunes. */
const DROPPED_AT_ONCE = 1_000
const PASSING = 500
/** How often new objects may count the settled messages, in milliseconds. A count reads all of them. */
const COUNTED = HOUR

/** Deletes settled messages that are too old or too many from the log, in parts. Never pending ones. */
export class Pruning {
  readonly #kept: number
  readonly #most: number
  /** The settled messages, and how many more this object had settled by then. Null if they were not counted. */
  #known: { count: number; settled: number } | null = null
  #done = 0

  /** `days`: how long a settled message stays in the log. */
  constructor(days: number, most = MOST_LOGGED) {
    this.#kept = days * DAY
    this.#most = most
  }

  /** Prunes only if many messages were settled since the last time. */
  inPassing(store: DeliveryQueueStore, now: Instant, settled: number): void {
    if (settled - this.#done >= PASSING) this.run(store, now, settled)
  }

  /** Deletes a part of these messages. `done` is how many this object has settled so far, some several times. */
  run(store: DeliveryQueueStore, now: Instant, done: number): void {
    this.#done = done
    const settled = done - store.unsettled
    // A resend leaves no message out that was there when it began.
    if (store.resend?.running) return
    const outdated = store.dropBefore(instant(now - this.#kept), DROPPED_AT_ONCE)
    if (outdated > 0) store.unname(now)
    const known = this.#known ?? this.#counted(store, now, settled)
    if (known === null) return
    const count = known.count + settled - known.settled - outdated
    const excess = Math.max(0, Math.min(count - this.#most, DROPPED_AT_ONCE))
    this.#known = { count: excess === 0 ? count : count - store.dropOldest(excess), settled }
    if (excess > 0) store.unname(now)
  }

  /** Counts the settled messages. Null if an earlier object has counted them within the hour. */
  #counted(store: DeliveryQueueStore, now: Instant, settled: number) {
    const before = store.sql.note('counted')
    if (typeof before === 'number' && now >= before && now - before < COUNTED) return null
    store.sql.setNote('counted', now)
    return { count: store.settled(), settled }
  }
}
