import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { completionStep } from '../../src/features/notifications/schedule'
import { instant } from '../../src/lib/clock'
import { START } from '../helpers/time'
import { DAY, forgetTime, HOUR, moveTo } from '../helpers/worker/boards'
import { contextOfUsers, worksOf } from '../helpers/worker/contexts'
import { answerLost, beforeFirst, faultyLast, lost } from '../helpers/worker/faulty'
import { at, lastDatabase, newTenantInLast, type TestTenant } from '../helpers/worker/harness'
import { keepTold, toldOf } from '../helpers/worker/received'
import { Hook } from '../helpers/worker/receiver'

const NOON = START + 5 * DAY

beforeAll(keepTold)
beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const HOOK = { url: new Hook().url, events: ['emails.achievement_due'] }
const DUE = 'emails.achievement_due'

/** A tenant with a webhook, and an achievement that the given users complete at once. */
async function achieved(users: Record<string, unknown>[] = [{ id: 'ada' }]): Promise<TestTenant> {
  const tenant = await newTenantInLast()
  const metricId = await tenant.metric('m')
  const trigger = { trigger: 'metric', metricId, metricValue: 1, status: 'active' }
  await tenant.create('/achievements', { key: 'first', name: 'First', ...trigger })
  await tenant.create('/webhooks', HOOK)
  for (const user of users) expect((await tenant.event('m', user, 1)).status).toBe(201)
  return tenant
}

async function step(tenant: TestTenant, d1?: D1Database): Promise<void> {
  const context = contextOfUsers(tenant.id, d1)
  const work = (await worksOf(context)).find(({ kind }) => kind === 'completions')
  if (work === undefined) throw new Error('There is no such work.')
  await completionStep(context, work, instant(NOON + 30 * DAY))
}

const told = async (tenant: TestTenant) =>
  (await toldOf(tenant, DUE)).map((one) => `${one.user} ${(one.at - NOON) / HOUR}`)
const left = (tenant: TestTenant) =>
  lastDatabase()
    .d1.prepare('SELECT count(*) AS n FROM pending_notifications WHERE tenant_id = ?1')
    .bind(tenant.id)
    .first('n')

it("[N2] sends at 17:00 of each user's day, at once if it is later but before 21:00, else the next day", async () => {
  const tenant = await achieved([
    { id: 'ada' },
    { id: 'bob', tz: 'Asia/Kathmandu' },
    { id: 'cleo', tz: 'Asia/Tokyo' },
  ])
  // It is 17:45 in Kathmandu and 21:00 in Tokyo.
  await moveTo(NOON + 5 * HOUR - 1)
  expect(await told(tenant)).toEqual(['bob 0'])
  await moveTo(NOON + DAY)
  expect(await told(tenant)).toEqual(['bob 0', 'ada 5', 'cleo 20'])
  const [message] = await toldOf(tenant, DUE)
  expect(message?.body).toMatchObject({
    timestamp: new Date(NOON).toISOString(),
    user: { id: 'bob' },
    achievement: { key: 'first', achievedAt: new Date(NOON).toISOString() },
  })
  expect(await left(tenant)).toBe(0)
  expect((await worksOf(contextOfUsers(tenant.id))).filter(({ kind }) => kind === 'completions')).toEqual([])
})

it('notifies each user once if the step fails, runs six times in parallel, or loses its response', async () => {
  const tenant = await achieved([{ id: 'ada' }, { id: 'bob' }])
  expect(await left(tenant)).toBe(2)
  await expect(step(tenant, faultyLast(() => Promise.reject(lost())).DB)).rejects.toThrow('lost')
  expect(await told(tenant)).toEqual([])
  await Promise.all(Array.from({ length: 6 }, () => step(tenant)))
  expect(await told(tenant)).toEqual(['ada 5', 'bob 5'])
  const other = await achieved()
  const { DB } = faultyLast(answerLost)
  await expect(step(other, DB)).rejects.toThrow('lost')
  await moveTo(NOON + DAY)
  expect(await told(other)).toEqual(['ada 5'])
})

it('[N5] stores no notification without an active webhook, and sends none after the webhook became inactive', async () => {
  const tenant = await achieved()
  expect(await left(tenant)).toBe(1)
  const { body } = await tenant.admin('GET', '/webhooks')
  await tenant.admin('PATCH', '/webhooks', [{ id: at(body, 0, 'id'), status: 'inactive' }])
  await tenant.event('m', 'bob', 1)
  expect(await left(tenant)).toBe(1)
  await moveTo(NOON + DAY)
  expect(await told(tenant)).toEqual([])
  expect(await left(tenant)).toBe(0)
})

it('[A3, A4] notifies of completions by a batch and by the API, but not of backdated ones', async () => {
  const tenant = await achieved([])
  await tenant.create('/achievements', { key: 'byApi', name: 'By API', trigger: 'api', status: 'active' })
  const batch = [{ key: 'm', user: { id: 'ada' }, value: 1 }]
  expect((await tenant.admin('POST', '/metrics/events', batch)).status).toBe(202)
  expect((await tenant.app('POST', '/achievements/byApi/complete', { user: { id: 'bob' } })).status).toBe(201)
  const { body } = await tenant.admin('GET', '/metrics')
  const trigger = { trigger: 'metric', metricId: at(body, 0, 'id'), metricValue: 1, status: 'active' }
  await moveTo(NOON + HOUR)
  await tenant.create('/achievements', { key: 'late', name: 'Late', ...trigger })
  await moveTo(NOON + DAY)
  expect((await told(tenant)).sort()).toEqual(['ada 5', 'bob 5'])
})

it('[N1] stores no notification for users in the control group', async () => {
  const tenant = await achieved([])
  await tenant.admin('PATCH', '/settings', { experimentation: { controlRatio: 100 } })
  await tenant.event('m', 'ada', 1)
  expect(await left(tenant)).toBe(0)
})

it('uses the new configuration if it changes between read and write', async () => {
  const tenant = await achieved()
  const meanwhile = async () => {
    const { body } = await tenant.admin('GET', '/webhooks')
    await tenant.admin('DELETE', `/webhooks?ids=${at(body, 0, 'id')}`)
  }
  const { DB } = faultyLast(beforeFirst(meanwhile))
  await step(tenant, DB)
  expect(await left(tenant)).toBe(1)
  await step(tenant, DB)
  expect([await told(tenant), await left(tenant)]).toEqual([[], 0])
})

it('[U8] sends nothing about an erased user, also if a new user has the same id', async () => {
  const tenant = await achieved([{ id: 'ada' }, { id: 'bob' }])
  for (const id of ['ada', 'bob']) expect((await tenant.admin('DELETE', `/users/${id}`)).status).toBe(200)
  expect(await left(tenant)).toBe(0)
  await moveTo(NOON + 2 * HOUR)
  await tenant.event('m', 'bob', 1)
  await moveTo(NOON + DAY)
  const messages = await toldOf(tenant, DUE)
  expect(messages.map(({ user, body }) => [user, at(body, 'achievement', 'achievedAt')])).toEqual([
    ['bob', new Date(NOON + 2 * HOUR).toISOString()],
  ])
})
