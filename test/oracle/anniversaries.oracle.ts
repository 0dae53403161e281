/**
 * Which instant completes which anniversary, and whether silently (A7), written from the rule alone. Imports nothing
 * from the service.
 */
import { DAY, dateIn, MINUTE, midnight, plusMonths } from './calendar.oracle'

const QUARTER = 15 * MINUTE

/** An achievement: after how many years, and the plan that the user must have; null for any. */
export type OracleAnniversary = { key: string; years: number; plan: string | null }

/** A completion: its moment, and whether it came without messages. */
export type OracleCompletion = { key: string; at: number; isSilent: boolean }

/** One user. Actions happen at the present moment, and `moveTo` lets time pass until a later one. */
export class AnniversaryOracle {
  readonly completed: OracleCompletion[] = []
  readonly #active: OracleAnniversary[] = []
  #now: number
  #signUpDate: string | null = null
  #zone = 'UTC'
  #plan = 'free'

  constructor(now: number) {
    this.#now = now
  }

  moveTo(to: number): void {
    const dates = [...new Set(this.#active.flatMap((one) => this.#dateOf(one) ?? []))]
    for (const { date, at } of dates.map((date) => ({ date, at: this.#begins(date, to) })).sort(byMoment))
      if (at !== null) this.#complete(at, false, (other) => other === date)
    this.#now = to
  }

  activate(one: OracleAnniversary): void {
    if (this.#active.includes(one)) return
    this.#active.push(one)
    this.#complete(this.#now, true, (date, other) => other === one && date <= this.#today())
  }

  signUp(date: string | null): void {
    const isNew = date !== this.#signUpDate
    this.#signUpDate = date
    if (isNew) this.#complete(this.#now, true, (other) => other <= this.#today())
  }

  move(zone: string): void {
    const left = dateIn(this.#zone, this.#now - QUARTER)
    const isNew = zone !== this.#zone
    this.#zone = zone
    if (isNew) this.#complete(this.#now, false, (date) => left < date && date <= this.#today())
  }

  buy(plan: string): void {
    this.#plan = plan
  }

  event(): void {
    this.#complete(this.#now, false, (date) => date <= dateIn(this.#zone, this.#now - QUARTER))
  }

  #today = () => dateIn(this.#zone, this.#now)

  #dateOf({ years }: OracleAnniversary): string | null {
    return this.#signUpDate === null ? null : plusMonths(this.#signUpDate, 12 * years)
  }

  /** The first moment after now, up to `to`, at which a date is new on the user's clock. */
  #begins(date: string, to: number): number | null {
    for (let at = midnight(date) - DAY; at <= midnight(date) + DAY; at += QUARTER)
      if (at > this.#now && at <= to && dateIn(this.#zone, at) === date)
        return dateIn(this.#zone, at - QUARTER) < date ? at : null
    return null
  }

  #complete(at: number, isSilent: boolean, isMeant: (date: string, one: OracleAnniversary) => boolean): void {
    for (const one of this.#active) {
      const date = this.#dateOf(one)
      if (date === null || !isMeant(date, one)) continue
      if (one.plan !== null && one.plan !== this.#plan) continue
      if (!this.completed.some(({ key }) => key === one.key))
        this.completed.push({ key: one.key, at, isSilent })
    }
  }
}

const byMoment = (a: { at: number | null }, b: { at: number | null }) => (a.at ?? 0) - (b.at ?? 0)
