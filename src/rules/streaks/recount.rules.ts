import type { Configuration } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { dayIn } from '../../lib/zone'
import type { UserState } from '../state'
import { travelled } from './midnights.rules'
import { type Jump, NO_STREAK, type Pause, type StreakRun, type StreakState } from './streak-state.rules'
import { type Activity, scheduled, streakAsOf, withEvent } from './streaks.rules'
import { termsOf } from './terms.rules'

/** Counts a streak again, event by event. */
export class Recount {
  readonly #config: Configuration
  readonly #user: UserState
  /** The streaks that ended, oldest first. */
  readonly #runs: StreakRun[] = []
  #streak: StreakState
  /** The changes of zone that are not applied yet. */
  readonly #jumps: Jump[]

  /** `pauses` are all pauses that the user ever had, without deleted days. */
  constructor(config: Configuration, user: UserState, pauses: readonly Pause[]) {
    this.#config = config
    this.#user = user
    this.#streak = { ...NO_STREAK, frequency: config.streaks.frequency, epoch: config.streaks.epoch, pauses }
    this.#jumps = [...user.streak.jumps]
  }

  get #terms() {
    // Freezes do not count, and the present goal does for all periods (S9).
    return { ...termsOf(this.#config, this.#user.preferences), freezes: null, goalSince: 0 }
  }

  /** Counts an event. Events must come in order of time. */
  add({ at, ...event }: Activity & { at: Instant }): void {
    // At the moment of a change of zone, the event comes first if it is on the date before the change.
    this.#travel((jump) => jump[0] < at || (jump[0] === at && jump[1] !== event.day))
    this.#settle(event.day, at)
    this.#streak = withEvent(this.#streak, this.#terms, event)
    this.#settle(event.day, at)
  }

  /** Applies the next changes of zone while the condition holds. */
  #travel(wasBefore: (jump: Jump) => boolean): void {
    for (let jump = this.#jumps[0]; jump !== undefined && wasBefore(jump); jump = this.#jumps[0]) {
      this.#jumps.shift()
      const at = instant(jump[0])
      this.#settle(jump[1], at)
      this.#streak = travelled(this.#streak, jump)
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
    this.#travel(() => true)
    this.#settle(today, at)
    const { freezes, born, earned, jumps, altered } = this.#user.streak
    const streak = { ...this.#streak, freezes, born, earned, jumps, altered }
    const terms = termsOf(this.#config, this.#user.preferences)
    return { streak: scheduled(this.#user, streak, terms, today), runs: this.#runs }
  }
}
