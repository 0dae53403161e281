import fc from 'fast-check'
import { expect } from 'vitest'
import * as z from 'zod'
import {
  completionsOf,
  metricOf,
  type OracleUser,
  overviewOf,
  pointsOf,
  withoutZeros,
} from '../../oracle/analytics.oracle'
import { readable } from '../readable'
import { START } from '../time'
import { moveAll, NAMES, weigh } from './databases-moves'
import { at, newTenant, rowsEverywhere, type TestTenant, until } from './harness'
import { iidOf } from './stored-users'

/*
 * Random worlds for the analytics: users in several zones who travel, around a change of clocks, with events,
 * batches, ticks, corrections, completions, restored streaks, switches of the streak, erasures, a renamed
 * key, a deleted metric, an archived achievement, and a test clock that goes back. With several databases,
 * users move between them.
 */

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
const ZONES = ['America/New_York', 'Europe/Berlin', 'Asia/Tokyo', 'Pacific/Kiritimati', 'Etc/GMT+12']
/** The last one has no trigger. It is deleted in some worlds. */
const METRICS = ['m0', 'm1', 'm2'] as const
const SYSTEMS = ['xp', 'coins'] as const
const LEVELS = [
  { key: 'none', points: 0 },
  { key: 'some', points: 12 },
  { key: 'many', points: 40 },
]

type Sent = { user: number; metric: (typeof METRICS)[number]; value: number; zone: number | null }
export type Step =
  | ({ do: 'event' } & Sent)
  | { do: 'batch'; events: Sent[] }
  | { do: 'travel'; user: number; zone: number }
  | { do: 'void'; nth: number }
  | { do: 'adjust'; user: number; amount: number }
  | { do: 'complete'; user: number }
  | { do: 'revoke'; user: number; points: boolean }
  | { do: 'switch'; user: number; enabled: boolean }
  | { do: 'restore'; user: number }
  | { do: 'erase'; user: number }
  | { do: 'rename' }
  | { do: 'remove' }
  | { do: 'move'; weights: Record<string, number> }
  | { do: 'wait'; hours: number }
  | { do: 'back'; hours: number }

const user = fc.nat({ max: 4 })
const zone = fc.nat({ max: ZONES.length - 1 })
const sent = fc.record({
  user,
  metric: fc.constantFrom(...METRICS),
  value: fc.integer({ min: -3, max: 9 }),
  zone: fc.option(zone, { freq: 2 }),
})
/** Weights by which one database loses its users, or by which it gets all of them, or none. */
const weights = fc.constantFrom(
  {},
  ...NAMES.flatMap((name) => [
    { [name]: 0 },
    Object.fromEntries(NAMES.map((one) => [one, one === name ? 1 : 0])),
  ]),
)
const events = fc.array(sent, { minLength: 1, maxLength: 4 })
const hours = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(24, 24 * 7, 24 * 29))
const is = fc.constant
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: NAMES.length === 1 ? 0 : 3, arbitrary: fc.record({ do: is('move'), weights }) },
  { weight: 10, arbitrary: sent.map((event) => ({ do: 'event' as const, ...event })) },
  { weight: 2, arbitrary: fc.record({ do: is('batch'), events }) },
  { weight: 3, arbitrary: fc.record({ do: is('travel'), user, zone }) },
  { weight: 3, arbitrary: fc.record({ do: is('void'), nth: fc.nat({ max: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ do: is('adjust'), user, amount: fc.constantFrom(-15, -2, 4, 30) }) },
  { weight: 2, arbitrary: fc.record({ do: is('complete'), user }) },
  { weight: 1, arbitrary: fc.record({ do: is('revoke'), user, points: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: is('switch'), user, enabled: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: is('restore'), user }) },
  { weight: 1, arbitrary: fc.record({ do: is('erase'), user }) },
  { weight: 1, arbitrary: fc.record({ do: is('rename') }) },
  { weight: 1, arbitrary: fc.record({ do: is('remove') }) },
  { weight: 1, arbitrary: fc.record({ do: is('back'), hours: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 8, arbitrary: fc.record({ do: is('wait'), hours }) },
)
export const plans: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' })

/** The local day of a moment in a zone. */
export const dayIn = (zone: string, moment: number) =>
  Date.parse(new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(moment)) / DAY

/** Noon in UTC, two days before the next change of clocks in New York or Berlin. */
export function beforeClocksChange(): number {
  const offset = (zone: string, moment: number) =>
    new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).format(moment).slice(-9)
  const noon = START + 3 * DAY
  for (let moment = noon; ; moment += DAY)
    for (const zone of ZONES.slice(0, 2))
      if (offset(zone, moment) !== offset(zone, moment - DAY)) return moment - 2 * DAY
}

const local = (moment: number, offset: number) => Math.floor((moment + offset * 60_000) / DAY)

const Streaks = z.array(z.object({ userId: z.string(), streakLength: z.number() }))
const EventRow = z.object({
  user: z.string(),
  id: z.string(),
  metric_id: z.string(),
  at: z.number(),
  value: z.number(),
  utc_offset: z.number(),
})
const AwardRow = z.object({
  user: z.string(),
  system_id: z.string(),
  at: z.number(),
  awarded: z.number(),
  utc_offset: z.number(),
  trigger_id: z.string().nullable(),
})
const Completions = z.array(z.tuple([z.string(), z.string(), z.number(), z.number()]))
const UserRow = z.object({ id: z.string(), iid: z.string(), control: z.number(), achievements: z.string() })

/** A world: a tenant, and what its oracle knows beside the tables. */
export class AnalyticsWorld {
  readonly tenant: TestTenant
  /** The first keys of resources, by id. The oracle knows resources by these. */
  readonly #keys = new Map<string, string>()
  /** The present keys of renamed resources, by first key. */
  readonly #renamed = new Map<string, string>()
  readonly #metrics = new Set<string>(METRICS)
  /** By internal id: the local day of the creation, by the zone of the call that created the user. */
  readonly #created = new Map<string, number>()
  /** By internal id: the users as the last pass has seen them, and erased users. */
  #known = new Map<string, OracleUser>()
  readonly #erased: OracleUser[] = []
  readonly #zones = new Map<number, string>()
  /** The latest moment from which the clock was moved back. */
  #latest = 0

  constructor(tenant: TestTenant) {
    this.tenant = tenant
  }

  /** A world whose clock shows a moment. */
  static async begin(moment: number): Promise<AnalyticsWorld> {
    // Earlier worlds rest, so that the clock moves quickly.
    await rowsEverywhere("UPDATE tenants SET status = 'archived'")
    await weigh({})
    const tenant = await newTenant()
    await tenant.clock('DELETE')
    await tenant.clock('PUT', { now: new Date(moment).toISOString() })
    const world = new AnalyticsWorld(tenant)
    await world.#configure()
    return world
  }

  async #configure(): Promise<void> {
    const { tenant } = this
    await tenant.admin('PATCH', '/settings', { experimentation: { controlRatio: 50 } })
    for (const key of METRICS) this.#keys.set(await tenant.metric(key), key)
    for (const key of SYSTEMS) this.#keys.set(await tenant.create('/points', { key, name: key }), key)
    for (const level of LEVELS)
      this.#keys.set(await tenant.create('/points/xp/levels', { ...level, name: level.key }), level.key)
    const [XP, COINS] = ['/points/xp/triggers', '/points/coins/triggers']
    for (const [path, item] of [
      ['/achievements', { key: 'done', name: 'Done', trigger: 'api' }],
      ['/achievements', { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'm1', metricValue: 10 }],
      [XP, { key: 'five', type: 'metric', metricKey: 'm0', metricThreshold: 5, points: 3 }],
      [XP, { key: 'streak', type: 'streak', streakLength: 2, points: 4 }],
      [XP, { key: 'done', type: 'achievement', achievementKey: 'done', points: 9 }],
      [XP, { key: 'time', type: 'time', timeUnit: 'hours', timeInterval: 11, points: -1 }],
      [COINS, { key: 'coin', type: 'metric', metricKey: 'm1', metricThreshold: 1, points: 1 }],
    ] as const)
      this.#keys.set(await tenant.create(path, { ...item, status: 'active' }), item.key)
  }

  /** The present key of a resource, by its first one. */
  #key(first: string): string {
    return this.#renamed.get(first) ?? first
  }

  #id(first: string): string {
    return [...this.#keys].find(([, key]) => key === first)?.[0] ?? ''
  }

  /** Moves the clock, which does all passes. */
  async #move(now: number): Promise<void> {
    await this.tenant.clock('PUT', { now: new Date(now).toISOString() })
  }

  get now(): Promise<number> {
    return this.tenant.clock('GET')
  }

  #user({ user, zone }: Pick<Sent, 'user' | 'zone'>): { id: string; tz?: string } {
    const tz = zone === null ? undefined : ZONES[zone]
    if (tz !== undefined) this.#zones.set(user, tz)
    return { id: `u${user}`, ...(tz !== undefined && { tz }) }
  }

  async play(step: Step): Promise<void> {
    const { tenant } = this
    switch (step.do) {
      case 'move':
        await weigh(step.weights)
        await moveAll(tenant)
        return
      case 'event':
        if (!this.#metrics.has(step.metric)) return
        await tenant.event(step.metric, this.#user(step), step.value)
        break
      case 'batch': {
        // A user who is in several zones in one batch ends in the last one.
        const items = step.events
          .filter(({ metric }) => this.#metrics.has(metric))
          .map((one) => ({ key: one.metric, user: this.#user(one), value: one.value }))
        if (items.length === 0) return
        const created = new Map(items.map(({ user }) => [user.id, user.tz] as const).toReversed())
        const { headers } = await tenant.admin('POST', '/metrics/events', items)
        const batch = `/metrics/events/batches/${headers.get('x-batch-id')}`
        await until(async () => at((await tenant.admin('GET', batch)).body, 'status') === 'done')
        return this.#note((id) => created.get(id) ?? 'UTC')
      }
      case 'travel':
        await tenant.app('PUT', `/users/u${step.user}`, { tz: ZONES[step.zone] })
        this.#zones.set(step.user, ZONES[step.zone] ?? 'UTC')
        break
      case 'void': {
        const events = await this.#events()
        const one = events[step.nth % Math.max(1, events.length)]
        if (one !== undefined) await tenant.admin('POST', `/users/${one.user}/events/${one.id}/void`, {})
        break
      }
      case 'adjust':
        await tenant.admin('POST', '/points/xp/adjustments', [
          { userId: `u${step.user}`, amount: step.amount },
        ])
        break
      case 'complete':
        await tenant.app('POST', '/achievements/done/complete', { user: { id: `u${step.user}` } })
        break
      case 'revoke': {
        const query = step.points ? '?points=revoke' : ''
        await tenant.admin('DELETE', `/users/u${step.user}/achievements/done${query}`)
        break
      }
      case 'switch':
        await tenant.app('PATCH', `/users/u${step.user}/preferences`, { streak: { enabled: step.enabled } })
        break
      case 'restore':
        await tenant.admin('POST', '/streaks/restore', { users: [{ id: `u${step.user}` }] })
        return
      case 'rename': {
        const key = this.#key('five') === 'five' ? 'renamed' : 'five'
        this.#renamed.set('five', key)
        const { body } = await tenant.admin('PATCH', '/points/xp/triggers', [{ id: this.#id('five'), key }])
        expect(body).toMatchObject({ issues: [] })
        return
      }
      case 'remove':
        // The metric is deleted, and an achievement archived: their figures stay.
        if (this.#metrics.delete('m2')) await tenant.admin('DELETE', '/metrics?keys=m2')
        await tenant.admin('PATCH', '/achievements', [{ id: this.#id('ten'), status: 'archived' }])
        return
      case 'erase': {
        // The clock is behind: the user may have changed on later dates, so figures after the erasure would
        // have no meaning.
        if ((await this.now) < this.#latest) return
        const iid = await this.#iid(step.user)
        await tenant.admin('DELETE', `/users/u${step.user}`)
        const known = this.#known.get(iid)
        if (known !== undefined) this.#erased.push({ ...known, erased: Math.floor((await this.now) / DAY) })
        this.#zones.delete(step.user)
        return
      }
      case 'wait':
        await this.#move((await this.now) + step.hours * HOUR)
        return this.holds()
      case 'back': {
        const now = await this.now
        await this.#move(now)
        await this.holds()
        const back = Math.max(now - step.hours * HOUR, START + HOUR)
        this.#latest = Math.max(this.#latest, now)
        await tenant.clock('DELETE')
        await this.#move(back)
        return this.holds()
      }
      default:
        throw new Error(`unknown step: ${JSON.stringify(step satisfies never)}`)
    }
    await this.#note((id) => this.#zones.get(Number(id.slice(1))) ?? 'UTC')
  }

  #iid = (user: number) => iidOf(this.tenant, `u${user}`)

  async #users() {
    const results = await rowsEverywhere(
      'SELECT id, iid, control, achievements FROM users WHERE tenant_id = ?1 ORDER BY id',
      this.tenant.id,
    )
    return z.array(UserRow).parse(results)
  }

  /** Notes the creation of new users. */
  async #note(zoneOf: (id: string) => string): Promise<void> {
    const now = await this.now
    for (const { id, iid } of await this.#users())
      if (!this.#created.has(iid)) this.#created.set(iid, dayIn(zoneOf(id), now))
  }

  async #events() {
    const results = await rowsEverywhere(
      `SELECT u.id AS user, e.id, e.metric_id, e.at, e.value, e.utc_offset FROM users u
       JOIN ${readable.events} e ON e.user_iid = u.iid WHERE u.tenant_id = ?1 ORDER BY u.id, e.at, e.seq`,
      this.tenant.id,
    )
    return z.array(EventRow).parse(results)
  }

  /** All users for the oracle: present users as they are now, and erased ones. */
  async #oracleUsers(): Promise<OracleUser[]> {
    const known = new Map<string, OracleUser>()
    const [users, events] = await Promise.all([this.#users(), this.#events()])
    const results = await rowsEverywhere(
      `SELECT u.id AS user, a.system_id, a.at, a.awarded, a.utc_offset, a.trigger_id FROM users u
       JOIN ${readable.awards} a ON a.user_iid = u.iid WHERE u.tenant_id = ?1`,
      this.tenant.id,
    )
    const awards = z.array(AwardRow).parse(results)
    const asked = users.map(({ id }) => `userIds=${id}`).join('&')
    const streaks = users.length === 0 ? [] : (await this.tenant.app('GET', `/streaks?${asked}`)).body
    const lengths = new Map(Streaks.parse(streaks).map(({ userId, streakLength }) => [userId, streakLength]))
    for (const { id, iid, control, achievements } of users) {
      known.set(iid, {
        created: this.#created.get(iid) ?? Number.NaN,
        isControl: control === 1,
        length: lengths.get(id) ?? Number.NaN,
        completions: Completions.parse(JSON.parse(achievements)).map(([of, , moment, offset]) => ({
          achievement: this.#keys.get(of) ?? '',
          day: local(moment, offset),
        })),
        events: events
          .filter(({ user }) => user === id)
          .map((row) => ({
            metric: this.#keys.get(row.metric_id) ?? '',
            day: local(row.at, row.utc_offset),
            value: row.value,
          })),
        entries: awards
          .filter(({ user }) => user === id)
          .map((row) => ({
            system: this.#keys.get(row.system_id) ?? '',
            day: local(row.at, row.utc_offset),
            points: row.awarded,
            trigger: row.trigger_id === null ? null : (this.#keys.get(row.trigger_id) ?? ''),
          })),
        erased: null,
      })
    }
    this.#known = known
    return [...known.values(), ...this.#erased]
  }

  async #series(path: string): Promise<unknown[]> {
    const { status, body } = await this.tenant.admin('GET', path)
    expect(status, path).toBe(200)
    return z.array(z.unknown()).parse(at(body, 'series'))
  }

  /** A row of a points system, with the first keys and without zeros in its maps. */
  #maps(row: unknown) {
    const { byTrigger, byLevel, ...rest } = Maps.parse(row)
    const first = new Map([...this.#renamed].map(([key, present]) => [present, key]))
    const bare = (numbers: Record<string, number>) =>
      withoutZeros(new Map(Object.entries(numbers).map(([key, number]) => [first.get(key) ?? key, number])))
    return { ...rest, byTrigger: bare(byTrigger), byLevel: bare(byLevel) }
  }

  /** Compares all figures with the oracle. */
  async holds(): Promise<void> {
    const now = await this.now
    const today = Math.floor(now / DAY)
    const users = await this.#oracleUsers()
    for (const range of [
      { from: today - 45, to: today + 1 },
      { from: today - 9, to: today - 2 },
    ]) {
      const date = (day: number) => new Date(day * DAY).toISOString().slice(0, 10)
      const window = 3 + ((today + range.from) % 28)
      await this.tenant.admin('PATCH', '/settings', { experimentation: { userActivationWindow: window } })
      const query = `?from=${date(range.from)}&to=${date(range.to)}`
      const dated = <T extends { date: number }>(rows: T[]) =>
        rows.map((row) => ({ ...row, date: date(row.date) }))
      const { body } = await this.tenant.admin('GET', `/analytics/overview${query}`)
      const { series, ...rest } = overviewOf(users, SYSTEMS, { ...range, window }, today)
      expect(body).toEqual({ updated: new Date(now).toISOString(), series: dated(series), ...rest })
      for (const metric of this.#metrics) {
        const wanted = dated(metricOf(users, metric, range)).map((row) => ({
          ...row,
          total: row.total / 1e6,
        }))
        expect(await this.#series(`/metrics/${metric}/analytics${query}`)).toEqual(wanted)
      }
      for (const system of SYSTEMS) {
        const levels = system === 'xp' ? LEVELS : []
        const rows = await this.#series(`/points/${system}/analytics${query}`)
        expect(rows.map((row) => this.#maps(row))).toEqual(dated(pointsOf(users, system, levels, range)))
      }
      for (const key of ['done', 'ten'])
        expect(await this.#series(`/achievements/${key}/analytics${query}`)).toEqual(
          dated(completionsOf(users, key, range)),
        )
    }
  }
}

const Maps = z.looseObject({
  byTrigger: z.record(z.string(), z.number()),
  byLevel: z.record(z.string(), z.number()),
})
