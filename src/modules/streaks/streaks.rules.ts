import type { UserState } from '../../engine/state'
import { type Aggregation, civilDateOfDay } from '../../shared/civil'
import { type Instant, instant } from '../../shared/clock'
import type { Micros } from '../../shared/decimal'
import { LAST_DAY, nextPeriod, periodStart } from '../../shared/periods'
import { offsetMinutes, startOfDay } from '../../shared/zone'
import type { Configuration } from '../configuration/configuration'
import { marked } from './marks'
import { NO_NOTICES, type StreakNotice } from './notices'
import type { FreezeSettings, StreakSettings } from './streaks.settings'
import type { Jump, LiveRun, Pause, StreakRun, StreakState } from './streaks.state'

/** The most jumps between dates that are remembered of a traveller. */
const MOST_JUMPS = 50
/** Periods whose sums are kept: a traveller to the west may come back to a date. */
const MOST_SUMS = 3

/** What of a user decides on the streak. */
export type Streaker = Pick<UserState, 'created' | 'streak' | 'preferences'> & {
  profile: { tz: string | null }
}

/** A streak after something happened, the run that ended on the way, if one did, and what is to be told of it. */
export type Settled = { streak: StreakState; ended: StreakRun | null; notices: readonly StreakNotice[] }

/** How a user's streak is counted: the tenant's settings, with what the user may set differently (S1, U7). */
export type Terms = {
  /** Whether the user's streak is counted: the tenant's are, and the user has not switched it off. */
  isOn: boolean
  frequency: Aggregation
  epoch: number
  metrics: StreakSettings['metrics']
  mode: 'ALL' | 'OR'
  freezes: FreezeSettings | null
  off: StreakSettings['off']
}

/** The terms of a user. Deleted metrics have no share (G9). */
export function termsOf(
  { streaks, metrics }: Pick<Configuration, 'streaks' | 'metrics'>,
  { streak: own }: UserState['preferences'],
): Terms {
  const alive = (list: StreakSettings['metrics']) =>
    list.filter(({ metricId }) => metrics.some(({ id }) => id === metricId))
  const tenants = alive(streaks.metrics)
  const isTheirs = ({ metricId }: { metricId: string }) =>
    tenants.length === 0 || tenants.some((one) => one.metricId === metricId)
  const owns = streaks.personalisation ? alive(own.metrics ?? []).filter(isTheirs) : []
  const mode = (streaks.personalisation && own.evaluationMode) || streaks.evaluationMode
  return {
    isOn: streaks.enabled && own.enabled !== false,
    frequency: streaks.frequency,
    epoch: streaks.epoch,
    metrics: owns.length > 0 ? owns : tenants,
    mode: mode === 'OR' ? 'OR' : 'ALL',
    freezes: streaks.freezes,
    off: streaks.off,
  }
}

/** Whether a streak is of another frequency than the tenant's, or of before a switch, so that only the log can tell it (S9). */
export const isStale = (
  { frequency, epoch }: StreakState,
  terms: Pick<Terms, 'frequency' | 'epoch'>,
): boolean => frequency !== null && (frequency !== terms.frequency || epoch !== terms.epoch)

/** The local day of a moment in a user's zone, as days since 1970-01-01. */
export const dayIn = (tz: string | null, at: number): number => {
  const utcOffset = offsetMinutes(tz ?? 'UTC', instant(at))
  return Math.floor((at + utcOffset * 60_000) / 86_400_000)
}

/** The first day of the first period that a run doesn't know of. */
const afterRun = (run: StreakRun, { frequency }: Pick<Terms, 'frequency'>) => nextPeriod(run.last, frequency)

/** Whether a pause covers a day from `start` up to (not including) `end`. */
const isPaused = (pauses: readonly Pause[], start: number, end: number): boolean =>
  pauses.some((pause) => pause.start < end && pause.end >= start)

/** Whether streaks were off when the period before a day ended (S1). */
const wasOff = ({ profile: { tz } }: Streaker, end: number, { off }: Terms): boolean =>
  off.some(({ from, to }) => end > dayIn(tz, from) && (to === null || end <= dayIn(tz, to)))

/**
 * A user's streak as it is on a local day: freezes earned, and each period that ended unsatisfied before that day judged in order
 * (S3, S7). While streaks are off nothing is missed, and freezes are earned all the same. Answers the very same streak where nothing
 * came of it.
 */
export function settled(user: Streaker, terms: Terms, today: number): Settled {
  const { streak } = user
  const hand = new Hand(user, terms)
  const { frequency } = terms
  let run = streak.run
  let { missed } = streak
  let ended: StreakRun | null = null
  const isKnown = !isStale(streak, terms)
  while (run !== null && isKnown) {
    const start = afterRun(run, terms)
    const end = nextPeriod(start, frequency)
    if (end > today) break
    hand.earnUntil(end)
    if (wasOff(user, end, terms)) run = kept(run, start, 's')
    else if (isPaused(streak.pauses, start, end)) run = kept(run, start, 'p')
    else if (hand.consume()) run = kept(run, start, 'f')
    else {
      ended = run
      missed = start
      run = null
      hand.notices.push({ kind: 'lost', length: ended.length })
    }
  }
  hand.earnUntil(today)
  const now = periodStart(today, frequency)
  const pauses =
    isKnown && streak.pauses.some((pause) => pause.end < now)
      ? streak.pauses.filter((pause) => pause.end >= now)
      : streak.pauses
  const { freezes, earned } = hand
  const isSame =
    run === streak.run && freezes === streak.freezes && earned === streak.earned && pauses === streak.pauses
  return {
    streak: isSame ? streak : { ...streak, run, freezes, earned, missed, pauses },
    ended,
    // Whoever has switched streaks off hears nothing of them (U7).
    notices: terms.isOn && hand.notices.length > 0 ? hand.notices : NO_NOTICES,
  }
}

const kept = (run: LiveRun, start: number, mark: 'f' | 'p' | 's'): LiveRun => ({
  ...run,
  last: start,
  marks: marked(run.marks, mark),
})

/** Freezes in hand while midnights pass. */
class Hand {
  freezes: number
  earned: StreakState['earned']
  /** What is to be told of these midnights. */
  readonly notices: StreakNotice[] = []
  readonly #settings: FreezeSettings | null
  /** The day of the last earning, or the one from which the next is counted. */
  #anchor = 0

  get anchor(): number {
    return this.#anchor
  }

  constructor({ streak, created, profile }: Streaker, { freezes: settings }: Terms) {
    this.freezes = streak.freezes
    this.earned = streak.earned
    this.#settings = settings
    if (settings === null || settings.autoEarnInterval === null) return
    if (this.earned !== null && this.earned[1] === settings.since) {
      this.#anchor = this.earned[0]
      return
    }
    const since = dayIn(profile.tz, settings.since)
    // Counted from the creation (S7); what would have been earned before freezes were earned so is not had.
    const first = streak.born ?? dayIn(profile.tz, created)
    const passed = Math.floor((Math.max(since, first) - first) / settings.autoEarnInterval)
    this.#anchor = first + passed * settings.autoEarnInterval
  }

  /** Earns what is due up to the midnight with which a day begins (S7). */
  earnUntil(day: number): void {
    if (this.#settings === null || this.#settings.autoEarnInterval === null) return
    const { autoEarnInterval: interval, autoEarnAmount: amount, max } = this.#settings
    const times = Math.floor((day - this.#anchor) / interval)
    if (times <= 0) return
    this.#anchor += times * interval
    this.earned = [this.#anchor, this.#settings.since]
    const before = this.freezes
    this.freezes = Math.max(before, Math.min(max, before + times * amount))
    const gained = this.freezes - before
    if (gained > 0) this.notices.push({ kind: 'freeze_earned', earned: gained, freezes: this.freezes })
  }

  /** The day with whose midnight the next freeze is earned; null where none will be. */
  nextEarning(today: number): number | null {
    if (this.#settings === null || this.#settings.autoEarnInterval === null) return null
    const { autoEarnInterval: interval, max } = this.#settings
    if (this.freezes >= max) return null
    return this.#anchor + Math.max(1, Math.floor((today - this.#anchor) / interval) + 1) * interval
  }

  /** Takes a freeze; false where there is none, or freezes are off. */
  consume(): boolean {
    if (this.#settings === null || this.freezes === 0) return false
    this.freezes -= 1
    this.notices.push({ kind: 'freeze_consumed', freezes: this.freezes })
    return true
  }
}

/** A settled streak that remembers from which day of the present zone freezes are earned: for when its user leaves that zone (S7). */
export function anchored(user: Streaker, terms: Terms): StreakState {
  const { streak } = user
  if (terms.freezes === null || terms.freezes.autoEarnInterval === null) return streak
  return { ...streak, earned: [new Hand(user, terms).anchor, terms.freezes.since] }
}

/** The first day of the period at whose end the streak is lost or kept: the first that is not satisfied, nor covered by a pause (S5). */
export function endangered({ run, pauses }: StreakState, terms: Terms, today: number): number {
  const { frequency } = terms
  const current = periodStart(today, frequency)
  let start = run === null ? current : Math.max(current, afterRun(run, terms))
  let end = nextPeriod(start, frequency)
  while (isPaused(pauses, start, end)) {
    start = end
    end = nextPeriod(start, frequency)
  }
  return start
}

/** A settled streak with the moment at which something will happen to it by itself: a period's end, or a freeze that is earned. */
export function scheduled(user: Streaker, streak: StreakState, terms: Terms, today: number): StreakState {
  const due = dueOf({ ...user, streak }, terms, today)
  return due === streak.due ? streak : { ...streak, due }
}

function dueOf(user: Streaker, terms: Terms, today: number): Instant | null {
  const { streak, profile } = user
  const isAlive = terms.isOn && streak.run !== null
  const end = !isAlive ? null : nextPeriod(endangered(streak, terms, today), terms.frequency)
  const earning = terms.freezes === null ? null : new Hand(user, terms).nextEarning(today)
  const day = Math.min(end ?? Number.POSITIVE_INFINITY, earning ?? Number.POSITIVE_INFINITY)
  return day > LAST_DAY ? null : startOfDay(civilDateOfDay(day), profile.tz ?? 'UTC')
}

/** An activity that may extend a streak. */
export type Activity = { at: Instant; day: number; metricId: string; value: Micros }

/** A settled streak after an event: extended where the event satisfies a period that wasn't (S2). */
export function extended(
  streak: StreakState,
  terms: Terms,
  { at, day, metricId, value }: Activity,
): { streak: StreakState; isExtended: boolean } {
  const period = periodStart(day, terms.frequency)
  const { run } = streak
  const isClosed = period <= Math.max(run?.last ?? period - 1, streak.missed ?? period - 1)
  if (!terms.isOn || value === 0 || isClosed) return { streak, isExtended: false }
  const sums = summed(streak.sums, period, metricId, value)
  const { frequency, epoch } = terms
  if (!isSatisfied(terms, new Map(sums.find(([start]) => start === period)?.[1]), value)) {
    return { streak: { ...streak, frequency, epoch, sums }, isExtended: false }
  }
  const grown: LiveRun =
    run === null
      ? { started: period, first: period, last: period, marks: '1e', length: 1, extended: at }
      : { ...run, last: period, marks: marked(run.marks, 'e'), length: run.length + 1, extended: at }
  const later = sums.filter(([start]) => start > period)
  return { streak: { ...streak, frequency, epoch, run: grown, sums: later }, isExtended: true }
}

function summed(
  sums: StreakState['sums'],
  period: number,
  metricId: string,
  value: number,
): StreakState['sums'] {
  const own = new Map(sums.find(([start]) => start === period)?.[1])
  own.set(metricId, (own.get(metricId) ?? 0) + value)
  const others = sums.filter(([start]) => start !== period)
  return [...others, [period, [...own]] as const].sort(([a], [b]) => a - b).slice(-MOST_SUMS)
}

/** Whether a period's sums are enough, after an event of so many millionths (S1, S2). */
function isSatisfied({ metrics, mode }: Terms, sums: ReadonlyMap<string, number>, value: number): boolean {
  if (metrics.length === 0) return value > 0
  const isMet = ({ metricId, threshold }: { metricId: string; threshold: number }) =>
    (sums.get(metricId) ?? 0) >= threshold
  return mode === 'OR' ? metrics.some(isMet) : metrics.every(isMet)
}

/**
 * A settled streak after its user has come, by a change of zone at a moment, from one date to a later one: what ended in between is not
 * missed (S4).
 */
export function travelled(streak: StreakState, terms: Terms, [at, from, to]: Jump): StreakState {
  if (to <= from) return streak
  const current = periodStart(to, terms.frequency)
  let { run } = streak
  const isKnown = !isStale(streak, terms)
  while (run !== null && isKnown && nextPeriod(afterRun(run, terms), terms.frequency) <= current) {
    run = kept(run, afterRun(run, terms), 's')
  }
  return { ...streak, run, jumps: [...streak.jumps, [at, from, to] as const].slice(-MOST_JUMPS) }
}

/** A settled streak that its user has switched off: its length is 0 from then on (U7). */
export function abandoned(streak: StreakState): StreakState {
  return { ...streak, run: null, sums: [] }
}
