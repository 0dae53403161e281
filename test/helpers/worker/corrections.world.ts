import fc from 'fast-check'
import { expect } from 'vitest'
import * as z from 'zod'
import {
  type Change,
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
 * Random worlds of events and corrections against an oracle that counts the log again, and explains each award. The
 * steps: parallel events, batches, voids (also parallel to events and to each other), adjustments, changes of triggers,
 * completions that are taken back, calls that complete an achievement, changes of a user attribute, and time that
 * moves, with its ticks.
 */

const HOUR = 3_600_000
const DAY = 24 * HOUR
const USER = 'ada'
const METRICS = ['m0', 'm1'] as const
const KINDS = ['a', 'b'] as const
const PLANS = ['free', 'pro'] as const
const REASON = 'A test'
const dateAt = (moment: number) => new Date(moment).toISOString().slice(0, 10)

type Sent = { metric: (typeof METRICS)[number]; value: number; kind: 'a' | 'b' | null; app: 0 | 1 }
export type Step =
  | { do: 'events'; events: Sent[]; voids: number[] }
  | { do: 'batch'; events: Sent[] }
  | { do: 'adjust'; system: 'xp' | 'gems'; amount: number }
  | { do: 'trigger'; nth: number; change: 'switch' | 'filter' }
  | { do: 'take'; nths: number[]; withPoints: boolean }
  | { do: 'call' }
  | { do: 'plan'; value: (typeof PLANS)[number] }
  | { do: 'wait'; hours: number }
/** The settings of both points systems, by their places in `SETTINGS`. */
export type Plan = { xp: number; gems: number; steps: Step[] }

/** Cap and boosts of a points system, with every rounding. */
const SETTINGS: readonly Omit<OracleSystem, 'id'>[] = [
  { max: null, boosts: [] },
  { max: 60, boosts: [{ multiplier: '1.15', rounding: 'down' }] },
  {
    max: null,
    boosts: [
      { multiplier: '1.15', rounding: 'up' },
      { multiplier: '0.3', rounding: 'up' },
    ],
  },
  { max: 90, boosts: [{ multiplier: '1.5', rounding: 'nearest' }] },
  {
    max: 200,
    boosts: [
      { multiplier: '0.7', rounding: 'up' },
      { multiplier: '1.9', rounding: 'nearest' },
    ],
  },
]

const sent: fc.Arbitrary<Sent> = fc.record({
  metric: fc.constantFrom(...METRICS, 'm0' as const),
  value: fc.integer({ min: -12, max: 28 }).map((halves) => halves / 2),
  kind: fc.option(fc.constantFrom(...KINDS), { freq: 3 }),
  app: fc.constantFrom(0 as const, 1 as const),
})
const nth = fc.nat({ max: 40 })
const sents = fc.array(sent, { minLength: 1, maxLength: 3 })
const nths = fc.array(nth, { minLength: 1, maxLength: 4 })
const system = fc.constantFrom('xp' as const, 'gems' as const)
const steps: fc.Arbitrary<Step> = fc.oneof(
  often(6, step('events', { events: sents, voids: fc.array(nth, { maxLength: 3 }) })),
  often(1, step('batch', { events: sents })),
  often(2, step('adjust', { system, amount: fc.constantFrom(-30, -4, 3, 25) })),
  often(2, step('trigger', { nth, change: fc.constantFrom(...(['switch', 'switch', 'filter'] as const)) })),
  often(3, step('take', { nths, withPoints: fc.boolean() })),
  often(1, step('call', {})),
  often(2, step('plan', { value: fc.constantFrom(...PLANS) })),
  often(2, step('wait', { hours: fc.integer({ min: 1, max: 30 }) })),
)
const setting = fc.nat({ max: SETTINGS.length - 1 })
export const plans: fc.Arbitrary<Plan> = fc.record({
  xp: setting,
  gems: setting,
  steps: fc.array(steps, { minLength: 6, maxLength: 22, size: 'max' }),
})

const sendOf =
  (kind: Sent['kind'], metric: Sent['metric'] = 'm0') =>
  (...values: number[]): Step[] =>
    values.map((value) => ({ do: 'events', events: [{ metric, value, kind, app: 0 }], voids: [] }))
const [send, sendA, sendB, sendOther] = [sendOf(null), sendOf('a'), sendOf('b'), sendOf(null, 'm1')]
/** Voids an event. The one before them all created the user. */
const voidNth = (one: number): Step => ({ do: 'events', events: [], voids: [one + 1] })
/** Takes achievements back, each by its place among those that the user still has, in order of their keys. */
const take = (...nths: number[]): Step => ({ do: 'take', nths, withPoints: false })
const takeWithPoints = (...nths: number[]): Step => ({ do: 'take', nths, withPoints: true })
const [wait, call] = [(hours: number): Step => ({ do: 'wait', hours }), { do: 'call' } as const]
const onPlan = (value: (typeof PLANS)[number]): Step => ({ do: 'plan', value })
const switched: Step = { do: 'trigger', nth: 1, change: 'switch' }
const adjust = (amount: number): Step => ({ do: 'adjust', system: 'gems', amount })

/** Lives that are rare in random worlds: a condition becomes false and true again (V4), an event counts no more (V2). */
const LIVES: Record<string, Step[]> = {
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
  '[V4, C1] takes the points of the present completion only, also if others have its moment': [
    // The points of the first completion are lost before, so none are reversed. Those of the third one stay.
    ...[...send(12), adjust(-1_000), takeWithPoints(2), ...send(-12, 12), adjust(20), takeWithPoints(2)],
    ...[...send(-12, 12), adjust(20), take(2), ...send(-12, 12), adjust(20), takeWithPoints(2)],
  ],
  '[V2, V3, A2, A3, L12] completed achievements stay, and others count without the event': [
    ...[...sendB(12), voidNth(0), ...sendA(4), voidNth(1), ...sendA(4, 1)],
  ],
}

/** The same with their settings, so that they have all of them. */
export const EXAMPLES = Object.entries(LIVES).map(([name, steps], nth): [string, Plan] => [
  name,
  { xp: nth % SETTINGS.length, gems: (nth + 1) % SETTINGS.length, steps },
])

/** A life with every kind of award. Awards and corrections meet the cap of gems, 90, and its floor. */
export const EVERY_KIND: Plan = {
  ...{ xp: 1, gems: 3 },
  steps: [
    ...[...send(12), ...sendOther(8), adjust(-80), adjust(10), voidNth(0)],
    ...[adjust(200), adjust(-10), wait(24), voidNth(1), adjust(-3), adjust(5), adjust(-3), ...send(20)],
    // The highest total counts, also if the present one is lower (P1).
    ...[adjust(-85), ...send(-6, 9), ...sendOther(9)],
  ],
}

const metric = (name: string, threshold: number, points: number, kind: string | null = null, active = true) =>
  ({ on: 'metric', metric: name, threshold, points, kind, active, counter: 0 }) as const
const one = { active: true } as const
const completion = (achievement: string, points: number) =>
  ({ ...one, on: 'achievement', achievement, points }) as const

/** The triggers of each points system, in order. */
const TRIGGERS = {
  xp: [
    { ...one, on: 'creation', points: 7 },
    ...[metric('m0', 10, 7), metric('m0', 4, 3, 'a'), metric('m0', 15, -9)],
    ...[metric('m0', 6, 5, 'b', false), metric('m1', 5, 4, 'b')],
    { ...one, on: 'streak', length: 2, points: 9 },
    ...[completion('total', 6), completion('total', -2), completion('filtered', 8), completion('pro', 2)],
    ...[completion('first', 1), completion('second', 3), completion('call', 4)],
    ...[completion('both', 11), completion('top', 13)],
    { ...one, on: 'tick', points: 1 },
  ],
  gems: [metric('m0', 3, 5), metric('m1', 4, -16), metric('m0', 2, 3, 'a'), completion('total', 11)],
} as const

/** The achievements. The ids are their keys. */
const ACHIEVEMENTS: readonly OracleAchievement[] = [
  { id: 'total', completes: { by: 'metric', metric: 'm0', units: 9, kind: null }, plan: null },
  { id: 'filtered', completes: { by: 'metric', metric: 'm0', units: 5, kind: 'a' }, plan: null },
  { id: 'pro', completes: { by: 'metric', metric: 'm1', units: 3, kind: null }, plan: 'pro' },
  { id: 'first', completes: { by: 'streak', length: 1 }, plan: null },
  { id: 'second', completes: { by: 'streak', length: 2 }, plan: null },
  { id: 'call', completes: { by: 'call' }, plan: null },
  { id: 'both', completes: { by: 'others', ids: ['total', 'first'] }, plan: null },
  { id: 'top', completes: { by: 'others', ids: ['both', 'call'] }, plan: null },
]

const filters = (kind: string | null) =>
  kind === null ? [] : [{ attributeKey: 'kind', attributeValue: kind }]

/** The fields of a trigger that the admin interface takes. */
function fieldsOf(trigger: (typeof TRIGGERS)[keyof typeof TRIGGERS][number]): object {
  switch (trigger.on) {
    case 'metric': {
      const { metric: metricKey, threshold: metricThreshold, kind } = trigger
      return { type: 'metric', metricKey, metricThreshold, eventAttributes: filters(kind) }
    }
    case 'streak':
      return { type: 'streak', streakLength: trigger.length }
    case 'achievement':
      return { type: 'achievement', achievementKey: trigger.achievement }
    case 'creation':
      return { type: 'user_creation' }
    case 'tick':
      return { type: 'time', timeUnit: 'days', timeInterval: 1 }
  }
}

function conditionOf({ completes, plan }: OracleAchievement): object {
  const userAttributes = plan === null ? [] : [{ attributeKey: 'plan', attributeValue: plan }]
  switch (completes.by) {
    case 'metric': {
      const { metric: metricKey, units: metricValue, kind } = completes
      return { trigger: 'metric', metricKey, metricValue, eventAttributes: filters(kind), userAttributes }
    }
    case 'streak':
      return { trigger: 'streak', streakLength: completes.length, userAttributes }
    case 'call':
      return { trigger: 'api', userAttributes }
    case 'others':
      return { trigger: 'achievement', achievementKeys: completes.ids, userAttributes }
  }
}

const EventRow = z.object({
  id: z.string(),
  metric_id: z.string(),
  seq: z.number(),
  value: z.number(),
  attributes: z.string().nullable(),
  voided_seq: z.number().nullable(),
})
const Exported = z.object({
  metrics: z.array(z.object({ metricKey: z.string(), total: z.number(), highest: z.number() })),
  awards: z.array(z.object({ id: z.string(), systemKey: z.string() })),
})

/** The names by which entries of the ledger are sorted. */
const NAMES = ['system', 'at', 'trigger', 'type', 'event', 'reverses', 'total', 'awarded'] as const
const byOrder = (a: unknown, b: unknown) => {
  const [one, other] = [a, b].map((entry) => JSON.stringify(NAMES.map((name) => at(entry, name))))
  return (one ?? '') < (other ?? '') ? -1 : 1
}

class World {
  readonly systems: readonly OracleSystem[]
  readonly apps: readonly [TestTenant, TestTenant]
  triggers: OracleTrigger[] = []
  now = START + HOUR
  readonly #start = this.now
  /** The keys of metrics and attributes, by id. */
  readonly #names = new Map<string, string>()
  /** The events that were sent. The keys are their idempotency keys. */
  readonly #sent = new Map<string, Sent>()
  readonly #entries = new Map<string, { seq: number; entry: Entry }>()
  #iid = ''

  constructor({ xp, gems }: Plan, tenant: TestTenant) {
    const settings = (nth: number) => SETTINGS[nth] ?? { max: null, boosts: [] }
    this.systems = [
      { id: 'xp', ...settings(xp) },
      { id: 'gems', ...settings(gems) },
    ]
    this.apps = [tenant, tenant.through(newApp())]
  }

  get tenant(): TestTenant {
    return this.apps[0]
  }

  async configure(): Promise<void> {
    const { tenant } = this
    const made = async (path: string, items: readonly object[]): Promise<string[]> => {
      const { body } = await tenant.admin('POST', path, items)
      expect(at(body, 'issues')).toEqual([])
      return pick(at(body, 'created'), 'id').map(String)
    }
    const named = (key: string) => ({ key, name: key })
    const metrics = await made('/metrics', METRICS.map(named))
    for (const [nth, key] of METRICS.entries()) this.#names.set(metrics[nth] ?? '', key)
    const [kind = ''] = await made('/attributes', [
      { ...named('kind'), type: 'event' },
      ...['team', 'plan'].map((key) => ({ ...named(key), type: 'user' })),
    ])
    this.#names.set(kind, 'kind')
    await made(
      '/achievements',
      ACHIEVEMENTS.map((one) => ({ ...named(one.id), ...conditionOf(one), status: 'active' })),
    )
    for (const { id, max, boosts } of this.systems) {
      const all = { name: 'More', start: '2020-01-01' }
      const own = boosts.map((one) => ({ ...all, ...one, multiplier: Number(one.multiplier) }))
      await made('/points', [{ ...named(id), maxPoints: max, boosts: own }])
    }
    for (const system of ['xp', 'gems'] as const) {
      const own = TRIGGERS[system]
      const items = own.map((one) => {
        return { ...fieldsOf(one), points: one.points, status: one.active ? 'active' : 'inactive' }
      })
      const ids = await made(`/points/${system}/triggers`, items)
      this.triggers.push(...own.map((one, nth) => ({ ...one, system, id: ids[nth] ?? '' })))
    }
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
    const first: Sent = { metric: 'm1', value: 0, kind: null, app: 0 }
    await this.send(first, { id: USER, attributes: { team: 'red' } })
    this.#iid = await iidOf(tenant, USER)
    await this.note()
  }

  /** An event of the user as a request has it. It has an idempotency key of its own. */
  #item(sent: Sent) {
    const idempotencyKey = `key ${this.#sent.size}`
    this.#sent.set(idempotencyKey, sent)
    return { idempotencyKey, ...(sent.kind !== null && { attributes: { kind: sent.kind } }) }
  }

  async send(sent: Sent, user: string | Record<string, unknown> = USER): Promise<void> {
    const { metric, value, app } = sent
    expect((await this.apps[app].event(metric, user, value, this.#item(sent))).status).toBe(201)
  }

  /** The events of the log and the voided ones, in order. */
  async events() {
    const results = await rowsEverywhere(
      `SELECT id, metric_id, seq, value, attributes, NULL AS voided_seq FROM ${readable.events}
         WHERE user_iid = ?1
       UNION ALL SELECT id, metric_id, seq, value, attributes, voided_seq FROM ${readable.voided_events}
         WHERE user_iid = ?1 ORDER BY seq`,
      this.#iid,
    )
    return z.array(EventRow).parse(results)
  }

  async seq(): Promise<number> {
    const [row] = await rowsEverywhere('SELECT seq FROM users WHERE iid = ?1', this.#iid)
    return Number(row?.seq)
  }

  #add(name: string, seq: number, change: Change, at = this.now): void {
    const { systems, triggers } = this
    if (!this.#entries.has(name))
      this.#entries.set(name, { seq, entry: { ...change, at, systems, triggers } })
  }

  /** Sends a command, and notes it unless it changed nothing. */
  async change(send: () => Promise<unknown>, change: Change): Promise<void> {
    const before = await this.seq()
    await send()
    const seq = await this.seq()
    if (seq !== before) this.#add(`change ${seq}`, seq, change)
  }

  async achievements(): Promise<string[]> {
    const { body } = await this.tenant.app('GET', `/users/${USER}/achievements`)
    return pick(body, 'key').map(String).sort()
  }

  /** Notes the events and voids that a step has stored, under the triggers of that step. */
  async note(): Promise<void> {
    const kinds = z.record(z.string(), z.string())
    for (const { id, seq, value, ...row } of await this.events()) {
      const attributes = row.attributes === null ? {} : kinds.parse(JSON.parse(row.attributes))
      const [kind = null] = Object.entries(attributes).map(([key, value]) =>
        this.#names.get(key) === 'kind' ? value : null,
      )
      const metric = this.#names.get(row.metric_id) ?? ''
      this.#add(id, seq, { is: 'event', id, metric, value, kind })
      if (row.voided_seq === null) continue
      this.#add(`void ${id}`, row.voided_seq, { is: 'void', event: id, reason: REASON })
    }
  }

  /** In order. A tick has the number of the change before it, after which it was noted. */
  get entries(): Entry[] {
    return [...this.#entries.values()].sort((a, b) => a.seq - b.seq).map(({ entry }) => entry)
  }

  async play(step: Step): Promise<void> {
    switch (step.do) {
      case 'events': {
        const known = (await this.events()).map(({ id }) => id)
        const events = step.events.map((one) => this.send(one))
        const voids = step.voids.map((one, n) => {
          const path = `/users/${USER}/events/${known[one % known.length]}/void`
          return this.apps[n % 2 === 0 ? 0 : 1].admin('POST', path, { reason: REASON })
        })
        await Promise.all(events)
        for (const { status } of await Promise.all(voids)) expect(status).toBe(200)
        return
      }
      case 'batch': {
        const items = step.events.map((one) => {
          return { key: one.metric, user: { id: USER }, value: one.value, ...this.#item(one) }
        })
        const { headers } = await this.tenant.admin('POST', '/metrics/events', items)
        const batch = `/metrics/events/batches/${headers.get('x-batch-id')}`
        return until(async () => at((await this.tenant.admin('GET', batch)).body, 'status') === 'done')
      }
      case 'adjust': {
        const { system, amount } = step
        const items = [{ userId: USER, amount, reason: REASON }]
        const adjust = () => this.tenant.admin('POST', `/points/${system}/adjustments`, items)
        return this.change(adjust, { is: 'adjustment', system, amount, reason: REASON })
      }
      case 'trigger': {
        const metrics = this.triggers.filter((one) => one.on === 'metric')
        const before = metrics[step.nth % metrics.length]
        if (before === undefined) return
        const { id, active, system, counter } = before
        const kind = before.kind === 'a' ? 'b' : 'a'
        const isSwitched = step.change === 'switch' || before.kind === null
        const after = { ...before, ...(isSwitched ? { active: !active } : { kind, counter: counter + 1 }) }
        const status = after.active ? 'active' : 'inactive'
        const item = { id, status, eventAttributes: filters(after.kind) }
        await this.tenant.admin('PATCH', `/points/${system}/triggers`, [item])
        this.triggers = this.triggers.map((one) => (one.id === id ? after : one))
        return
      }
      case 'take': {
        for (const one of step.nths) {
          const keys = await this.achievements()
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
        const [seq, before] = [await this.seq(), this.now]
        this.now += step.hours * HOUR
        await this.tenant.clock('PUT', { now: new Date(this.now).toISOString() })
        for (let tick = this.#start; tick <= this.now; tick += DAY) {
          if (tick > before) this.#add(`tick ${tick}`, seq, { is: 'tick' }, tick)
        }
        return
      }
      default:
        throw new Error(`unknown step: ${JSON.stringify(step satisfies never)}`)
    }
  }

  /** Compares everything that is stored and served with the oracle. Returns the awards. */
  async holds() {
    const expected = recount(this.entries, ACHIEVEMENTS)
    const { body } = await this.tenant.admin('GET', `/users/${USER}/export`)
    const { metrics, awards } = Exported.parse(body)
    const totals = metrics.map(({ metricKey, total, highest }) => [
      metricKey,
      { total: Math.round(total * 1e6), highest: Math.round(highest * 1e6) },
    ])
    expect(Object.fromEntries(totals)).toEqual(Object.fromEntries(expected.totals))
    await this.looksRight(expected)
    await this.boardsHold(expected)
    await this.summariesHold(expected)
    return { awards, ...expected }
  }

  async looksRight({ ledger, achievements } = recount(this.entries, ACHIEVEMENTS)): Promise<void> {
    expect(await this.achievements()).toEqual([...achievements].sort())
    for (const { id } of this.systems) {
      const { body } = await this.tenant.app('GET', `/users/${USER}/points/${id}`)
      const own = ledger.filter(({ system }) => system === id)
      expect([id, at(body, 'total')]).toEqual([id, sum(own.map(({ awarded }) => awarded))])
    }
  }

  /** Compares each entry of the ledger, as it is explained, with the oracle (X1). Returns the explanations. */
  async explanationsHold(): Promise<unknown[]> {
    const { awards, ledger } = await this.holds()
    const bodies = new Map<string, unknown>()
    for (const { id, systemKey } of awards) {
      const path = `/users/${USER}/points/${systemKey}/awards/${id}`
      const { status, body } = await this.tenant.admin('GET', path)
      expect([status, at(body, 'award', 'id')]).toEqual([200, id])
      bodies.set(id, body)
    }
    const causeOf = (body: unknown) => {
      const [event, trigger] = [at(body, 'event', 'id') ?? null, at(body, 'trigger', 'id') ?? null]
      return { event, trigger, total: at(body, 'total') }
    }
    const answers = awards.map(({ id, systemKey: system }) => {
      const body = bodies.get(id)
      const moment = Date.parse(String(at(body, 'award', 'at')))
      const shown = { at: new Date(moment).toISOString(), localDate: dateAt(moment), utcOffsetMinutes: 0 }
      expect(at(body, 'award')).toMatchObject(shown)
      const event = at(body, 'event')
      if (event !== null) {
        const { metric, value, kind } = this.#sent.get(String(at(event, 'idempotencyKey'))) ?? {}
        const attributes = kind === null ? {} : { kind }
        expect(event).toMatchObject({ metricKey: metric, value, attributes, ...shown })
      }
      const boosts = at(body, 'boosts')
      const reverses = at(body, 'reverses') ?? null
      return {
        ...{ system, ...causeOf(body), type: at(body, 'type') ?? null, reason: at(body, 'reason') ?? null },
        reverses: reverses === null ? null : causeOf(bodies.get(String(reverses))),
        ...{ at: moment, counter: at(body, 'counter'), firings: at(body, 'firings'), base: at(body, 'base') },
        ...{ boosts: Array.isArray(boosts) ? boosts.length : null, afterBoosts: at(body, 'afterBoosts') },
        ...{ limit: at(body, 'limit'), awarded: at(body, 'award', 'awarded') },
      }
    })
    // A reversal has the moment of its award, so the ledger has it among earlier entries. Totals before and after
    // show the order.
    expect(answers.sort(byOrder)).toEqual(ledger.toSorted(byOrder))
    return [...bodies.values()]
  }

  async boardsHold({ counting, ledger }: Recount): Promise<void> {
    const today = dateAt(this.now)
    const m0 = counting.filter(({ metric }) => metric === 'm0')
    const xp = ledger.filter(({ system }) => system === 'xp')
    const isToday = ({ at }: { at: number }) => dateAt(at) === today
    const hour = (at: number) => (at % DAY) / HOUR
    const metric = (list: typeof m0) => Math.floor(sum(list.map(({ value }) => value)) / 1e6)
    const points = (list: typeof xp) => sum(list.map(({ awarded }) => awarded))
    const scores: Record<string, number> = {
      all: metric(m0),
      daily: metric(m0.filter(isToday)),
      window: metric(m0.filter(({ at }) => hour(at) >= 6 && hour(at) < 18)),
      points: points(xp),
      'points-daily': points(xp.filter(isToday)),
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
    const range = `aggregation=daily&startDate=${dateAt(this.now - 40 * DAY)}&endDate=${dateAt(this.now)}`
    const changes = async (path: string) => {
      const { body } = await this.tenant.app('GET', `/users/${USER}/${path}/event-summary?${range}`)
      const days = z.array(z.object({ date: z.string(), change: z.number() })).parse(body)
      return new Map(days.flatMap((one) => (one.change === 0 ? [] : [[one.date, one.change] as const])))
    }
    const byDay = (list: readonly (readonly [at: number, amount: number])[]) => {
      const sums = new Map<string, number>()
      for (const [at, amount] of list) sums.set(dateAt(at), (sums.get(dateAt(at)) ?? 0) + amount)
      return new Map([...sums].filter(([, amount]) => amount !== 0).sort(([a], [b]) => a.localeCompare(b)))
    }
    for (const metric of METRICS) {
      const own = counting.filter((one) => one.metric === metric)
      const wanted = byDay(own.map(({ at, value }) => [at, value / 1e6]))
      expect(await changes(`metrics/${metric}`)).toEqual(wanted)
    }
    for (const { id } of this.systems) {
      const own = ledger.filter(({ system }) => system === id)
      expect(await changes(`points/${id}`)).toEqual(byDay(own.map(({ at, awarded }) => [at, awarded])))
    }
  }
}

/**
 * Plays a world, and compares it with the oracle. After each step it looks at the achievements and the points only.
 * `see` gets the explanation of each award.
 */
export async function holdsIn(
  plan: Plan,
  see: (explanation: unknown) => void = () => undefined,
): Promise<void> {
  const tenant = await newTenant(newApp())
  await tenant.clock('DELETE')
  const world = new World(plan, tenant)
  await tenant.clock('PUT', { now: new Date(world.now).toISOString() })
  await world.configure()
  for (const [n, step] of plan.steps.entries()) {
    await world.play(step)
    await world.note()
    if (n % 5 === 4) await world.holds()
    else await world.looksRight()
  }
  for (const explanation of await world.explanationsHold()) see(explanation)
}
