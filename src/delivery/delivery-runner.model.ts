import { type Instant, instant } from '../lib/clock'
import { MINUTE } from '../lib/units'
import type { Attempt, ChannelAdapter } from './queue.messages'
import type { DeliveryQueueStore, Outcome, Pending } from './queue.store'
import { afterFailure, afterSuccess, heldSince, heldUntil, isGivenUp, retryAt } from './retries.rules'

/** Letters that are on their way at once: a Worker may have six connections open. */
const AT_ONCE = 5
/** Letters that are looked at for the next one that may go; more than are on their way. */
const PAGE = 20
/** How long beyond the run's moment a letter makes way for one that is on its way, in milliseconds; it goes as soon as that is settled. */
const PUT_OFF = MINUTE

const UNKNOWN = 'nobody knows whether it arrived'
const TOO_OLD = 'given up after 24 hours, in which the destination failed every attempt'

/** What bounds a run. */
export type RunLimits = {
  /** Up to when letters are due that are carried now, by the service's clock. */
  until(): Instant
  /** The moment, by the service's clock, at which something is done that was due then. A set clock stands still, and what is due happens at its time. */
  momentOf(dueAt: Instant): Instant
  /** How letters are carried at present; null where they have to wait. */
  adapter(): Promise<ChannelAdapter | null>
  /** Whether no more attempts are to begin. */
  isOver(): boolean
  /** Letters that are given up without an attempt, at most. */
  givesUp: number
  /** Attempts that begin, at most. */
  begins: number
}

/** Carries letters of one destination: each about a user after the one before, retried by W4, with rests for a destination that fails. */
export class DeliveryRunner {
  readonly #storeOf: () => DeliveryQueueStore
  /** What is on its way, by id. */
  readonly #underWay = new Map<string, { message: Pending; end: Promise<void> }>()

  /** Has a run that waits for what is on its way look for letters anew. */
  #look: () => void = () => undefined

  /** Letters that are settled since this was made. */
  settled = 0

  constructor(storeOf: () => DeliveryQueueStore) {
    this.#storeOf = storeOf
  }

  get #store(): DeliveryQueueStore {
    return this.#storeOf()
  }

  /** Carries what is due, and answers when every attempt has ended. Throws what keeps it from knowing how to carry. */
  async run(limits: RunLimits): Promise<void> {
    const budget = { givenUp: limits.givesUp }
    let begun = 0
    try {
      for (;;) {
        while (this.#underWay.size < AT_ONCE && begun < limits.begins && !limits.isOver()) {
          const adapter = await limits.adapter()
          const message = adapter && this.#next(limits, budget)
          if (adapter === null || message === null) break
          this.#begin(message, adapter, limits)
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

  /** Tells a run that is under way of letters that have come in: while it has room they don't wait for others to end. */
  lookAgain(): void {
    this.#look()
  }

  /** When the next letter may be tried, by what the store knows; null where none is pending. */
  nextAt(): Instant | null {
    const first = this.#store.first()
    if (first === null) return null
    return instant(Math.max(first, this.#store.health.probeAt ?? first))
  }

  /** The next letter that may go now; null where there is none. What stands in the way of others is put where it doesn't. */
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
          // One that is on its way is soon settled: only where a whole page waits for such does it pay to put them off.
          if (before.isUnderWay && page.length < PAGE) continue
          const until = heldUntil(before.at)
          this.#store.wait(message, before.isUnderWay ? instant(Math.max(until, by + PUT_OFF)) : until)
        }
        moved += 1
      }
      if (moved === 0) return null
    }
  }

  /** What a letter has to wait for: one about the same user that is on its way, or that is pending and not an hour old. */
  #before(message: Pending, now: Instant): { at: number; isUnderWay: boolean } | null {
    const { subject } = message
    if (subject === null) return null
    const stored = this.#store.before({ ...message, subject }, heldSince(now))
    if (stored !== null) return { at: stored, isUnderWay: false }
    const ofUser = [...this.#underWay.values()].find((one) => one.message.subject === subject)
    return ofUser === undefined ? null : { at: ofUser.message.at, isUnderWay: true }
  }

  /** When it is that a letter is tried, by the service's clock: not before it was handed over, nor before a rest was over. */
  #momentOf({ nextAt, created }: Pending, limits: RunLimits): Instant {
    const { probeAt, restedUntil } = this.#store.health
    return limits.momentOf(instant(Math.max(nextAt, created, probeAt ?? 0, restedUntil ?? 0)))
  }

  #begin(message: Pending, adapter: ChannelAdapter, limits: RunLimits): void {
    const dueAt = this.#momentOf(message, limits)
    if (!adapter.mayRepeat) this.#store.claim(message)
    const end = this.#attempt(message, adapter, limits.momentOf(dueAt))
      .then((attempt) => this.#settle(message, attempt, limits.momentOf(dueAt)))
      .finally(() => this.#underWay.delete(message.id))
    this.#underWay.set(message.id, { message, end })
  }

  /** Carries a letter once. It never throws. */
  async #attempt(message: Pending, adapter: ChannelAdapter, now: Instant): Promise<Attempt> {
    const whole = this.#store.message(message)
    if (whole === undefined) return gone(UNKNOWN)
    try {
      return await adapter.attempt(whole, now)
    } catch (error) {
      console.error(JSON.stringify({ level: 'error', message: message.id, error: String(error) }))
      return adapter.mayRepeat
        ? { kind: 'failed', status: null, error: 'the attempt broke off' }
        : gone(UNKNOWN)
    }
  }

  /** Notes what came of an attempt that has ended at a moment, of the letter and of the destination. */
  #settle(message: Pending, attempt: Attempt, now: Instant): void {
    const { health } = this.#store
    if (attempt.kind === 'failed') this.#store.health = afterFailure(health, now)
    else if (attempt.kind === 'delivered' && (health.failures > 0 || health.probeAt !== null))
      this.#store.health = afterSuccess(health, now)
    this.#end(message, attempt, { now, attempts: 1 })
  }

  #end(message: Pending, attempt: Attempt, { now, attempts }: { now: Instant; attempts: 0 | 1 }): void {
    // As it is now: it may have been made new while it was on its way, or erased.
    const present = this.#store.pending(message)
    if (present === undefined) return
    if (attempt.kind === 'failed' && attempt.body !== undefined) this.#store.rewrite(present, attempt.body)
    const outcome = outcomeOf(attempt, present.tries + attempts, now)
    this.#store.settle(present, outcome, attempts)
    if (outcome.nextAt !== null) return
    this.settled += 1
    const { subject } = present
    if (subject !== null) this.#store.release({ ...present, subject }, now)
  }
}

const gone = (error: string): Attempt => ({ kind: 'refused', status: null, error })

/** Where a letter stands after so many attempts since it was last made pending, the last of which ended at a moment. */
function outcomeOf(attempt: Attempt, tries: number, now: Instant): Outcome {
  switch (attempt.kind) {
    case 'delivered':
      return { status: 'delivered', nextAt: null, lastStatus: attempt.status, lastError: null }
    case 'unsent':
      return { status: attempt.error, nextAt: null, lastStatus: null, lastError: null }
    case 'refused':
      return { status: 'dead', nextAt: null, lastStatus: attempt.status, lastError: attempt.error }
    case 'failed': {
      const nextAt = retryAt(tries, now, attempt.retryAfter)
      const status = nextAt === null ? 'dead' : 'pending'
      return { status, nextAt, lastStatus: attempt.status, lastError: attempt.error }
    }
  }
}
