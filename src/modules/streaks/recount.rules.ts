import type { UserState } from '../../engine/state'
import { micros } from '../../shared/decimal'
import type { Configuration } from '../configuration/configuration'
import { dayIn, extended, scheduled, settled, termsOf, travelled } from './streaks.rules'
import { type Jump, NO_STREAK, type Pause, type StreakRun, type StreakState } from './streaks.state'

/** An event as the log has it: its local day in days since 1970-01-01, its value in millionths. */
export type LoggedEvent = { at: UserState['changed']; day: number; metricId: string; value: number }

/** A streak that is counted anew, event by event. */
export class Recount {
  readonly #config: Configuration
  readonly #user: UserState
  readonly #runs: StreakRun[] = []
  #streak: StreakState
  /** Those that are still to come. */
  readonly #jumps: Jump[]

  /** `pauses` are all that there ever were, as far as they count. */
  constructor(config: Configuration, user: UserState, pauses: readonly Pause[]) {
    this.#config = config
    this.#user = user
    this.#streak = { ...NO_STREAK, frequency: config.streaks.frequency, epoch: config.streaks.epoch, pauses }
    this.#jumps = [...user.streak.jumps]
  }

  get #terms() {
    const { preferences } = this.#user
    // Freezes don't count (S9); while streaks are off they are counted all the same, for when they are on again.
    return {
      ...termsOf(this.#config, preferences),
      isOn: preferences.streak.enabled !== false,
      freezes: null,
    }
  }

  /** Counts an event; they come in order of time. */
  add({ at, day, metricId, value }: LoggedEvent): void {
    this.#travel(at)
    this.#settle(day)
    this.#streak = extended(this.#streak, this.#terms, { at, day, metricId, value: micros(value) }).streak
  }

  /** Takes in the changes of zone up to a moment. */
  #travel(until: number): void {
    for (let jump = this.#jumps[0]; jump !== undefined && jump[0] <= until; jump = this.#jumps[0]) {
      this.#jumps.shift()
      this.#settle(jump[1])
      this.#streak = travelled(this.#streak, this.#terms, jump)
    }
  }

  #settle(day: number): void {
    const { streak, ended } = settled({ ...this.#user, streak: this.#streak }, this.#terms, day)
    this.#streak = streak
    if (ended !== null) this.#runs.push(ended)
  }

  /** The streak as of a moment, with the freezes in hand, and all that ended before it. */
  end(at: number): { streak: StreakState; runs: readonly StreakRun[] } {
    const today = dayIn(this.#user.profile.tz, at)
    this.#travel(at)
    this.#settle(today)
    const { freezes, born, earned, jumps } = this.#user.streak
    const streak = { ...this.#streak, freezes, born, earned, jumps }
    const terms = termsOf(this.#config, this.#user.preferences)
    return { streak: scheduled(this.#user, streak, terms, today), runs: this.#runs }
  }
}
