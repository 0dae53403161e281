import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { scheduleJob } from '../../src/features/notifications/schedule'
import { candidatesAfter } from '../../src/features/notifications/schedule.sql'
import { flushPoints } from '../../src/features/points/points-changed'
import { instant } from '../../src/lib/clock'
import { canonicalZone } from '../../src/lib/zone'
import type { DueWork } from '../../src/time/due-work.sql.ts'
import { drain } from '../../src/webhooks/delivery/drain'
import { casesOf } from '../helpers/runs'
import { present, START } from '../helpers/time'
import { words } from '../helpers/words'
import { DAY, dateAt, forgetTime, HOUR, moveTo, moveUnseen } from '../helpers/worker/boards'
import { contextOfUsers, whenBy, worksOf } from '../helpers/worker/contexts'
import { answerLost, beforeFirst, faultyLast, lost } from '../helpers/worker/faulty'
import {
  at,
  lastDatabase,
  newTenantInLast,
  newTenantWith,
  pick,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { messagesOf, subscribe } from '../helpers/worker/messages'
import { keepTold, toldOf } from '../helpers/worker/received'
import { Hook } from '../helpers/worker/receiver'
import { EXAMPLES, holdsIn } from '../helpers/worker/schedule.world'
import { removeUsers } from '../helpers/worker/stored-users'

/** A Wednesday at noon, in UTC, some weeks ahead. */
const NOON = Date.UTC(2026, 5, 17, 12)
const EVENING = NOON + 8 * HOUR

beforeAll(keepTold)
beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

/** Moves the clock so that only the test does the work: what the Timekeeper was asked before has ended, or is dropped. */
async function stealthily(tenant: TestTenant, ms: number): Promise<void> {
  const timekeeper = env.TIMEKEEPER.getByName(tenant.id)
  await timekeeper.wake(tenant.id, 0)
  await runInDurableObject(timekeeper, (_, { storage }) => storage.deleteAlarm())
  await moveUnseen(ms)
}

const DUE = ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due']
const HOOK = { url: new Hook().url, events: DUE }

/** A tenant with a webhook and users who were active yesterday, so that reminders are due this evening. */
async function reminded(users: Record<string, unknown>[] = [{ id: 'ada' }]): Promise<TestTenant> {
  const tenant = await newTenantWith('m', newTenantInLast)
  for (const user of users) expect((await tenant.event('m', user, 1)).status).toBe(201)
  await tenant.create('/webhooks', HOOK)
  await moveTo(NOON + DAY)
  await rowsEverywhere('DELETE FROM test_told')
  return tenant
}
const TODAY = EVENING + DAY

async function work(tenant: TestTenant): Promise<DueWork> {
  const found = (await worksOf(contextOfUsers(tenant.id))).find(({ kind }) => kind === 'schedule')
  if (found === undefined) throw new Error('nothing is scheduled')
  return found
}

const run = (tenant: TestTenant, due: DueWork, DB: D1Database = lastDatabase().d1, to = TODAY) =>
  scheduleJob.run(contextOfUsers(tenant.id, DB), due, whenBy(instant(to)))
const step = async (tenant: TestTenant, DB?: D1Database) => run(tenant, await work(tenant), DB)

/** Steps until nothing is due by a moment. */
async function allSteps(tenant: TestTenant, DB?: D1Database, to = TODAY): Promise<number> {
  for (let steps = 0; ; steps += 1) {
    const [next] = (await worksOf(contextOfUsers(tenant.id))).filter(({ kind }) => kind === 'schedule')
    if (next === undefined || next.dueAt > to) return steps
    await run(tenant, next, DB, to)
  }
}

const told = async (tenant: TestTenant) =>
  (await toldOf(tenant, 'emails.')).map(({ type, user }) => `${type} ${user}`).sort()
const REMINDER = 'emails.streak_reminder_due'

function template(tenant: TestTenant, type: string, channel: string, body = 'b') {
  const title = channel === 'email' ? { subject: 't' } : { title: 't' }
  return tenant.create('/notifications/templates', { type, channel, ...title, body, status: 'active' })
}

describe('[N2, C2] a step of the schedule, under faults', () => {
  it('repeated with the same due work, and six at once: each user is notified once', async () => {
    const tenant = await reminded()
    await stealthily(tenant, TODAY)
    const due = await work(tenant)
    expect(due.dueAt).toBe(TODAY)
    await Promise.all(Array.from({ length: 6 }, () => run(tenant, due)))
    await run(tenant, due)
    await allSteps(tenant)
    expect(await told(tenant)).toEqual([`${REMINDER} ada`])
    expect((await work(tenant)).dueAt).toBe(NOON + 2 * DAY - 3 * HOUR)
  })

  it('that failed before the write, and with a lost answer: each user is notified once', async () => {
    const tenant = await reminded()
    await stealthily(tenant, TODAY)
    const before = faultyLast(() => Promise.reject(lost()))
    await expect(step(tenant, before.DB)).rejects.toThrow('lost')
    expect(await told(tenant)).toEqual([])
    await expect(step(tenant, faultyLast(answerLost).DB)).rejects.toThrow('lost')
    await allSteps(tenant)
    expect(await told(tenant)).toEqual([`${REMINDER} ada`])
  })

  it('with an event between read and write: notifications that were due at the moment are sent, once', async () => {
    const tenant = await reminded([{ id: 'ada' }, { id: 'bob' }])
    await stealthily(tenant, TODAY)
    await step(tenant, faultyLast(beforeFirst(() => tenant.event('m', 'ada', 1))).DB)
    await allSteps(tenant)
    expect(await told(tenant)).toEqual([`${REMINDER} ada`, `${REMINDER} bob`])
  })

  it('[U8] with a user erased between read and write: nothing is kept of the user', async () => {
    const tenant = await reminded([{ id: 'ada' }, { id: 'bob' }])
    await stealthily(tenant, TODAY)
    await step(tenant, faultyLast(beforeFirst(() => removeUsers(tenant, 'ada'))).DB)
    expect(await told(tenant)).toEqual([`${REMINDER} bob`])
  })

  it('with the configuration changed in between: the step does nothing, and the next one uses the new one', async () => {
    const tenant = await reminded()
    const id = at((await tenant.admin('GET', '/webhooks')).body, 0, 'id')
    await stealthily(tenant, TODAY)
    const change = () => tenant.admin('PATCH', '/webhooks', [{ id, status: 'inactive' }])
    await allSteps(tenant, faultyLast(beforeFirst(change)).DB)
    expect(await told(tenant)).toEqual([])
    await expect(work(tenant)).rejects.toThrow('nothing is scheduled')
  })

  it('with many users: in chunks, each once', async () => {
    const tenant = await reminded()
    await usersOf(tenant, 2_600)
    await stealthily(tenant, TODAY)
    const { DB, seen } = faultyLast((batch) => batch.run())
    const steps = await allSteps(tenant, DB)
    const users = (await told(tenant)).map((line) => line.split(' ')[1])
    expect(users).toHaveLength(2_601)
    expect(new Set(users).size).toBe(2_601)
    expect(steps).toBeGreaterThan(4)
    // Two rows for each user with a notification, of which one is the tests' own copy, and one for each step.
    expect(seen.rowsWritten).toBeLessThan(2_601 * 2 + steps + 1)
    expect(seen.rowsRead).toBeLessThan(2_601 * 12)
    // The delivery does not matter here.
    await rowsEverywhere('DELETE FROM outbox')
  })
})

describe('[N2, C2] how many users are notified at once', () => {
  it.each(casesOf(2, [500, 501, 1_001, 499, 999]))(
    'with %i more users: each once, in full steps',
    async (count) => {
      const tenant = await reminded()
      await usersOf(tenant, count)
      await stealthily(tenant, TODAY)
      await step(tenant)
      expect(await told(tenant)).toHaveLength(Math.min(count + 1, 500))
      await allSteps(tenant)
      const all = await told(tenant)
      expect([all.length, new Set(all).size]).toEqual([count + 1, count + 1])
      await rowsEverywhere('DELETE FROM outbox')
    },
  )

  it('no more candidates of a page are read than can be notified, and the page ends at the same user', async () => {
    const tenant = await newTenantInLast()
    await usersOf(tenant, 1_200)
    const { db } = contextOfUsers(tenant.id)
    const day = Math.floor(NOON / DAY)
    const none = { zones: ['UTC'], at: instant(NOON), activeDays: [], activeFrom: null, pausedBefore: null }
    const all = { ...none, streakBefore: day + 1 }
    const user = (n: number) => `user${String(n).padStart(5, '0')}`
    const kinds = [all, { ...none, streakBefore: null }]
    const [some, nobody] = await candidatesAfter(db, user(100), { limit: 1_000, most: 501 }, kinds)
    expect([some?.ids.length, some?.ids[0], some?.ids.at(-1)]).toEqual([501, user(101), user(601)])
    expect([some?.last, nobody]).toEqual([user(1_100), { ids: [], last: user(1_100) }])
    const [rest] = await candidatesAfter(db, user(1_190), { limit: 1_000, most: 501 }, [all])
    expect([rest?.ids.length, rest?.last]).toEqual([10, null])
  })

  it('fewer at once with a long template', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    await template(tenant, 'streak_reminder', 'email', 'x'.repeat(60_000))
    await template(tenant, 'recap', 'email', 'y')
    await usersOf(tenant, 150, { email: "'a@example.com'" })
    await moveTo(NOON + DAY)
    await stealthily(tenant, TODAY)
    await step(tenant)
    const most = Math.floor(4_000_000 / 60_001)
    expect(await toldOf(tenant, 'notification.email')).toHaveLength(most)
    await allSteps(tenant)
    const all = (await toldOf(tenant, 'notification.email')).map(({ user }) => user)
    expect([all.length, new Set(all).size]).toEqual([150, 150])
    await rowsEverywhere('DELETE FROM outbox')
  })
})

/** Makes users with a streak up to yesterday. */
function usersOf(tenant: TestTenant, count: number, more: Record<string, string> = {}): Promise<void> {
  const day = Math.floor(NOON / DAY)
  const run = { started: day, first: day, last: day, history: '1e', length: 1, extended: NOON }
  return manyUsers(tenant, count, {
    ...{ changed: `${NOON}`, created: `${NOON}`, updated: `${NOON}`, last_seq_by_input: "'{}'" },
    streak: `'${JSON.stringify({ frequency: 'daily', run })}'`,
    ...{ streak_due: `${(day + 2) * DAY}`, active_day: `${day}`, ...more },
  })
}

describe('[N1, N5] which users are notified', () => {
  it('[N5] nothing is scheduled while no template is active and no webhook is subscribed', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    await tenant.event('m', 'ada', 1)
    await tenant.create('/webhooks', { ...HOOK, events: ['streak.lost'] })
    await tenant.create('/webhooks', { ...HOOK, status: 'inactive' })
    await moveTo(NOON + 10 * DAY)
    await expect(work(tenant)).rejects.toThrow('nothing is scheduled')
    expect(await toldOf(tenant, 'emails.')).toEqual([])
  })

  it('[N5] webhooks need the preference and the subscription, but no address and no control group', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    for (const id of ['plain', 'off', 'push', 'unsubscribed']) await tenant.event('m', id, 1)
    await tenant.admin('PATCH', '/settings', { experimentation: { controlRatio: 100 } })
    await tenant.event('m', 'control', 1)
    const preferences = (id: string, channels: string[]) =>
      tenant.app('PATCH', `/users/${id}/preferences`, { notifications: { streak_reminder: channels } })
    expect((await preferences('off', [])).status).toBe(200)
    expect((await preferences('push', ['push'])).status).toBe(200)
    await tenant.app('PATCH', '/users/unsubscribed', { subscribeToEmails: false })
    await tenant.create('/webhooks', HOOK)
    await moveTo(TODAY)
    expect((await told(tenant)).filter((line) => line.startsWith(REMINDER))).toEqual([`${REMINDER} plain`])
    const [message] = await toldOf(tenant, REMINDER)
    expect(message?.body).toMatchObject({
      timestamp: new Date(TODAY).toISOString(),
      user: { id: 'plain' },
      streak: { length: 1, frequency: 'daily', pauses: [] },
    })
    expect(at(message?.body, 'streak', 'streakHistory')).toHaveLength(7)
  })

  it('[N1] notifications use each channel that has a template and an address or a device', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    const users = [
      { id: 'both', email: 'a@example.com', deviceTokens: ['x'] },
      { id: 'mail', email: 'b@example.com' },
      { id: 'quiet', email: 'c@example.com', subscribeToEmails: false },
      { id: 'phone', deviceTokens: ['y'] },
      { id: 'nowhere' },
    ]
    for (const user of users) await tenant.event('m', user, 1)
    await template(tenant, 'reactivation', 'email')
    await template(tenant, 'reactivation', 'push')
    await moveTo(NOON + 3 * DAY)
    const messages = (await toldOf(tenant)).map(({ type, user, body }) => `${type} ${body.type} ${user}`)
    expect(messages.sort()).toEqual([
      'notification.email reactivation both',
      'notification.email reactivation mail',
      'notification.push reactivation both',
      'notification.push reactivation phone',
    ])
  })

  it('[N2, N3] a recap by email has the changes in the period, and the totals at its end', async () => {
    const tenant = await newTenantInLast()
    const metricId = await tenant.metric('m')
    await tenant.metric('unused')
    const trigger = { type: 'metric', points: 10, status: 'active', metricId, metricThreshold: 1 }
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
    const user = { id: 'ada', email: 'a@example.com' }
    // A Wednesday, the Thursday of the week after, and the Monday when the recap is sent.
    await tenant.event('m', user, 1.5)
    const text =
      '{{ recap.periodStart }} {% for one in recap.metrics %}{{ one.key }} {{ one.change }} {{ one.total }}{% endfor %} {% for one in recap.points %}{{ one.key }} {{ one.change }} {{ one.total }}{% endfor %}.'
    await template(tenant, 'recap', 'email', text)
    await moveTo(NOON + 8 * DAY)
    await rowsEverywhere('DELETE FROM test_told')
    await tenant.event('m', user, 2.25)
    await moveTo(NOON + 12 * DAY - 4 * HOUR)
    await tenant.event('m', user, 4)
    await moveTo(NOON + 12 * DAY)
    const [message, ...others] = await toldOf(tenant, 'notification.')
    expect(others).toEqual([])
    expect(message?.body).toMatchObject({
      ...{ type: 'recap', channel: 'email', userId: 'ada', to: 'a@example.com', title: 't' },
      body: expect.stringContaining(`${dateAt(NOON + 5 * DAY)} m 2.25 3.75 xp 20 30.`),
    })
  })

  it('[N2, E1] a recap may have a change from one end of all totals to the other, and stops no other one', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    const events = (id: string, count: number, value: number) =>
      Promise.all(
        Array.from({ length: count }, () => tenant.event('m', { id, deviceTokens: [`token-${id}`] }, value)),
      )
    await events('ada', 9, 1_000_000_000)
    await moveTo(NOON + 8 * DAY)
    await template(tenant, 'recap', 'push', '{{ recap.metrics[0].change }} {{ recap.metrics[0].total }}')
    await events('ada', 18, -1_000_000_000)
    await events('bob', 1, 2)
    await moveTo(NOON + 12 * DAY)
    const recaps = await toldOf(tenant, 'notification.')
    expect(recaps.map(({ user, body }) => `${user}: ${at(body, 'body')}`).sort()).toEqual([
      'ada: -18000000000 -9000000000',
      'bob: 2 2',
    ])
  })

  it('[N2, S7] there is no reactivation in a pause, and after it the days count from its end', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    await tenant.create('/webhooks', { ...HOOK, events: ['emails.reactivation_due', 'emails.recap_due'] })
    for (const id of ['ada', 'bob', 'cleo']) await tenant.event('m', id, 1)
    const date = (days: number) => dateAt(NOON + days * DAY)
    const pauses = [
      { userId: 'ada', start: date(2), end: date(9) },
      { userId: 'bob', start: date(4), end: date(20) },
      { userId: 'cleo', start: date(4), end: date(20) },
    ]
    const made = await tenant.admin('POST', '/streaks/pauses', { pauses })
    expect(made.status).toBe(201)
    await moveTo(NOON + 6 * DAY)
    // From the next day on, the pause does not count.
    await tenant.admin('DELETE', `/streaks/pauses?ids=${at(made.body, 'created', 2, 'id')}`)
    await moveTo(NOON + 15 * DAY)
    const sent = await toldOf(tenant, 'emails.reactivation')
    const days = sent.map(({ user, body, at: when }) => [
      user,
      (when - NOON + 3 * HOUR) / DAY,
      ...Object.values(body.reactivation ?? {}),
    ])
    expect(days).toEqual([
      ['bob', 3, 1, 3],
      ['cleo', 3, 1, 3],
      ['cleo', 8, 1, 8],
      ['cleo', 10, 2, 10],
      ['ada', 12, 1, 12],
      ['cleo', 12, 3, 12],
      ['ada', 14, 2, 14],
    ])
    // A recap comes in a pause, too.
    expect(await toldOf(tenant, 'emails.recap')).toHaveLength(3)
  })

  it('[N2, S12] a paused streak and one with a day off get no reminder, a streak with a freeze does', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    const freezes = { startCount: 1, maxCount: 2 }
    await tenant.admin('PATCH', '/streaks/settings', { customizationEnabled: true, freezes })
    for (const id of ['ada', 'bob', 'cleo']) await tenant.event('m', id, 1)
    const daysOff = [new Date(TODAY).getUTCDay(), new Date(NOON + DAY).getUTCDay()]
    await tenant.app('PATCH', '/users/cleo/preferences', { streak: { daysOff: [...new Set(daysOff)] } })
    const pauses = [{ userId: 'ada', start: dateAt(NOON + DAY), end: dateAt(NOON + 2 * DAY) }]
    const pause = await tenant.admin('POST', '/streaks/pauses', { pauses })
    expect(pause.status).toBe(201)
    await tenant.create('/webhooks', HOOK)
    await moveTo(TODAY)
    expect((await told(tenant)).filter((line) => line.startsWith(REMINDER))).toEqual([`${REMINDER} bob`])
  })
})

/** The zones of the schedule, as stored. */
const row = async (tenant: TestTenant) => JSON.parse((await work(tenant)).progress ?? '')
const zones = async (tenant: TestTenant): Promise<string[]> => (await row(tenant)).zones.sort()

const pendingRows = ({ id }: TestTenant) =>
  rowsEverywhere('SELECT * FROM pending_notifications WHERE tenant_id = ?1', id)

describe('[N2] when users are notified', () => {
  it('nothing that was due before it was configured; a type that is added later begins then', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    await tenant.event('m', 'ada', 1)
    await moveTo(NOON + 3 * DAY)
    await tenant.create('/webhooks', { ...HOOK, events: ['emails.streak_reminder_due'] })
    await moveTo(NOON + 5 * DAY)
    // Reactivation was due three hours ago.
    await tenant.create('/webhooks', { ...HOOK, events: ['emails.reactivation_due'] })
    await moveTo(NOON + 6 * DAY)
    expect(await told(tenant)).toEqual([])
    await moveTo(NOON + 7 * DAY)
    expect(await told(tenant)).toEqual(['emails.reactivation_due ada'])
  })

  it('in a zone with several names and spellings, each user once, and the zone counts once', async () => {
    const tenant = await reminded([
      { id: 'ada', tz: 'Asia/Kolkata' },
      { id: 'bob', tz: 'Asia/Calcutta' },
      { id: 'cleo', tz: 'Europe/Kyiv' },
      { id: 'dora', tz: 'Etc/UTC' },
      { id: 'emil' },
    ])
    const known = [canonicalZone('Asia/Kolkata'), canonicalZone('Europe/Kyiv'), 'UTC']
    expect(await zones(tenant)).toEqual(known.sort())
    const before = await row(tenant)
    await tenant.event('m', { id: 'bob', tz: 'asia/kolkata' }, 0)
    await tenant.app('PATCH', '/users/cleo', { tz: 'europe/kyiv' })
    // Another name of a known zone changes nothing in the schedule.
    expect(await row(tenant)).toEqual(before)
    await moveTo(TODAY)
    expect(await told(tenant)).toEqual(words`ada bob cleo dora emil`.map((id) => `${REMINDER} ${id}`))
  })

  it('the schedule forgets a zone without users within two days', async () => {
    const tenant = await reminded([
      { id: 'ada', tz: 'Asia/Tokyo' },
      { id: 'bob', tz: 'America/Lima' },
    ])
    expect(await zones(tenant)).toEqual(['America/Lima', 'Asia/Tokyo'])
    await tenant.app('PATCH', '/users/ada', { tz: 'America/Lima' })
    await moveTo(NOON + 3 * DAY)
    expect(await zones(tenant)).toEqual(['America/Lima'])
    // The zone is added again when a user is there, and its users are notified from then on.
    await tenant.event('m', { id: 'ada', tz: 'Asia/Tokyo' }, 1)
    await rowsEverywhere('DELETE FROM test_told')
    await moveTo(NOON + 4 * DAY)
    expect(await zones(tenant)).toEqual(['America/Lima', 'Asia/Tokyo'])
    expect(await told(tenant)).toContain(`${REMINDER} ada`)
  })

  it('a user who comes to a date again gets the same id, so the notification is sent once', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    // Thursday, 02:00.
    await tenant.event('m', { id: 'ada', tz: 'Pacific/Kiritimati' }, 1)
    const webhookId = await subscribe(tenant, REMINDER)
    // Friday, 20:00, is at 06:00 in UTC. In Honolulu it comes a day later.
    await moveTo(NOON + 43 * HOUR)
    expect(await told(tenant)).toEqual([`${REMINDER} ada`])
    await tenant.app('PATCH', '/users/ada', { tz: 'Pacific/Honolulu' })
    await moveTo(NOON + 67 * HOUR)
    const reminders = await toldOf(tenant, REMINDER)
    expect(reminders.map((one) => (one.at - NOON) / HOUR)).toEqual([42, 66])
    expect(reminders[1]?.id).toBe(reminders[0]?.id)
    // Drain in full. Without it, the delivery queue might have only the first of them by now.
    await drain(contextOfUsers(tenant.id), flushPoints)
    expect(pick(await messagesOf(webhookId), 'id')).toEqual([reminders[0]?.id])
  })

  it('after an outage, in real time: no reminder of a day that is over, and all other types', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    const day = Math.floor(START / DAY)
    await forgetTime()
    await tenant.event('m', 'ada', 1)
    await tenant.create('/webhooks', HOOK)
    await allSteps(tenant, undefined, present())
    const live = { started: day - 3, first: day - 3, last: day - 2, history: '2e', length: 2, extended: 0 }
    const streak = JSON.stringify({ frequency: 'daily', run: live })
    await rowsEverywhere(
      'UPDATE users SET active_day = ?2, streak = ?3, streak_due = NULL WHERE tenant_id = ?1',
      ...[tenant.id, day - 4, streak],
    )
    await rowsEverywhere(
      "UPDATE due_work SET due_at = ?2, progress = json_set(progress, '$.through', ?2) WHERE tenant_id = ?1 AND kind = 'schedule'",
      ...[tenant.id, (day - 1) * DAY - HOUR],
    )
    // By the present state, the streak of two days was in danger yesterday at 20:00, and three days without
    // an event were over yesterday.
    await allSteps(tenant, undefined, (day - 1) * DAY + 21 * HOUR)
    const sent = (await told(tenant)).filter((line) => !line.startsWith('emails.recap'))
    expect(sent).toEqual(['emails.reactivation_due ada'])
  })
})

describe('[N2] lives of two users', () => {
  it.each(Object.entries(EXAMPLES))('%s', (_, world) => holdsIn(world))
})

// Zones without changes of clocks.
const [LIMA, LAGOS, DUBAI] = ['America/Lima', 'Africa/Lagos', 'Asia/Dubai'] as const

describe('[N2] a change of zone', () => {
  it('after the hour, but before the sweep has reached the user, loses no message', async () => {
    const tenant = await reminded([{ id: 'ada' }, { id: 'bob', tz: LAGOS }])
    await stealthily(tenant, TODAY + 60_000)
    await allSteps(tenant, undefined, TODAY - 1)
    // It is 21:01 in Lagos.
    await tenant.app('PATCH', '/users/ada', { tz: LAGOS })
    await allSteps(tenant, undefined, TODAY + 60_000)
    expect(await told(tenant)).toEqual([`${REMINDER} ada`, `${REMINDER} bob`])
  })

  it('writes no row for a message if it leads to no later local time, or if nothing is sent', async () => {
    const tenant = await newTenantWith('m', newTenantInLast)
    await tenant.event('m', { id: 'ada', tz: LIMA }, 1)
    await tenant.event('m', { id: 'ada', tz: LAGOS }, 1)
    await tenant.create('/webhooks', HOOK)
    await tenant.event('m', { id: 'ada', tz: LAGOS }, 1)
    await tenant.event('m', { id: 'ada', tz: LIMA }, 1)
    expect(await pendingRows(tenant)).toEqual([])
    await tenant.event('m', { id: 'ada', tz: DUBAI }, 1)
    expect(await pendingRows(tenant)).toHaveLength(1)
    await moveTo(NOON + 1)
    expect(await pendingRows(tenant)).toEqual([])
  })

  it('each of many at once is handled', async () => {
    const ids = Array.from({ length: 25 }, (_, n) => `u${n + 10}`)
    const tenant = await reminded(ids.map((id) => ({ id, tz: LAGOS })))
    await moveTo(TODAY - 1.5 * HOUR)
    await Promise.all(ids.map((id) => tenant.app('PATCH', `/users/${id}`, { tz: DUBAI })))
    await moveTo(TODAY - HOUR)
    expect(await told(tenant)).toEqual(ids.map((id) => `${REMINDER} ${id}`))
  })
})
