import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { bytes, number, numbered } from '../helpers/readable'
import { runs } from '../helpers/runs'
import { DAY, dateAt, forgetTime, HOUR, moveTo, NOON } from '../helpers/worker/boards'
import { faulty } from '../helpers/worker/faulty'
import { at, newApp, newTenant, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { explained, type Logged, type OracleSystem } from '../oracle/explanations.oracle'

afterEach(forgetTime)

/* A world with every kind of award, and every rounding */

const TRIGGERS: OracleSystem['triggers'] = [
  { id: 'welcome', on: 'creation', points: 7 },
  { id: 'words', on: 'metric', metric: 'words', threshold: 3, language: null, points: 5 },
  { id: 'english', on: 'metric', metric: 'words', threshold: 2, language: 'en', points: 3 },
  { id: 'price', on: 'metric', metric: 'hints', threshold: 4, language: null, points: -16 },
  { id: 'streak', on: 'streak', length: 2, points: 9 },
  { id: 'goal', on: 'achievement', points: 11 },
  { id: 'daily', on: 'tick', points: 1 },
]
const GOAL = { metric: 'words', total: 20 }
const SYSTEMS: readonly OracleSystem[] = [
  { id: 'plain', max: null, triggers: TRIGGERS, boosts: [] },
  { id: 'down', max: 60, triggers: TRIGGERS, boosts: [{ hundredths: 115, rounding: 'down' }] },
  {
    id: 'up',
    max: null,
    triggers: TRIGGERS,
    boosts: [
      { hundredths: 115, rounding: 'up' },
      { hundredths: 30, rounding: 'up' },
    ],
  },
  { id: 'nearest', max: 90, triggers: TRIGGERS, boosts: [{ hundredths: 150, rounding: 'nearest' }] },
  {
    id: 'mixed',
    max: 200,
    triggers: TRIGGERS,
    boosts: [
      { hundredths: 70, rounding: 'up' },
      { hundredths: 190, rounding: 'nearest' },
    ],
  },
]

/** Makes the configuration. Returns the names of the triggers by id. */
async function configure(tenant: TestTenant): Promise<Map<string, string>> {
  const metrics: Record<string, string> = {
    words: await tenant.metric('words'),
    hints: await tenant.metric('hints'),
  }
  const language = await tenant.create('/attributes', { key: 'language', name: 'Language', type: 'event' })
  const achievementId = await tenant.create('/achievements', {
    ...{ key: 'goal', name: 'Goal', trigger: 'metric', status: 'active' },
    ...{ metricId: metrics[GOAL.metric], metricValue: GOAL.total },
  })
  const names = new Map<string, string>()
  for (const { id, max, triggers, boosts } of SYSTEMS) {
    const system = await tenant.create('/points', { key: id, name: id, maxPoints: max })
    for (const [n, { hundredths, rounding }] of boosts.entries()) {
      const boost = { name: `Boost ${n}`, start: dateAt(NOON - DAY), multiplier: hundredths / 100, rounding }
      await tenant.create(`/points/${system}/boosts`, boost)
    }
    for (const trigger of triggers) {
      const created = await tenant.create(`/points/${system}/triggers`, {
        ...{ points: trigger.points, status: 'active' },
        ...fieldsOf(trigger),
      })
      names.set(created, trigger.id)
    }
  }
  return names

  function fieldsOf(trigger: OracleSystem['triggers'][number]) {
    switch (trigger.on) {
      case 'metric': {
        const filter = { attributeId: language, attributeValue: trigger.language }
        return {
          ...{ type: 'metric', metricId: metrics[trigger.metric], metricThreshold: trigger.threshold },
          ...(trigger.language !== null && { eventAttributes: [filter] }),
        }
      }
      case 'streak':
        return { type: 'streak', streakLength: trigger.length }
      case 'achievement':
        return { type: 'achievement', achievementId }
      case 'creation':
        return { type: 'user_creation' }
      default:
        return { type: 'time', timeUnit: 'days', timeInterval: 1 }
    }
  }
}

/** An event, some hours after the one before. */
type Step = {
  hours: number
  metric: 'words' | 'hints'
  hundredths: number
  language: string | null
  /** An adjustment after the event. None if the amount is 0. */
  adjust: { system: number; amount: number }
  /** Chooses an earlier event that is voided after the event. None if null. */
  voids: number | null
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    hours: fc.integer({ min: 1, max: 30 }),
    metric: fc.constantFrom('words', 'words', 'hints'),
    hundredths: fc.integer({ min: -400, max: 1_500 }),
    language: fc.constantFrom('en', 'fr', null),
    adjust: fc.record({
      system: fc.integer({ min: 0, max: SYSTEMS.length - 1 }),
      amount: fc.constantFrom(0, 0, 30, -80),
    }),
    voids: fc.constantFrom(null, null, 0, 1, 2, 5),
  }),
  { minLength: 8, maxLength: 16, size: 'max' },
)

const REASON = 'A test'

/** Plays the steps, and returns the log for the oracle. */
async function play(tenant: TestTenant, plan: readonly Step[]): Promise<Logged[]> {
  const log: Logged[] = []
  let now = NOON
  let tick = NOON + DAY
  for (const [n, { hours, metric, hundredths, language, adjust, voids }] of plan.entries()) {
    now += hours * HOUR
    await moveTo(now)
    for (; tick <= now; tick += DAY) if (n > 0) log.push({ kind: 'tick', at: tick })
    const { body } = await tenant.event(metric, 'ada', hundredths / 100, {
      idempotencyKey: `key ${n}`,
      ...(language !== null && { attributes: { language } }),
    })
    log.push({ kind: 'event', id: String(at(body, 'eventId')), at: now, metric, hundredths, language })
    if (adjust.amount !== 0) {
      const { amount } = adjust
      const system = SYSTEMS[adjust.system]?.id ?? ''
      const items = [{ userId: 'ada', amount, reason: REASON }]
      await tenant.admin('POST', `/points/${system}/adjustments`, items)
      log.push({ kind: 'adjust', at: now, system, amount })
    }
    // Without an event that takes points, a total that never was could complete the achievement.
    const gone = log.map((one) => (one.kind === 'void' ? one.event : null))
    const left = log.filter((one) => one.kind === 'event' && one.hundredths > 0 && !gone.includes(one.id))
    const chosen = voids === null ? undefined : left[voids % left.length]
    if (chosen?.kind === 'event') {
      const voiding = `/users/ada/events/${chosen.id}/void`
      expect((await tenant.admin('POST', voiding, { reason: REASON })).status).toBe(200)
      log.push({ kind: 'void', at: now, event: chosen.id })
    }
  }
  return log
}

const Exported = z.object({
  awards: z.array(z.object({ id: z.string(), systemKey: z.string(), date: z.string() })),
  events: z.array(z.object({ id: z.string() })),
})

const momentAt = (moment: number) => ({
  at: new Date(moment).toISOString(),
  localDate: dateAt(moment),
  utcOffsetMinutes: 0,
})

const exported = async (tenant: TestTenant) =>
  Exported.parse((await tenant.admin('GET', '/users/ada/export')).body)

const explain = async (tenant: TestTenant, system: string, id: string) => {
  const { status, body } = await tenant.admin('GET', `/users/ada/points/${system}/awards/${id}`)
  expect(status).toBe(200)
  return body
}

const NAMES = ['at', 'trigger', 'type', 'event', 'reverses', 'total', 'awarded'] as const
const byOrder = (a: unknown, b: unknown) => {
  const [one, other] = [a, b].map((entry) => JSON.stringify(NAMES.map((name) => at(entry, name))))
  return (one ?? '') < (other ?? '') ? -1 : 1
}

it('[X1, P1, P5, P6, V1, V2] explains every award and correction as a recount of the log does', async () => {
  const seen = new Set<unknown>()
  const playAndHold = async (plan: readonly Step[]) => {
    await moveTo(NOON)
    const tenant = await newTenant()
    const names = await configure(tenant)
    const log = await play(tenant, plan)
    const { awards } = await exported(tenant)
    const answers: unknown[] = []
    const bodies = new Map<string, { systemKey: string; body: unknown }>()
    for (const { id, systemKey } of awards) {
      bodies.set(id, { systemKey, body: await explain(tenant, systemKey, id) })
    }
    const triggerOf = (body: unknown) => names.get(String(at(body, 'trigger', 'id'))) ?? null
    for (const [id, { systemKey, body }] of bodies) {
      expect(at(body, 'award', 'id')).toBe(id)
      const event = log.find((one) => one.kind === 'event' && one.id === at(body, 'event', 'id'))
      const n = plan.findIndex((_, index) => event === log.filter(({ kind }) => kind === 'event')[index])
      if (event?.kind === 'event') {
        expect(at(body, 'event')).toMatchObject({
          ...{ metricKey: event.metric, value: event.hundredths / 100, idempotencyKey: `key ${n}` },
          attributes: event.language === null ? {} : { language: event.language },
          ...{ at: new Date(event.at).toISOString(), localDate: dateAt(event.at), utcOffsetMinutes: 0 },
        })
      }
      const boosts = at(body, 'boosts')
      const type = at(body, 'type') ?? null
      if (type !== null) expect(body).toMatchObject({ trigger: null, reason: REASON })
      const reverses = at(body, 'reverses')
      const reversed = bodies.get(String(reverses))?.body
      answers.push({
        system: systemKey,
        trigger: triggerOf(body),
        type,
        reverses:
          type === 'reversal'
            ? { event: at(reversed, 'event', 'id') ?? null, trigger: triggerOf(reversed) }
            : null,
        at: Date.parse(String(at(body, 'award', 'at'))),
        event: at(body, 'event', 'id') ?? null,
        counter: at(body, 'counter'),
        firings: at(body, 'firings'),
        base: at(body, 'base'),
        boosts: Array.isArray(boosts) ? boosts.length : null,
        afterBoosts: at(body, 'afterBoosts'),
        limit: at(body, 'limit'),
        awarded: at(body, 'award', 'awarded'),
        total: at(body, 'total'),
      })
      if (type !== null) seen.add(`${String(type)} ${String(at(body, 'limit'))}`)
      for (const field of ['limit', 'firings']) seen.add(at(body, field))
      seen.add(at(body, 'trigger', 'type'))
    }
    const expected = explained(log, SYSTEMS, GOAL)
    for (const { id } of SYSTEMS) {
      // A reversal has the moment of its award, so the ledger has it among earlier entries. Totals before and
      // after show the order.
      const of = (list: readonly unknown[]) =>
        list.filter((one) => at(one, 'system') === id).toSorted((a, b) => byOrder(a, b))
      expect(of(answers)).toEqual(of(expected))
    }
    await forgetTime()
  }
  // These plans are the same in each run. They have every kind of award.
  for (const plan of fc.sample(steps, { numRuns: 2, seed: 8 })) await playAndHold(plan)
  const kinds = ['metric', 'streak', 'achievement', 'user_creation', 'time', 'cap', 'floor', null, 1, 2]
  const limits = ['null', 'cap', 'floor']
  kinds.push(...['adjustment', 'reversal'].flatMap((type) => limits.map((limit) => `${type} ${limit}`)))
  expect(kinds.filter((kind) => !seen.has(kind))).toEqual([])
  const more = runs(0, 5)
  if (more > 0) await fc.assert(fc.asyncProperty(steps, playAndHold), { numRuns: more })
})

describe('GET /admin/v1/users/{id}/points/{key}/awards/{awardId}', () => {
  let tenant: TestTenant
  let system: string
  let words: string
  beforeEach(async () => {
    await moveTo(NOON)
    tenant = await newTenant()
    words = await tenant.metric('words')
    system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  })

  const trigger = (more: object) =>
    tenant.create(`/points/${system}/triggers`, {
      ...{ type: 'metric', metricId: words, metricThreshold: 10, points: 5, status: 'active', ...more },
    })
  const first = async () => String(at(await exported(tenant), 'awards', 0, 'id'))

  it('[X1] shows the trigger as it was, also after it was changed or deleted', async () => {
    const id = await trigger({})
    await tenant.event('words', 'ada', 25)
    await tenant.admin('PATCH', `/points/${system}/triggers`, [{ id, points: 100, metricThreshold: 1 }])
    const answer = {
      trigger: { id, points: 5, metricThreshold: 10 },
      ...{ counter: { before: 0, after: 25 }, firings: 2, base: 10, boosts: [], afterBoosts: 10 },
      ...{ limit: null, total: { before: 0, after: 10 }, award: { awarded: 10, total: 10 } },
      event: { metricKey: 'words', value: 25, attributes: {}, idempotencyKey: null },
    }
    expect(await explain(tenant, 'xp', await first())).toMatchObject(answer)
    await tenant.admin('DELETE', `/points/${system}/triggers?ids=${id}`)
    expect(await explain(tenant, system.toUpperCase(), await first())).toMatchObject(answer)
  })

  it('[X1] finds the event in the metric of the user that it belongs to, on the date of the user', async () => {
    for (const key of ['a', 'b', 'c']) {
      await tenant.metric(key)
      await tenant.event(key, { id: 'ada', tz: 'Pacific/Auckland' }, 1)
    }
    await trigger({})
    const { body } = await tenant.event('words', 'ada', 10)
    const auckland = new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Auckland' })
    expect(at(await explain(tenant, 'xp', await first()), 'event')).toMatchObject({
      id: at(body, 'eventId'),
      at: new Date(NOON).toISOString(),
      localDate: auckland.format(NOON),
    })
  })

  it('[X1] answers null for what is no longer known', async () => {
    const page = await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
    await trigger({})
    await tenant.event('words', 'ada', 10, { attributes: { page: 'one' } })
    await rowsEverywhere(
      `UPDATE awards SET counter_before = NULL, counter_after = NULL WHERE user_iid =
       (SELECT ${bytes('iid')} FROM users WHERE tenant_id = ?1)`,
      tenant.id,
    )
    const id = await first()
    expect(await explain(tenant, 'xp', id)).toMatchObject({
      ...{ counter: null, firings: null, base: null, afterBoosts: null, limit: null },
      total: { before: 0, after: 5 },
    })
    await tenant.admin('DELETE', `/metrics?ids=${words}`)
    await tenant.admin('DELETE', `/attributes?ids=${page}`)
    expect(at(await explain(tenant, 'xp', id), 'event')).toMatchObject({
      ...{ metricKey: null, metricId: words, attributes: { [page]: 'one' } },
    })
  })

  it('[X1, V2] shows the event of an award also after it was voided, and reversals by themselves', async () => {
    await trigger({})
    const { body } = await tenant.event('words', 'ada', 10, { idempotencyKey: 'once' })
    const id = await first()
    const before = await explain(tenant, 'xp', id)
    expect(before).toMatchObject({ event: { idempotencyKey: 'once' }, firings: 1 })
    await moveTo(NOON + DAY)
    await tenant.admin('POST', `/users/ada/events/${String(at(body, 'eventId'))}/void`, { reason: 'Twice' })
    expect(await explain(tenant, 'xp', id)).toEqual(before)
    const { awards } = await exported(tenant)
    const reversal = String(awards.find((one) => one.id !== id)?.id)
    expect(await explain(tenant, 'xp', reversal)).toEqual({
      award: { id: reversal, awarded: -5, total: 0, ...momentAt(NOON) },
      ...{ event: null, trigger: null, type: 'reversal', reason: 'Twice', reverses: id },
      ...{ counter: null, firings: null, base: null, boosts: [], afterBoosts: -5, limit: null },
      total: { before: 5, after: 0 },
    })
  })

  it('[X1, G2] is 404 for a user, a system or an award that does not exist, and for the award of another', async () => {
    await trigger({})
    await tenant.event('words', 'ada', 10)
    await tenant.event('words', 'bob', 10)
    await tenant.create('/points', { key: 'gems', name: 'Gems' })
    const id = await first()
    const status = async (path: string) => (await tenant.admin('GET', path)).status
    expect(await status(`/users/ada/points/xp/awards/${id}`)).toBe(200)
    for (const path of [
      `/users/bob/points/xp/awards/${id}`,
      `/users/nobody/points/xp/awards/${id}`,
      `/users/ada/points/gems/awards/${id}`,
      `/users/ada/points/none/awards/${id}`,
      `/users/ada/points/xp/awards/${system}`,
      '/users/ada/points/xp/awards/none',
    ]) {
      expect([path, await status(path)]).toEqual([path, 404])
    }
  })

  it.each([
    ['an award', 0, 'n'],
    // The void is before all these entries, and its reversal has the moment of the award.
    ['a reversal', 1, `${NOON + 2 * DAY} + n`],
  ])('[X1] reads little for %s, however long the ledger is', async (_name, nth, moment) => {
    await trigger({})
    const { body } = await tenant.event('words', 'ada', 10)
    await moveTo(NOON + DAY)
    await tenant.admin('POST', `/users/ada/events/${String(at(body, 'eventId'))}/void`, {})
    const id = String(at(await exported(tenant), 'awards', nth, 'id'))
    const cost = async () => {
      const { DB, seen } = faulty(({ run }) => run())
      expect(await explain(tenant.through(newApp({ DB })), 'xp', id)).toMatchObject({
        award: { awarded: nth === 0 ? 5 : -5 },
      })
      return seen.rowsRead
    }
    const before = await cost()
    await env.DB.prepare(
      `INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset, trigger_no,
         trigger_version)
       WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
       SELECT ${bytes('iid')}, ${number('points_systems', '?2')}, ${moment}, 0, 0, ${numbered('n')}, 1, 1, 0,
         1, 1
       FROM users, numbers WHERE tenant_id = ?1`,
    )
      .bind(tenant.id, system)
      .run()
    expect(await cost()).toBe(before)
  })
})
