import type { Configuration } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import type { Micros } from '../../lib/decimal'
import { dayIn, localDay } from '../../lib/zone'
import type { LocalTime, UserState } from '../state'
import { withReset } from './freezes-pauses-restores.rules'
import { asJudged, travelled } from './midnights.rules'
import {
  type Jump,
  NO_STREAK,
  NO_STREAK_EVENTS,
  type Pause,
  type Reset,
  type StreakEntry,
  type StreakEvent,
  type StreakRun,
  type StreakState,
  termsOf,
} from './streak-state.rules'
import { type Activity, anchored, isStale, lengthOf, scheduled, streakAsOf, withEvent } from './streaks.rules'

/** The effect of a change on a user's streak. */
export type StreakChange = {
  /** Whether the event of this change extended the streak (S2). */
  isExtended: boolean
  /** The difference of its length, which is 0 while the user has switched the streak off. */
  growth: number
  /** The streaks that were lost meanwhile. */
  ended: readonly StreakRun[]
  /** The webhook events that result, in order (W6). */
  streakEvents: readonly StreakEvent[]
  /** Entries of the user's history that are no webhook events, in order (X2). */
  streakEntries?: readonly StreakEntry[]
}

/** The change of a streak that stays as it was. */
export const STREAK_AS_IT_WAS: StreakChange = {
  isExtended: false,
  growth: 0,
  ended: [],
  streakEvents: NO_STREAK_EVENTS,
}

/**
 * The streak's part of a change (E5): settles the streak as of the moment before the change, applies a change
 * of zone (S4, S11) and of preferences (U7), and then counts the event, if there is one. While streaks are
 * off, it does this without webhook events (S10). A new user gets the first freezes (U6).
 */
export function changeStreak(
  config: Configuration,
  before: UserState | null,
  user: UserState,
  { at, utcOffset }: LocalTime,
  event: { metricId: string; value: Micros } | null,
): { user: UserState; change: StreakChange } {
  const terms = termsOf(config, user.preferences)
  const today = localDay(at, utcOffset)
  const { frequency, epoch } = terms
  const begun = { ...NO_STREAK, frequency, epoch, born: today, freezes: terms.freezes?.startCount ?? 0 }
  const known = before === null ? begun : user.streak
  if (isStale(known, terms)) return { user, change: STREAK_AS_IT_WAS }
  const ended: StreakRun[] = []
  const streakEvents: StreakEvent[] = []
  let streak = known
  const settle = (tz: string | null, day: number, its = terms) => {
    const now = streakAsOf({ ...user, streak, profile: { tz } }, its, day, at)
    ended.push(...now.ended)
    streakEvents.push(...now.streakEvents)
    streak = now.streak
  }
  const hasMoved = before !== null && before.profile.tz !== user.profile.tz
  if (hasMoved || (before !== null && before.preferences !== user.preferences)) {
    const from = dayIn(before.profile.tz, at)
    settle(before.profile.tz, from, termsOf(config, before.preferences))
    streak = asJudged(streak, from)
    if (hasMoved) {
      streak = anchored({ ...user, streak, profile: before.profile }, terms)
      streak = travelled(streak, [at, from, today])
    }
  }
  settle(user.profile.tz, today)
  const { run } = streak
  if (event !== null) {
    streak = withEvent(streak, terms, { day: today, ...event })
    settle(user.profile.tz, today)
  }
  const hasGrown = streak.run !== run
  const isAsItWas = streak === known && !hasMoved && before?.preferences === user.preferences
  if (!isAsItWas) streak = scheduled(user, streak, terms, today)
  const growth = lengthOf({ ...user, streak }) - (before === null ? 0 : lengthOf(before))
  const isSwitched = before !== null && isOff(before) !== isOff(user)
  const isAltered = growth !== 0 && !hasGrown && streak.run !== null
  if (isAltered || isSwitched) streak = { ...streak, altered: at }
  return {
    user: streak === user.streak ? user : { ...user, streak },
    change: { isExtended: terms.isOn && hasGrown, growth, ended, streakEvents },
  }
}

const isOff = ({ preferences }: Pick<UserState, 'preferences'>) => preferences.streak.enabled === false

/** Counts a streak again, event by event. */
export class Recount {
  readonly #config: Configuration
  readonly #user: UserState
  /** The streaks that ended, oldest first. */
  readonly #runs: StreakRun[] = []
  #streak: StreakState
  /** The changes of zone and the resets that are not applied yet. */
  readonly #jumps: Jump[]
  readonly #resets: Reset[]

  /** `pauses` are all pauses that the user ever had, without deleted days. */
  constructor(config: Configuration, user: UserState, pauses: readonly Pause[]) {
    this.#config = config
    this.#user = user
    const { frequency, epoch } = config.streaks
    this.#streak = { ...NO_STREAK, frequency, epoch, pauses }
    this.#jumps = [...user.streak.jumps]
    this.#resets = [...user.streak.resets]
  }

  get #terms() {
    // Freezes do not count, and the present goal and days off do for all periods (S9).
    const terms = termsOf(this.#config, this.#user.preferences)
    return { ...terms, freezes: null, goalSince: 0, daysOff: terms.daysOff.slice(-1) }
  }

  /** Counts an event. Events must come in order of time. */
  add({ at, seq, ...event }: Activity & { at: Instant; seq: number }): void {
    this.#reset((reset) => reset[0] < at || (reset[0] === at && reset[2] <= seq))
    this.#travelTo(at, event.day)
    this.#settle(event.day, at)
    this.#streak = withEvent(this.#streak, this.#terms, event)
    this.#settle(event.day, at)
  }

  /** Applies the changes of zone up to a moment. At that moment itself, none that leaves a day. */
  #travelTo(at: Instant, day: number): void {
    this.#travel((jump) => jump[0] < at || (jump[0] === at && jump[1] !== day))
  }

  /** Applies the next resets while the condition holds (S13). */
  #reset(wasBefore: (reset: Reset) => boolean): void {
    for (let reset = this.#resets[0]; reset !== undefined && wasBefore(reset); reset = this.#resets[0]) {
      this.#resets.shift()
      const [time, today, seq] = reset
      const at = instant(time)
      this.#travelTo(at, today)
      this.#settle(today, at)
      const { streak, ended } = withReset(this.#streak, this.#terms, { at, today, seq })
      this.#streak = streak
      this.#runs.push(...ended)
    }
  }

  /** Applies the next changes of zone while the condition holds. */
  #travel(wasBefore: (jump: Jump) => boolean): void {
    for (let jump = this.#jumps[0]; jump !== undefined && wasBefore(jump); jump = this.#jumps[0]) {
      this.#jumps.shift()
      const at = instant(jump[0])
      this.#settle(jump[1], at)
      this.#streak = travelled(asJudged(this.#streak, jump[1]), jump)
      this.#settle(jump[2], at)
    }
  }

  #settle(day: number, at: Instant): void {
    const user = { ...this.#user, streak: this.#streak }
    const { streak, ended } = streakAsOf(user, this.#terms, day, at)
    this.#streak = streak
    this.#runs.push(...ended)
  }

  /** The streak as of a moment, with the user's present freezes, and all streaks that ended before it. */
  end(at: Instant): { streak: StreakState; runs: readonly StreakRun[] } {
    const today = dayIn(this.#user.profile.tz, at)
    this.#reset(() => true)
    this.#travel(() => true)
    this.#settle(today, at)
    const { freezes, born, earned, jumps, altered } = this.#user.streak
    const streak = { ...this.#streak, freezes, born, earned, jumps, altered }
    const terms = termsOf(this.#config, this.#user.preferences)
    return { streak: scheduled(this.#user, streak, terms, today), runs: this.#runs }
  }
}
