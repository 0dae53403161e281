import type { FreezeSettings } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { type Aggregation, dayIn, nextPeriod, weekdayOf } from '../../lib/zone'
import { asDayOff, marked } from './history.rules'
import type {
  Jump,
  LiveRun,
  Pause,
  StreakEvent,
  Streaker,
  StreakRun,
  StreakState,
  Terms,
} from './streak-state.rules'

/** The most changes of zone that are kept of a user. Only changes that move the local date count. */
const MOST_JUMPS = 100
/** Of this many local dates in a row, travel spares at most one (S11). */
const SPARED_ONCE_IN = 7

/** The most days by which a change of zone can move the local date back. Zones are at most 26 hours apart. */
export const DAYS_BACK = 2

/** A settled streak after a change of zone. It ends no date, so the streak stays as it is (S11). */
export function travelled(streak: StreakState, [at, from, to]: Jump): StreakState {
  if (from === to) return streak
  return { ...streak, jumps: [...streak.jumps, [at, from, to] as const].slice(-MOST_JUMPS) }
}

/**
 * The day to which the last change of zone led. Later days end at the user's midnight. Earlier ones that had
 * not ended by then end at the first midnight after it (S11).
 */
const arrivalOf = ({ jumps }: Pick<StreakState, 'jumps'>): number =>
  jumps.at(-1)?.[2] ?? Number.NEGATIVE_INFINITY

/**
 * The day before which all days have ended for a user, on a day of the user. Until the first midnight after a
 * change of zone, days to which the user may still come back have not ended (S11).
 */
export const endedBefore = (streak: Pick<StreakState, 'jumps'>, today: number): number =>
  today > arrivalOf(streak) ? today : today - DAYS_BACK

/**
 * A settled streak before the user's zone or preferences change, on a day of the user. The dates that have ended
 * by then are judged for good: by what was in force (S12).
 */
export function asJudged(streak: StreakState, today: number): StreakState {
  if (streak.run === null || streak.run.last >= endedBefore(streak, today)) return streak
  const judged = Math.max(streak.run.judged ?? 0, endedBefore(streak, today))
  return { ...streak, run: { ...streak.run, judged } }
}

/**
 * Whether travel may spare a skipped day. It spares only days of daily streaks, and only if none of the six
 * days before was spared (S4, S11).
 */
const maySpare = (day: number, spared: number | null, frequency: Aggregation): boolean =>
  frequency === 'daily' && (spared === null || day - spared >= SPARED_ONCE_IN)

/** Whether a pause includes a day from `start` up to `end` (S7). `end` is exclusive. */
const isPaused = (pauses: readonly Pause[], start: number, end: number): boolean =>
  pauses.some((pause) => pause.start < end && pause.end >= start)

/** The day at whose first midnight a period ends: later than its own end if travel has skipped that (S11). */
const endOf = (streak: Pick<StreakState, 'jumps'>, start: number, frequency: Aggregation): number =>
  Math.max(nextPeriod(start, frequency), arrivalOf(streak) + 1)

/**
 * Whether a day is off for a user by the list that is in force when it ends (S12). The newest is tried first, for
 * speed, and since a test clock may have been ahead when an older one was replaced.
 */
function isDayOff({ streak, profile: { tz } }: Streaker, day: number, terms: Terms): boolean {
  if (terms.frequency !== 'daily') return false
  const end = endOf(streak, day, 'daily')
  const over = terms.daysOff.findLastIndex(({ until }) => until !== null && end > dayIn(tz, until))
  return terms.daysOff[over + 1]?.days.includes(weekdayOf(day)) === true
}

/**
 * Why a period is not expected to be satisfied, as the kind of the period: it is a day off, or paused, or travel
 * spares it. Null if it is expected. `mayTravel` is whether travel has skipped it and may spare it.
 */
export function reasonToSpare(
  user: Streaker,
  start: number,
  terms: Terms,
  mayTravel = false,
): 'd' | 'p' | 's' | null {
  if (isDayOff(user, start, terms)) return 'd'
  if (isPaused(user.streak.pauses, start, nextPeriod(start, terms.frequency))) return 'p'
  return mayTravel ? 's' : null
}

/** Whether streaks were off at the midnight at which a period ended (S1). */
function wasOff({ streak, profile: { tz } }: Streaker, start: number, { frequency, off }: Terms): boolean {
  const end = endOf(streak, start, frequency)
  return off.some(({ from, to }) => end > dayIn(tz, from) && (to === null || end <= dayIn(tz, to)))
}

/**
 * The periods that end for a user, one after another: freezes are earned and used, and streaks are extended
 * and lost (S2, S3, S7). freezes-pauses-restores.rules.ts has the freezes and pauses that an admin gives.
 */
export class Midnights {
  run: LiveRun | null
  missed: number | null
  spared: number | null
  freezes: number
  earned: StreakState['earned']
  /** The webhook events of these midnights. */
  readonly streakEvents: StreakEvent[] = []
  /** The streaks that ended, oldest first. */
  readonly ended: StreakRun[] = []
  readonly #user: Streaker
  readonly #terms: Terms
  readonly #settings: FreezeSettings | null
  /** The day on which freezes were last earned, or from which the first earning is counted. */
  anchor = 0

  constructor(user: Streaker, terms: Terms) {
    const { streak, created, profile } = user
    this.run = streak.run
    this.missed = streak.missed
    this.spared = streak.spared
    this.freezes = streak.freezes
    this.earned = streak.earned
    this.#user = user
    this.#terms = terms
    const settings = terms.freezes
    this.#settings = settings
    if (settings === null || settings.autoEarnInterval === null) return
    if (this.earned !== null && this.earned[1] === settings.since) {
      this.anchor = this.earned[0]
      return
    }
    const since = dayIn(profile.tz, settings.since)
    // Freezes are counted from the creation (S7). Intervals that ended before the setting was on earn
    // nothing.
    const first = streak.born ?? dayIn(profile.tz, created)
    const passed = Math.floor((Math.max(since, first) - first) / settings.autoEarnInterval)
    this.anchor = first + passed * settings.autoEarnInterval
  }

  /** Extends the streak by a period that is satisfied (S2). Earlier periods end by that (S11). */
  extend(start: number, today: number, at: Instant): void {
    this.endUntil(start, today)
    this.earnUntil(start)
    const { run } = this
    const before = run ?? { started: start, first: start, history: '', length: 0 }
    const length = before.length + 1
    this.run = { ...before, last: start, history: marked(before.history, 'e'), length, extended: at }
    this.streakEvents.push({ kind: run === null ? 'started' : 'extended', length })
  }

  /** Marks the last period if it has ended before a day, was satisfied, and was a day off (S12). */
  #markDayOff(day: number): void {
    const { run } = this
    if (run === null || nextPeriod(run.last, this.#terms.frequency) > day) return
    if (run.last < (run.judged ?? Number.NEGATIVE_INFINITY)) return
    if (!isDayOff(this.#user, run.last, this.#terms) || wasOff(this.#user, run.last, this.#terms)) return
    this.run = { ...run, history: asDayOff(run.history) }
  }

  /** Ends the open periods before a day: one that is not expected or a freeze keeps the streak, or it is lost (S3). */
  endUntil(day: number, today: number): void {
    this.#markDayOff(day)
    const { streak } = this.#user
    const { frequency } = this.#terms
    const arrival = arrivalOf(streak)
    while (this.run !== null) {
      const start = nextPeriod(this.run.last, frequency)
      const end = nextPeriod(start, frequency)
      if (end > day) return
      this.earnUntil(end)
      const isSkipped = end <= arrival || end > today
      const mayTravel = isSkipped && maySpare(start, this.spared, frequency)
      const reason = reasonToSpare(this.#user, start, this.#terms, mayTravel)
      if (wasOff(this.#user, start, this.#terms)) this.#keep(start, 's')
      else if (reason !== null) {
        this.#keep(start, reason)
        if (reason === 's') this.spared = start
      } else if (this.#settings !== null && this.freezes > 0) {
        this.freezes -= 1
        this.#keep(start, 'f')
        this.streakEvents.push({ kind: 'freeze_consumed', freezes: this.freezes })
      } else this.#lose(start)
    }
  }

  #keep(start: number, kind: 'd' | 'f' | 'p' | 's'): void {
    const { run } = this
    if (run !== null) this.run = { ...run, last: start, history: marked(run.history, kind) }
  }

  #lose(start: number): void {
    if (this.run === null) return
    const { started, first, last, history, length } = this.run
    this.ended.push({ started, first, last, history, length })
    this.streakEvents.push({ kind: 'lost', length })
    this.missed = start
    this.run = null
  }

  /** Earns the freezes that are due up to the midnight at which a day begins (S7). */
  earnUntil(day: number): void {
    if (this.#settings === null || this.#settings.autoEarnInterval === null) return
    const { autoEarnInterval: interval, autoEarnAmount: amount, maxCount: max } = this.#settings
    const times = Math.floor((day - this.anchor) / interval)
    if (times <= 0) return
    this.anchor += times * interval
    this.earned = [this.anchor, this.#settings.since]
    const before = this.freezes
    this.freezes = Math.max(before, Math.min(max, before + times * (amount ?? 0)))
    const gained = this.freezes - before
    if (gained > 0) this.streakEvents.push({ kind: 'freeze_earned', earned: gained, freezes: this.freezes })
  }

  /** The day at whose first midnight the next freeze is earned (S7). Null if none will be. */
  nextEarning(today: number): number | null {
    if (this.#settings === null || this.#settings.autoEarnInterval === null) return null
    const { autoEarnInterval: interval, maxCount: max } = this.#settings
    if (this.freezes >= max) return null
    return this.anchor + Math.max(1, Math.floor((today - this.anchor) / interval) + 1) * interval
  }
}
