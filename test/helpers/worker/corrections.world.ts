import fc from 'fast-check'
import { expect } from 'vitest'
import * as z from 'zod'
import {
  type Entry,
  type OracleAchievement,
  type OracleSystem,
  type OracleTrigger,
  type Recount,
  recount,
  sum,
} from '../../oracle/corrections.oracle'
import { often, step } from '../arbitraries'
import { readable } from '../readable'
import { START } from '../time'
import { at, newApp, newTenant, pick, rowsEverywhere, type TestTenant, until } from './harness'
import { iidOf } from './stored-users'

/*
 * Random worlds of events and corrections against an oracle that counts the log again. The steps: parallel
 * events, batches, voids (also parallel to events and to each other), adjustments, changes of triggers,
 * completions that are taken back, calls that complete an achievement, changes of a user attribute, and time
 * that moves.
 */

const HOUR = 3_600_000
const DAY = 24 * HOUR
const USER = 'ada'
const METRICS = ['m0', 'm1'] as const
const KINDS = ['a', 'b'] as const
const PLANS = ['free', 'pro'] as const

type Sent = { metric: (typeof METRICS)[number]; value: number; kind: 'a' | 'b' | null; app: 0 | 1 }
export type Step =
  | { do: 'events'; events: Sent[]; voids: number[] }
  | { do: 'batch'; events: Sent[] }
  | { do: 'adjust'; amount: number }
  | { do: 'trigger'; nth: number; change: 'switch' | 'filter' }
  | { do: 'take'; nths: number[]; withPoints: boolean }
  | { do: 'call' }
  | { do: 'plan'; value: (typeof PLANS)[number] }
  | { do: 'wait'; hours: number }
export type Plan = { max: number | null; percent: number | null; steps: Step[] }

const sent: fc.Arbitrary<Sent> = fc.record({
  metric: fc.constantFrom(...METRICS, 'm0' as const),
  value: fc.integer({ min: -6, max: 14 }),
  kind: fc.option(fc.constantFrom(...KINDS), { freq: 3 }),
  app: fc.constantFrom(0 as const, 1 as const),
})
const nth = fc.nat({ max: 40 })
const sents = fc.array(sent, { minLength: 1, maxLength: 3 })
const nths = fc.array(nth, { minLength: 1, maxLength: 4 })
const steps: fc.Arbitrary<Step> = fc.oneof(
  often(6, step('events', { events: sents, voids: fc.array(nth, { maxLength: 3 }) })),
  often(1, step('batch', { events: sents })),
  often(2, step('adjust', { amount: fc.constantFrom(-30, -4, 3, 25) })),
  often(2, step('trigger', { nth, change: fc.constantFrom(...(['switch', 'switch', 'filter'] as const)) })),
  often(3, step('take', { nths, withPoints: fc.boolean() })),
  often(1, step('call', {})),
  often(2, step('plan', { value: fc.constantFrom(...PLANS) })),
  often(2, step('wait', { hours: fc.integer({ min: 1, max: 30 }) })),
)
export const plans: fc.Arbitrary<Plan> = fc.record({
  max: fc.constantFrom(null, 60),
  percent: fc.constantFrom(null, 50),
  steps: fc.array(steps, { minLength: 6, maxLength: 22, size: 'max' }),
})

const sendOf =
  (kind: Sent['kind'], metric: Sent['metric'] = 'm0') =>
  (...values: number[]): Step[] =>
    values.map((value) => ({ do: 'events', events: [{ metric, value, kind, app: 0 }], voids: [] }))
const [send, sendA, sendB, sendOther] = [sendOf(null), sendOf('a'), sendOf('b'), sendOf(null, 'm1')]
const voidNth = (one: number): Step => ({ do: 'events', events: [], voids: [one] })
/** Takes achievements back, each by its place among those that the user still has, in order of their keys. */
const take = (...nths: number[]): Step => ({ do: 'take', nths, withPoints: false })
const [wait, call] = [(hours: number): Step => ({ do: 'wait', hours }), { do: 'call' } as const]
const onPlan = (value: (typeof PLANS)[number]): Step => ({ do: 'plan', value })
const switched: Step = { do: 'trigger', nth: 1, change: 'switch' }

/** Lives that are rare in random worlds: a condition becomes false and true again (V4), an event counts no more (V2). */
export const EXAMPLES: Record<string, Step[]> = {
  '[V4, A2] the user attribute of a condition changes there and back': [
    ...[onPlan('pro'), ...sendOther(5), take(1), ...sendOther(1)],
    ...[onPlan('free'), onPlan('pro'), ...sendOther(1)],
  ],
  '[V4, A2] a composite and what it requires are taken back, in both orders': [
    ...[...send(12), take(0, 1), ...send(-12, 12)],
    ...[take(2), ...send(-12, 12), take(0), ...send(1), take(1), ...send(-13, 12)],
  ],
  '[V2, V4] a void makes a condition false, and another one true again': [
    ...[...send(9, -5, 5), take(2), voidNth(2), voidNth(1), ...sendOther(1)],
  ],
  '[V4, S3] a streak goes on after its completion was taken back, is lost, and begins again': [
    ...[...sendOther(1), take(0), wait(24), ...sendOther(1), wait(60), ...sendOther(1)],
  ],
  '[V4, A2] event attributes of a condition count in a counter of its own': [
    ...[...sendA(10), take(1), ...sendA(10), ...send(-12), ...sendA(-16, 1)],
  ],
  '[V4, A3] a call completes it again, and no other one that was taken back': [
    ...[call, ...send(9), take(1), take(3), call],
  ],
  '[V2, V3, P1] the own counter of a trigger that was inactive for some events': [
    ...[...sendA(6), switched, ...sendA(6, 6), switched, voidNth(1), ...sendA(2), voidNth(0), ...sendA(1, 1)],
  ],
  '[V2, V3, A2, A3, L12] completed achievements stay, and others count without the event': [
    ...[...sendB(12), voidNth(0), ...sendA(4), voidNth(1), ...sendA(4, 1)],
  ],
}

const TRIGGERS: readonly Omit<OracleTrigger, 'id' | 'counter' | 'system'>[] = [
  { metric: 'm0', threshold: 10, points: 7, active: true, kind: null },
  { metric: 'm0', threshold: 4, points: 3, active: true, kind: 'a' },
  { metric: 'm0', threshold: 15, points: -9, active: true, kind: null },
  { metric: 'm0', threshold: 6, points: 5, active: false, kind: 'b' },
  { metric: 'm1', threshold: 5, points: 4, active: true, kind: 'b' },
]

/** The achievements. The ids are their keys. */
const ACHIEVEMENTS: readonly OracleAchievement[] = (
  [
    {
      id: 'total',
      completes: { by: 'metric', metric: 'm0', units: 9, kind: null },
      plan: null,
      points: [6, -2],
    },
    {
      id: 'filtered',
      completes: { by: 'metric', metric: 'm0', units: 5, kind: 'a' },
      plan: null,
      points: [8],
    },
    { id: 'pro', completes: { by: 'metric', metric: 'm1', units: 3, kind: null }, plan: 'pro', points: [2] },
    { id: 'first', completes: { by: 'streak', length: 1 }, plan: null, points: [1] },
    { id: 'second', completes: { by: 'streak', length: 2 }, plan: null, points: [3] },
    { id: 'call', completes: { by: 'call' }, plan: null, points: [4] },
    { id: 'both', completes: { by: 'others', ids: ['total', 'first'] }, plan: null, points: [11] },
    { id: 'top', completes: { by: 'others', ids: ['both', 'call'] }, plan: null, points: [13] },
  ] satisfies Omit<OracleAchievement, 'system'>[]
).map((one) => ({ ...one, system: 'xp' }))

const EventRow = z.object({
  id: z.string(),
  metric_id: z.string(),
  at: z.number(),
  seq: z.number(),
  value: z.number(),
  attributes: z.string().nullable(),
  voided_seq: z.number().nullable(),
})
const AwardRow = z.object({
  id: z.string(),
  at: z.number(),
  seq: z.number(),
  awarded: z.number(),
  type: z.string().nullable(),
})

/** The ledger's columns that are only about corrections. */
const TYPES = `SELECT lower(hex(id)) AS hex, type FROM awards WHERE user_iid = unhex(?1, '-')`

/** An entry of the history without the moment at which it happened. */
type EntryAtMoment =
  | { is: 'taken'; achievement: string; withPoints: boolean }
  | { is: 'call'; achievement: string }
  | { is: 'plan'; value: string }

class World {
  readonly plan: Plan
  readonly apps: readonly [TestTenant, TestTenant]
  readonly ids = new Map<string, string>()
  triggers: OracleTrigger[] = []
  readonly #entries = new Map<string, { seq: number; entry: Entry }>()
  #iid = ''

  constructor(plan: Plan, tenant: TestTenant) {
    this.plan = plan
    this.apps = [tenant, tenant.through(newApp())]
  }

  get tenant(): TestTenant {
    return this.apps[0]
  }

  get systems(): OracleSystem[] {
    return [{ id: 'xp', max: this.plan.max, percent: this.plan.percent }]
  }

  async configure(): Promise<void> {
    const { tenant, ids } = this
    const made = async (path: string, items: readonly object[]): Promise<string[]> => {
      const { body } = await tenant.admin('POST', path, items)
      expect(at(body, 'issues')).toEqual([])
      return pick(at(body, 'created'), 'id').map(String)
    }
    const named = (key: string) => ({ key, name: key })
    const metrics = await made('/metrics', METRICS.map(named))
    for (const [nth, key] of METRICS.entries()) ids.set(key, metrics[nth] ?? '')
    const [kind = ''] = await made('/attributes', [
      { ...named('kind'), type: 'event' },
      ...['team', 'plan'].map((key) => ({ ...named(key), type: 'user' })),
    ])
    ids.set('kind', kind)
    const { percent } = this.plan
    const boost = { name: 'More', start: '2020-01-01', multiplier: 1 + (percent ?? 0) / 100 }
    await made('/points', [
      { ...named('xp'), maxPoints: this.plan.max, boosts: percent === null ? [] : [boost] },
    ])
    const triggers = TRIGGERS.map((one) => ({
      ...{ type: 'metric', metricKey: one.metric, metricThreshold: one.threshold, points: one.points },
      ...{ status: one.active ? 'active' : 'inactive', eventAttributes: this.filters(one.kind) },
    }))
    const triggerIds = await made('/points/xp/triggers', triggers)
    this.triggers = TRIGGERS.map((one, nth) => {
      const id = triggerIds[nth] ?? ''
      return { ...one, id, system: 'xp', counter: `${id} 0` }
    })
    await made(
      '/achievements',
      ACHIEVEMENTS.map((one) => ({ ...named(one.id), ...this.condition(one), status: 'active' })),
    )
    const paying = ACHIEVEMENTS.flatMap(({ id, points }) =>
      points.map((one) => ({ type: 'achievement', achievementKey: id, points: one, status: 'active' })),
    )
    await made('/points/xp/triggers', paying)
    const board = (key: string, more: object) => ({
      ...{ ...named(key), start: '2020-01-01', status: 'active', maxParticipants: 10, ...more },
    })
    const byMetric = { rankBy: 'metric', metricKey: 'm0' }
    const byPoints = { rankBy: 'points', pointsSystemKey: 'xp' }
    const day = { runUnit: 'day', runInterval: 1 }
    const window = { startTime: '06:00', endTime: '18:00', breakdownAttributeKeys: ['team'] }
    await made('/leaderboards', [
      ...[board('all', byMetric), board('daily', { ...byMetric, ...day })],
      ...[board('window', { ...byMetric, ...window }), board('points', byPoints)],
      board('points-daily', { ...byPoints, ...day }),
    ])
    await tenant.app('PUT', `/users/${USER}`, { attributes: { team: 'red' } })
    this.#iid = await iidOf(tenant, USER)
  }

  condition({ completes, plan }: OracleAchievement): object {
    const userAttributes = plan === null ? [] : [{ attributeKey: 'plan', attributeValue: plan }]
    switch (completes.by) {
      case 'metric': {
        const { metric: metricKey, units: metricValue, kind } = completes
        const eventAttributes = this.filters(kind)
        return { trigger: 'metric', metricKey, metricValue, eventAttributes, userAttributes }
      }
      case 'streak':
        return { trigger: 'streak', streakLength: completes.length, userAttributes }
      case 'call':
        return { trigger: 'api', userAttributes }
      case 'others':
        return { trigger: 'achievement', achievementKeys: completes.ids, userAttributes }
    }
  }

  filters(kind: string | null) {
    return kind === null ? [] : [{ attributeKey: 'kind', attributeValue: kind }]
  }

  /** The events of the log and the voided ones, in order. */
  async events() {
    const results = await rowsEverywhere(
      `SELECT id, metric_id, at, seq, value, attributes, NULL AS voided_seq FROM ${readable.events}
         WHERE user_iid = ?1
       UNION ALL SELECT id, metric_id, at, seq, value, attributes, voided_seq FROM ${readable.voided_events}
         WHERE user_iid = ?1 ORDER BY seq`,
      this.#iid,
    )
    return z.array(EventRow).parse(results)
  }

  async awards() {
    const results = await rowsEverywhere(
      `SELECT id, at, seq, awarded FROM ${readable.awards} WHERE user_iid = ?1 ORDER BY seq, position`,
      this.#iid,
    )
    const types = await rowsEverywhere(TYPES, this.#iid)
    const known = new Map(types.map(({ hex, type }) => [hex, type]))
    return z
      .array(AwardRow)
      .parse(results.map((row) => ({ ...row, type: known.get(String(row.id).replaceAll('-', '')) })))
  }

  async seq(): Promise<number> {
    const [row] = await rowsEverywhere('SELECT seq FROM users WHERE iid = ?1', this.#iid)
    return Number(row?.seq)
  }

  /** Sends a command, and notes it unless it changed nothing. */
  async change(send: () => Promise<unknown>, entry: EntryAtMoment): Promise<void> {
    const before = await this.seq()
    const now = await this.tenant.clock('GET')
    await send()
    const seq = await this.seq()
    if (seq === before) return
    const [day, hour] = [new Date(now).toISOString().slice(0, 10), (now % DAY) / HOUR]
    this.#entries.set(`change ${seq}`, { seq, entry: { ...entry, day, hour, systems: this.systems } })
  }

  async achievements(): Promise<string[]> {
    const { body } = await this.tenant.app('GET', `/users/${USER}/achievements`)
    return z
      .array(z.object({ key: z.string() }))
      .parse(body)
      .map(({ key }) => key)
  }

  /** Notes the events and voids that a step has stored, under the triggers of that step. */
  async note(): Promise<void> {
    const { triggers, systems } = this
    const names = new Map([...this.ids].map(([key, id]) => [id, key]))
    const kinds = z.record(z.string(), z.string())
    for (const row of await this.events()) {
      const attributes = row.attributes === null ? {} : kinds.parse(JSON.parse(row.attributes))
      const event: Entry = {
        is: 'event',
        id: row.id,
        metric: names.get(row.metric_id) ?? '',
        value: row.value,
        kind: attributes[this.ids.get('kind') ?? ''] ?? null,
        day: new Date(row.at).toISOString().slice(0, 10),
        hour: (row.at % DAY) / HOUR,
        triggers,
        systems,
      }
      if (!this.#entries.has(row.id)) this.#entries.set(row.id, { seq: row.seq, entry: event })
      const [name, seq] = [`void ${row.id}`, row.voided_seq]
      if (seq !== null && !this.#entries.has(name)) {
        this.#entries.set(name, { seq, entry: { is: 'void', event: row.id, systems } })
      }
    }
  }

  get entries(): Entry[] {
    return [...this.#entries.values()].sort((a, b) => a.seq - b.seq).map(({ entry }) => entry)
  }

  async play(step: Step): Promise<void> {
    switch (step.do) {
      case 'events': {
        const known = (await this.events()).map(({ id }) => id)
        const events = step.events.map(({ metric, value, kind, app }) =>
          this.apps[app].event(metric, USER, value, kind === null ? {} : { attributes: { kind } }),
        )
        const voids = step.voids.map((one, n) => {
          const id = known[one % known.length]
          const app = this.apps[n % 2 === 0 ? 0 : 1]
          return id === undefined ? null : app.admin('POST', `/users/${USER}/events/${id}/void`, {})
        })
        for (const answer of await Promise.all(events)) expect(answer.status).toBe(201)
        for (const answer of await Promise.all(voids)) expect(answer?.status ?? 200).toBe(200)
        return
      }
      case 'batch': {
        const items = step.events.map(({ metric, value, kind }) => {
          return { key: metric, user: { id: USER }, value, ...(kind !== null && { attributes: { kind } }) }
        })
        const { headers } = await this.tenant.admin('POST', '/metrics/events', items)
        const batch = `/metrics/events/batches/${headers.get('x-batch-id')}`
        return until(async () => at((await this.tenant.admin('GET', batch)).body, 'status') === 'done')
      }
      case 'adjust': {
        const items = [{ userId: USER, amount: step.amount }]
        const { body } = await this.tenant.admin('POST', '/points/xp/adjustments', items)
        const id = at(body, 'created', 0, 'id')
        const row = (await this.awards()).find((award) => award.id === id)
        const { amount } = step
        if (row === undefined) return expect(at(body, 'issues', 0, 'severity')).toBe('warning')
        const [day, hour] = [new Date(row.at).toISOString().slice(0, 10), (row.at % DAY) / HOUR]
        const entry: Entry = { is: 'adjustment', system: 'xp', amount, day, hour, max: this.plan.max }
        this.#entries.set(row.id, { seq: row.seq, entry })
        return
      }
      case 'trigger': {
        const index = step.nth % this.triggers.length
        const before = this.triggers[index]
        if (before === undefined) return
        const { id, active } = before
        const kind = before.kind === 'a' ? 'b' : 'a'
        const change =
          step.change === 'switch' || before.kind === null
            ? { active: !active }
            : { kind, counter: `${before.counter}+` }
        const after: OracleTrigger = { ...before, ...change }
        const item = {
          id,
          status: after.active ? 'active' : 'inactive',
          eventAttributes: this.filters(after.kind),
        }
        await this.tenant.admin('PATCH', '/points/xp/triggers', [item])
        this.triggers = this.triggers.with(index, after)
        return
      }
      case 'take': {
        for (const one of step.nths) {
          const keys = (await this.achievements()).sort()
          const key = keys[one % keys.length]
          if (key === undefined) return
          const query = step.withPoints ? '?points=revoke' : ''
          const take = () => this.tenant.admin('DELETE', `/users/${USER}/achievements/${key}${query}`)
          await this.change(take, { is: 'taken', achievement: key, withPoints: step.withPoints })
        }
        return
      }
      case 'call': {
        const call = () => this.tenant.app('POST', '/achievements/call/complete', { user: { id: USER } })
        return this.change(call, { is: 'call', achievement: 'call' })
      }
      case 'plan': {
        const attributes = { plan: step.value }
        const set = () => this.tenant.app('PATCH', `/users/${USER}`, { attributes })
        return this.change(set, { is: 'plan', value: step.value })
      }
      case 'wait': {
        const now = await this.tenant.clock('GET')
        await this.tenant.clock('PUT', { now: new Date(now + step.hours * HOUR).toISOString() })
        return
      }
      default:
        throw new Error(`unknown step: ${JSON.stringify(step satisfies never)}`)
    }
  }

  /** Compares everything that is stored and served with the oracle. */
  async holds(): Promise<void> {
    const expected = recount(this.entries, ACHIEVEMENTS)
    const { tenant } = this
    const { body } = await tenant.admin('GET', `/users/${USER}/export`)
    const metrics = z.array(z.object({ metricKey: z.string(), total: z.number(), highest: z.number() }))
    const totals = metrics
      .parse(at(body, 'metrics'))
      .map(({ metricKey, total, highest }) => [
        metricKey,
        { total: Math.round(total * 1e6), highest: Math.round(highest * 1e6) },
      ])
    const wanted = [...expected.totals].sort(([a], [b]) => a.localeCompare(b))
    expect(totals.sort(([a], [b]) => String(a).localeCompare(String(b)))).toEqual(wanted)
    await this.looksRight(expected)
    await this.ledgerHolds(expected)
    await this.boardsHold(expected)
    await this.summariesHold(expected)
  }

  async looksRight({ ledger, achievements } = recount(this.entries, ACHIEVEMENTS)): Promise<void> {
    expect((await this.achievements()).sort()).toEqual([...achievements].sort())
    const { body } = await this.tenant.app('GET', `/users/${USER}/points/xp`)
    expect(at(body, 'total')).toBe(sum(ledger.map(({ amount }) => amount)))
  }

  async ledgerHolds({ ledger }: Recount): Promise<void> {
    const rows = await this.awards()
    const day = (moment: number) => new Date(moment).toISOString().slice(0, 10)
    // The entries of triggers one by one. Those of corrections by day: a void may have several.
    const own = rows.filter(({ type }) => type === null).map((row) => [day(row.at), row.awarded])
    expect(own).toEqual(ledger.filter(({ is }) => is === 'award').map((one) => [one.day, one.amount]))
    for (const type of ['adjustment', 'reversal']) {
      const found = rows.filter((row) => row.type === type)
      const wanted = ledger.filter(({ is }) => is === type)
      for (const date of new Set([...found.map((row) => day(row.at)), ...wanted.map((one) => one.day)])) {
        const ofDay = found.filter((row) => day(row.at) === date)
        const amount = sum(wanted.filter((one) => one.day === date).map((one) => one.amount))
        expect([type, date, sum(ofDay.map(({ awarded }) => awarded))]).toEqual([type, date, amount])
      }
    }
  }

  async boardsHold({ counting, ledger }: Recount): Promise<void> {
    const today = new Date(await this.tenant.clock('GET')).toISOString().slice(0, 10)
    const m0 = counting.filter(({ metric }) => metric === 'm0')
    const metric = (list: typeof m0) => sum(list.map(({ value }) => value)) / 1e6
    const points = (list: typeof ledger) => sum(list.map(({ amount }) => amount))
    const scores: Record<string, number> = {
      all: metric(m0),
      daily: metric(m0.filter(({ day }) => day === today)),
      window: metric(m0.filter(({ hour }) => hour >= 6 && hour < 18)),
      points: points(ledger),
      'points-daily': points(ledger.filter(({ day }) => day === today)),
    }
    for (const [key, score] of Object.entries(scores)) {
      const query = `run=${today}${key === 'window' ? '&userAttributes=team:red' : ''}`
      const { status, body } = await this.tenant.app('GET', `/leaderboards/${key}?${query}`)
      expect([key, status]).toEqual([key, 200])
      const value = at(body, 'rankings', 0, 'value') ?? 0
      expect([key, value]).toEqual([key, Math.max(0, score)])
    }
  }

  async summariesHold({ counting, ledger }: Recount): Promise<void> {
    const now = await this.tenant.clock('GET')
    const date = (moment: number) => new Date(moment).toISOString().slice(0, 10)
    const range = `aggregation=daily&startDate=${date(now - 40 * DAY)}&endDate=${date(now)}`
    const changes = async (path: string) => {
      const { body } = await this.tenant.app('GET', `/users/${USER}/${path}/event-summary?${range}`)
      const days = z.array(z.object({ date: z.string(), change: z.number() })).parse(body)
      return new Map(days.flatMap((one) => (one.change === 0 ? [] : [[one.date, one.change] as const])))
    }
    const byDay = (list: readonly (readonly [day: string, amount: number])[]) => {
      const sums = new Map<string, number>()
      for (const [day, amount] of list) sums.set(day, (sums.get(day) ?? 0) + amount)
      return new Map([...sums].filter(([, amount]) => amount !== 0).sort(([a], [b]) => a.localeCompare(b)))
    }
    for (const metric of METRICS) {
      const own = counting.filter((one) => one.metric === metric)
      expect(await changes(`metrics/${metric}`)).toEqual(
        byDay(own.map(({ day, value }) => [day, value / 1e6])),
      )
    }
    expect(await changes('points/xp')).toEqual(byDay(ledger.map(({ day, amount }) => [day, amount])))
  }
}

/** Plays a world, and compares it with the oracle. After each step it looks at the achievements and the points only. */
export async function holdsIn(plan: Plan): Promise<void> {
  const tenant = await newTenant(newApp())
  await tenant.clock('DELETE')
  await tenant.clock('PUT', { now: new Date(START + HOUR).toISOString() })
  const world = new World(plan, tenant)
  await world.configure()
  for (const [n, step] of plan.steps.entries()) {
    await world.play(step)
    await world.note()
    if (n % 5 === 4) await world.holds()
    else await world.looksRight()
  }
  await world.holds()
}
