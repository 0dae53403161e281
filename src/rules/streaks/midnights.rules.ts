import type { FreezeSettings } from '../../configuration/settings'
import { dayIn } from '../../lib/zone'
import type { StreakEvent } from './streak-events.types'
import type { StreakRun, StreakState } from './streak-state.types'
import type { Streaker, Terms } from './terms.rules'

/**
 * The midnights that pass for a user, one after another: freezes are earned and used, and streaks end
 * (S3, S7). freezes-pauses-restores.rules.ts has the freezes and pauses that an admin gives.
 */
export class Midnights {
  freezes: number
  earned: StreakState['earned']
  /** The webhook events of these midnights. */
  readonly streakEvents: StreakEvent[] = []
  /** The streaks that ended, oldest first. */
  readonly ended: StreakRun[] = []
  /** The last period that took a freeze or ended the streak. */
  notified: number | null = null
  /** The last day whose earned freezes have an event. */
  notifiedEarning: number | null
  /** The last period for which an event was sent before. A journey has brought the user back to it (S11). */
  readonly #notifiedBefore: number | null
  readonly #settings: FreezeSettings | null
  /** The day on which freezes were last earned, or from which the first earning is counted. */
  #anchor = 0

  get anchor(): number {
    return this.#anchor
  }

  constructor({ streak, created, profile }: Streaker, { freezes: settings }: Terms) {
    this.freezes = streak.freezes
    this.earned = streak.earned
    this.#notifiedBefore = streak.notified
    this.notifiedEarning = streak.notifiedEarning
    this.#settings = settings
    if (settings === null || settings.autoEarnInterval === null) return
    if (this.earned !== null && this.earned[1] === settings.since) {
      this.#anchor = this.earned[0]
      return
    }
    const since = dayIn(profile.tz, settings.since)
    // Freezes are counted from the creation (S7). Intervals that ended before the setting was on earn
    // nothing.
    const first = streak.born ?? dayIn(profile.tz, created)
    const passed = Math.floor((Math.max(since, first) - first) / settings.autoEarnInterval)
    this.#anchor = first + passed * settings.autoEarnInterval
  }

  /**
   * Earns the freezes that are due up to the midnight at which a day begins (S7). An earning that a journey
   * has caused and undone comes again without an event (S11, W6).
   */
  earnUntil(day: number): void {
    const sent = this.notifiedEarning
    if (sent !== null && this.#anchor < sent && sent < day) this.earnUntil(sent)
    if (this.#settings === null || this.#settings.autoEarnInterval === null) return
    const { autoEarnInterval: interval, autoEarnAmount: amount, max } = this.#settings
    const times = Math.floor((day - this.#anchor) / interval)
    if (times <= 0) return
    this.#anchor += times * interval
    this.earned = [this.#anchor, this.#settings.since]
    const before = this.freezes
    this.freezes = Math.max(before, Math.min(max, before + times * amount))
    const gained = this.freezes - before
    if (gained === 0 || (sent !== null && this.#anchor <= sent)) return
    this.streakEvents.push({ kind: 'freeze_earned', earned: gained, freezes: this.freezes })
    this.notifiedEarning = this.#anchor
  }

  /** The day at whose first midnight the next freeze is earned (S7). Null if none will be. */
  nextEarning(today: number): number | null {
    if (this.#settings === null || this.#settings.autoEarnInterval === null) return null
    const { autoEarnInterval: interval, max } = this.#settings
    if (this.freezes >= max) return null
    return this.#anchor + Math.max(1, Math.floor((today - this.#anchor) / interval) + 1) * interval
  }

  /** Uses a freeze for a period (S3, S7). Returns false if there is none, or if freezes are off. */
  consume(period: number): boolean {
    if (this.#settings === null || this.freezes === 0) return false
    this.freezes -= 1
    this.#addEvent(period, { kind: 'freeze_consumed', freezes: this.freezes })
    return true
  }

  /** Ends a streak because of a missed period (S3). */
  lose({ started, first, last, history, length }: StreakRun, period: number): void {
    this.ended.push({ started, first, last, history, length })
    this.#addEvent(period, { kind: 'lost', length })
  }

  /** Adds the event of a period, unless that period had one already: there is one for each period (W6). */
  #addEvent(period: number, streakEvent: StreakEvent): void {
    this.notified = period
    if (this.#notifiedBefore === null || period > this.#notifiedBefore) this.streakEvents.push(streakEvent)
  }
}
