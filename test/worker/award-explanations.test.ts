import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { bytes } from '../helpers/readable'
import { DAY, dateAt, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { EVERY_KIND, holdsIn, plans } from '../helpers/worker/corrections.world'
import { faulty } from '../helpers/worker/faulty'
import { at, newApp, newTenant, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { manyAwards } from '../helpers/worker/stored-events'

afterEach(forgetTime)

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

it('[X1, P1, P5, P6, V1, V2] explains every award and correction as a recount of the log does', async () => {
  const seen = new Set<unknown>()
  for (const plan of [EVERY_KIND, ...fc.sample(plans, { numRuns: 1, seed: 8 })]) {
    await holdsIn(plan, (body) => {
      const [type, limit] = [at(body, 'type') ?? null, at(body, 'limit')]
      if (type !== null) seen.add(`${String(type)} ${String(limit)}`)
      for (const one of [limit, at(body, 'firings'), at(body, 'trigger', 'type')]) seen.add(one)
    })
  }
  const kinds = ['metric', 'streak', 'achievement', 'user_creation', 'time', 'cap', 'floor', null, 1, 2]
  const limits = ['null', 'cap', 'floor']
  kinds.push(...['adjustment', 'reversal'].flatMap((type) => limits.map((limit) => `${type} ${limit}`)))
  expect(kinds.filter((kind) => !seen.has(kind))).toEqual([])
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
    ['an award', 0, 0],
    // The void is before all these entries, and its reversal has the moment of the award.
    ['a reversal', 1, NOON + 2 * DAY],
  ])('[X1] reads little for %s, however long the ledger is', async (_name, nth, after) => {
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
    await manyAwards(tenant, { system, count: 20_000, after })
    expect(await cost()).toBe(before)
  })
})
