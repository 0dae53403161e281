import { DAY, MINUTE, offsetAt } from './calendar.oracle'
import type { ChangeInput, Status, View } from './leaderboards.oracle'
import { bounded, FARTHEST, millionths } from './points.oracle'

/** The passed attributes and zone of a user. Undefined keeps the zone, null removes it. */
export type Passed = { attributes: Readonly<Record<string, string | null>>; tz: string | null | undefined }

/**
 * A points system with three triggers, active from the beginning: one that gives, one that takes, one that
 * ticks.
 */
export type Economy = {
  max: number | null
  gain: { metric: string; threshold: number; points: number }
  price: { metric: string; threshold: number; points: number }
  tick: {
    unit: 'hours' | 'days'
    interval: number
    points: number
    /** The required value of `team`. Null if all users get the award. */
    team: string | null
  }
}

export const POINTS = 'xp'

type User = {
  zone: string
  attributes: Record<string, string>
  totals: Map<string, bigint>
  highest: Map<string, bigint>
  points: bigint
}

const HOUR = 60 * MINUTE
/** Keeps the log of a small world, awards included (E1, E8, P1, P4, P6, U2), from the rules alone. */
export class Ledger {
  readonly log: ChangeInput[] = []
  now: number
  private readonly begins: number
  private readonly economy: Economy
  private readonly users = new Map<string, User>()

  constructor(begins: number, economy: Economy) {
    this.now = begins
    this.begins = begins
    this.economy = economy
  }

  get view(): View {
    return { log: this.log, now: this.now }
  }

  /** The zone of a user. Undefined if the user does not exist. */
  zoneOf(id: string): string | undefined {
    return this.users.get(id)?.zone
  }

  identify(id: string, { attributes, tz }: Passed): User {
    const fresh: User = { zone: 'UTC', attributes: {}, totals: new Map(), highest: new Map(), points: 0n }
    const user = this.users.get(id) ?? fresh
    this.users.set(id, user)
    if (tz !== undefined) user.zone = tz ?? 'UTC'
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null) delete user.attributes[key]
      else user.attributes[key] = value
    }
    this.log.push({ at: this.now, kind: 'profile', user: id, attributes, tz })
    return user
  }

  /** False if the event is refused. Then nothing changes. */
  event(id: string, passed: Passed, metric: string, value: string): boolean {
    const amount = millionths(value)
    const total = (this.users.get(id)?.totals.get(metric) ?? 0n) + amount
    if (total > FARTHEST || total < -FARTHEST) return false
    const user = this.identify(id, passed)
    user.totals.set(metric, total)
    this.change(id, user, metric, amount, this.now)
    const before = user.highest.get(metric) ?? 0n
    const after = total > before ? total : before
    user.highest.set(metric, after)
    for (const trigger of [this.economy.gain, this.economy.price]) {
      if (trigger.metric !== metric) continue
      const threshold = BigInt(trigger.threshold) * 1_000_000n
      this.award(id, user, BigInt(trigger.points) * (after / threshold - before / threshold), this.now)
    }
    return true
  }

  /** Moves the clock, and runs the ticks on the way, in order. */
  moveTo(to: number): void {
    const { unit, interval, points, team } = this.economy.tick
    const step = interval * (unit === 'hours' ? HOUR : DAY)
    let due = this.begins + (Math.floor((this.now - this.begins) / step) + 1) * step
    for (; due <= to; due += step) {
      for (const [id, user] of this.users) {
        if (team === null || user.attributes.team === team) this.award(id, user, BigInt(points), due)
      }
    }
    this.now = to
  }

  board(board: string, status: Status, max: number): void {
    this.log.push({ at: this.now, kind: 'board', board, status, max })
  }

  /** P6: a rise stops at the cap, a fall stops at zero. A change of 0 is not an award. */
  private award(id: string, user: User, points: bigint, at: number): void {
    const total = bounded(user.points, user.points + points, this.economy.max)
    if (total === user.points) return
    this.change(id, user, POINTS, (total - user.points) * 1_000_000n, at)
    user.points = total
  }

  private change(id: string, { zone }: User, of: string, amount: bigint, at: number): void {
    this.log.push({ at, kind: 'change', user: id, of, millionths: amount, offset: offsetAt(zone, at) })
  }
}
