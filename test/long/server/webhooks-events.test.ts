/**
 * Follows changes of users from the request to the receivers: by webhooks to a receiver that fails a third of
 * the time, and by email, over two crashes of the server.
 */
import { createHash, createHmac } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PATIENCE } from '../../helpers/patience'
import { Receiver, type Seen, type Step } from '../../helpers/receiver'
import { SEED } from '../../helpers/seed'
import { freePort, newProject, type Server, startServer } from '../../helpers/server/harness'
import { Mailer } from '../../helpers/server/mailer'
import {
  arrived,
  compareRest,
  compareUser,
  disorder,
  json,
  kept,
  promised,
  type Send,
  type Sent,
} from '../../helpers/server/story'
import { SERVER_START } from '../../helpers/time'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A number from 0 to 1 that depends on TEST_SEED and the arguments. */
const draw = (...of: unknown[]) =>
  createHash('sha256')
    .update(JSON.stringify([SEED, ...of]))
    .digest()
    .readUInt32BE() /
  2 ** 32

let server: Server
let folder: string
let port: number
let env: Record<string, string>
const receiver = new Receiver()
const mailer = new Mailer()
let now = SERVER_START

beforeAll(async () => {
  folder = await newProject()
  port = await freePort()
  env = {
    DEMO: 'off',
    WEBHOOK_TIMEOUT: '30',
    EMAIL_FROM: 'Laurel <laurel@example.com>',
    RESEND_API_KEY: 're_test',
    RESEND_URL: await mailer.start(),
  }
  server = await startServer({ folder, port, env, clock: SERVER_START })
})
afterAll(async () => {
  receiver.stop()
  mailer.stop()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const send: Send = (method, path, body) => server.ask(method, path, body)
const create = async (path: string, item: object) => {
  const { status, body } = await send('POST', `/admin/v1${path}`, [item])
  expect([path, status, body.issues]).toEqual([path, 201, []])
  return body.created[0]
}
const moveTo = async (ms: number) => {
  now = ms
  const { status } = await send('PUT', '/admin/v1/test-clock', { now: new Date(ms).toISOString() })
  expect(status).toBe(200)
}
/** Ends the server like a power failure, and starts it again with its stored state. */
const crash = async () => {
  await server.kill()
  server = await startServer({ folder, port, env })
}

/** All requests to the webhook that is subscribed to everything. */
const requests: Sent[] = []
/** The receiver's behaviour: it accepts all requests, fails a third, or holds its responses. */
let mood: 'calm' | 'fickle' | 'holding' = 'fickle'
/** The ids of held requests. */
const underWay: string[] = []
const secrets = new Map<string, string>()
const faults: string[] = []

/** Verifies by the library and by the documented HMAC (W3). */
function verify(name: string, { body, headers }: Seen): void {
  const secret = secrets.get(name) ?? ''
  try {
    new Webhook(secret).verify(body, headers)
    if (headers['x-trophy-signature'] !== createHmac('sha256', secret).update(body).digest('base64'))
      faults.push(`X-Trophy-Signature differs: ${body}`)
  } catch (error) {
    faults.push(`${error}: ${body}`)
  }
}

/** The number of attempts, by message; and the position of a message among all messages of its kind. */
const tries = new Map<string, number>()
const nth = new Map<string, number>()
const kinds = new Map<string, number>()

function answer(id: string, body: string): Step {
  if (mood === 'calm') return {}
  if (mood === 'holding') return { hold: true }
  const { type, user } = json(body)
  const kind = `${type} ${user?.id}`
  const place = nth.get(id) ?? kinds.get(kind) ?? 0
  if (!nth.has(id)) kinds.set(kind, place + 1)
  nth.set(id, place)
  const attempt = (tries.get(id) ?? 0) + 1
  tries.set(id, attempt)
  // The seventh attempt would be the last one (W4).
  if (attempt >= 7 || draw(kind, place, attempt) >= 1 / 3)
    return draw(kind, place) < 0.05 ? { delay: 200 } : {}
  const way = Math.floor(draw(kind, place, attempt, 'way') * 3)
  return [{ drop: true }, { status: 500 }][way] ?? { status: 301, headers: { location: '/hooks/elsewhere' } }
}

/** Subscribes a name of the receiver. */
async function subscribe(url: string, name: string, events: string[]): Promise<string> {
  const { id, secret } = await create('/webhooks', { url: `${url}/hooks/${name}`, events })
  secrets.set(name, secret)
  return id
}

const deliveriesOf = async (id: string) => {
  const all: { id: string; status: string; attempts: number; event: string; nextAttempt: string | null }[] =
    []
  for (;;) {
    const { body } = await send('GET', `/admin/v1/webhooks/${id}/deliveries?limit=100&skip=${all.length}`)
    all.push(...body)
    if (body.length < 100) return all
  }
}

/** The users and their activity on each day. The first five get no emails. */
const USERS = [
  { id: 'ada', tz: 'UTC', days: '11111' },
  { id: 'bob', tz: 'Asia/Kathmandu', days: '11011' },
  { id: 'cleo', tz: 'America/New_York', days: '11001' },
  { id: 'dan', tz: 'Pacific/Auckland', days: '10100' },
  { id: 'eve', tz: 'America/Los_Angeles', days: '11110' },
  { id: 'mia', tz: 'UTC', days: '00100', email: 'mia@example.com' },
  { id: 'max', tz: 'UTC', days: '00100', email: 'max@example.com' },
]
const STORY = USERS.slice(0, 5)
/** The webhook events that responses imply. */
const promises: string[] = []
let step = 0

/** Sends an event. The response must be 201. */
async function event(
  user: { id: string; [field: string]: unknown },
  metric: string,
  value: number,
): Promise<void> {
  const { status, body } = await send('POST', `/v1/metrics/${metric}/event`, { user, value })
  expect([status, body.error]).toEqual([201, undefined])
  promises.push(...promised(user.id, body))
}

/** A user's activity on a day: one event after another, several at once, and a batch. */
async function live({ id, tz, days, email }: (typeof USERS)[number], day: number): Promise<void> {
  if (days[day] !== '1') return
  const whole = (most: number, ...of: unknown[]) => 1 + Math.floor(draw(id, day, ...of) * most)
  const user = { id, tz, ...(email && { email, subscribeToEmails: true }) }
  for (const n of email ? [1] : [1, 2, 3]) {
    step += 1
    await event({ ...user, attributes: { step: String(step) } }, 'lessons', whole(2, 'lessons', n))
  }
  if (email) return
  await Promise.all([1, 2, 3].map((n) => event({ id }, n < 3 ? 'minutes' : 'lessons', whole(5, n))))
  const batch = [1, 2].map((n) => ({ key: 'minutes', user: { id }, value: whole(9, 'batch', n) }))
  expect((await send('POST', '/admin/v1/metrics/events', batch)).status).toBe(202)
  if (day !== 1) return
  const done = await send('POST', '/v1/achievements/profile/complete', { user: { id } })
  expect(done.status).toBe(201)
}

const act = (day: number) => Promise.all(USERS.map((user) => live(user, day)))

async function configure(): Promise<void> {
  await create('/attributes', { key: 'step', name: 'Step', type: 'user' })
  const { id: lessons } = await create('/metrics', { key: 'lessons', name: 'Lessons' })
  const { id: minutes } = await create('/metrics', { key: 'minutes', name: 'Minutes' })
  const first = { key: 'first', name: 'First', trigger: 'metric', metricId: lessons, metricValue: 1 }
  const { id: firstId } = await create('/achievements', { ...first, status: 'active' })
  const { id: profile } = await create('/achievements', {
    key: 'profile',
    name: 'Profile',
    trigger: 'api',
    status: 'active',
  })
  for (const item of [
    { key: 'three', name: 'Three days', trigger: 'streak', streakLength: 3 },
    { key: 'much', name: 'Much', trigger: 'metric', metricId: minutes, metricValue: 25 },
    { key: 'both', name: 'Both', trigger: 'achievement', achievementIds: [firstId, profile] },
  ])
    await create('/achievements', { ...item, status: 'active' })
  await create('/points', {
    key: 'xp',
    name: 'XP',
    // Nearly every lesson changes the level, which shows the order of lessons.
    levels: Array.from({ length: 40 }, (_, n) => 1 + 6 * n).map((points) => ({
      key: `l${points}`,
      name: `Level ${points}`,
      points,
    })),
    triggers: [
      { type: 'user_creation', points: 3 },
      { type: 'metric', metricId: lessons, metricThreshold: 1, points: 5 },
      { type: 'streak', streakLength: 2, points: 25 },
      { type: 'achievement', achievementId: profile, points: 10 },
    ].map((trigger) => ({ ...trigger, status: 'active' })),
  })
  await create('/points', {
    key: 'coins',
    name: 'Coins',
    triggers: [{ type: 'metric', metricId: minutes, metricThreshold: 3, points: 1, status: 'active' }],
  })
  const freezes = { startCount: 1, maxCount: 3, autoEarnInterval: 3, autoEarnAmount: 1 }
  expect((await send('PATCH', '/admin/v1/streaks/settings', { freezes })).status).toBe(200)
  const template = { channel: 'email', body: '<p>{{ user.id }}</p>', status: 'active' }
  for (const type of ['achievement_completed', 'streak_reminder'])
    await create('/notifications/templates', { ...template, type, subject: type })
  await create('/leaderboards', {
    key: 'board',
    name: 'Board',
    rankBy: 'metric',
    metricId: lessons,
    status: 'active',
  })
}

/** Waits for a condition, without moving the clock. */
async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const deadline = performance.now() + PATIENCE; !isSo(); await sleep(20)) {
    if (performance.now() > deadline) throw new Error(`Not in time: ${what}; ${requests.length} requests`)
  }
}

const typesSeen = (type: string) => requests.filter(({ body }) => json(body).type === type)
const log = async () => (await send('GET', '/admin/v1/notifications/log?limit=100')).body

it('[W2, W3, W4, N1, N2, N3, N4, C2] every change is sent, in order and with one id, across all failures', async () => {
  const url = await receiver.start()
  receiver.decide('all', (seen) => {
    verify('all', seen)
    const id = seen.headers['webhook-id'] ?? ''
    const step = answer(id, seen.body)
    const ok = mood !== 'holding' && step.drop === undefined && (step.status ?? 200) < 300
    requests.push({ id, body: seen.body, ok })
    if (mood === 'holding') underWay.push(id)
    return step
  })
  // This endpoint fails from the beginning, and slowly.
  receiver.plan('dead', [{ hold: true, status: 503, always: true }])

  await moveTo(now)
  const noon = now
  const all = await subscribe(url, 'all', ['*'])
  const dead = await subscribe(url, 'dead', ['leaderboard.started', 'points.boost_started'])
  await configure()
  const systems = await send('GET', '/admin/v1/points')
  const xp = systems.body.find(({ key }: { key: string }) => key === 'xp').id
  await create(`/points/${xp}/boosts`, {
    name: 'Double',
    start: new Date(noon).toISOString().slice(0, 10),
    end: new Date(noon + DAY).toISOString().slice(0, 10),
    multiplier: 2,
  })

  // The first day: the failing endpoint delays its responses, but does not delay the other one.
  mood = 'calm'
  await act(0)
  await until('the first day', () => typesSeen('streak.started').length >= STORY.length)
  await receiver.seen('dead', 2)
  expect((await deliveriesOf(dead)).map(({ status }) => status)).toEqual(['pending', 'pending'])
  receiver.plan('dead', [{ status: 503, always: true }])
  receiver.release('dead')
  mood = 'fickle'
  await moveTo(noon + HOUR - MINUTE)
  const retry = new Date(noon + (1 + 5 + 30 + 120) * MINUTE).toISOString()
  expect(await deliveriesOf(dead)).toMatchObject(
    Array(2).fill({ status: 'pending', attempts: 4, nextAttempt: retry }),
  )
  await moveTo(noon + 9 * HOUR)
  await moveTo(noon + DAY)
  expect(await deliveriesOf(dead)).toMatchObject(Array(2).fill({ status: 'dead', attempts: 7 }))

  // The second day: the server crashes with open requests, and directly after the last response, before
  // anything about that change is sent.
  mood = 'holding'
  await act(1)
  await until('requests under way', () => underWay.length > 0)
  await event({ id: 'zoe' }, 'lessons', 60)
  const before = requests.length
  mood = 'calm'
  await crash()
  receiver.release('all')
  const again = () => new Set(requests.slice(before).map(({ id }) => id))
  await until('the requests that were open', () => underWay.every((id) => again().has(id)))
  await until('the second day', () => {
    const extended = typesSeen('streak.extended').map(({ body }) => json(body).user.id)
    return ['ada', 'bob', 'cleo', 'eve'].every((id) => extended.includes(id))
  })
  await until('the outbox entries that were not drained', () =>
    typesSeen('streak.started').some(({ body }) => json(body).user.id === 'zoe'),
  )
  mood = 'fickle'
  await moveTo(now + HOUR - MINUTE)
  await moveTo(noon + 2 * DAY)

  // The third day: the provider of emails fails. Then it accepts an email, but the server crashes before the
  // response.
  await act(2)
  mailer.plan = [{ status: 500 }, { silent: true }]
  const moving = moveTo(noon + 2 * DAY + 6 * HOUR).catch(() => 'the server has crashed')
  await mailer.came(2)
  await crash()
  await moving
  // Both emails are sent without a move of the clock.
  await until('both emails', () => mailer.asked.length >= 4)
  await moveTo(now + MINUTE)
  expect([mailer.to('mia@example.com'), mailer.to('max@example.com')]).toEqual(
    Array(2).fill(['achievement_completed']),
  )
  await moveTo(noon + 3 * DAY)

  // The fourth day: reminders of streaks. The provider is slow, and then limits requests.
  await act(3)
  mailer.plan = [{ status: 429 }, { delay: 300 }, { status: 500 }]
  await moveTo(noon + 3 * DAY + 9 * HOUR)
  const told = ['achievement_completed', 'streak_reminder']
  expect([mailer.to('mia@example.com'), mailer.to('max@example.com')]).toEqual([told, told])
  expect(mailer.sent.size).toBe(4)
  expect(new Set(mailer.asked).size).toBe(4)
  expect(mailer.asked.length).toBeGreaterThanOrEqual(4 + 1 + 1 + 2)
  expect(
    (await log())
      .map(({ userId, type, status }: Record<string, string>) => [userId, type, status])
      .toSorted(),
  ).toEqual(['max', 'mia'].flatMap((id) => told.map((type) => [id, type, 'sent'])))
  const mia = [...mailer.sent.values()].find(({ email }) => email.to.includes('mia@example.com'))
  const link = /^<(http[^>]+)>$/.exec(mia?.email.headers['List-Unsubscribe'] ?? '')?.[1] ?? ''
  expect(mia?.email.headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click')
  const unsubscribed = await fetch(link, { method: 'POST', body: 'List-Unsubscribe=One-Click' })
  expect(unsubscribed.status).toBe(200)
  await moveTo(noon + 4 * DAY)

  // The fifth day: a freeze keeps both streaks. The user who has unsubscribed gets no reminder.
  await act(4)
  await moveTo(noon + 4 * DAY + 9 * HOUR)
  expect(mailer.to('mia@example.com')).toEqual(told)
  expect(mailer.to('max@example.com')).toEqual([...told, 'streak_reminder'])

  // Until the last retry.
  await moveTo(noon + 6 * DAY)
  await moveTo(noon + 7 * DAY)
  mood = 'calm'
  await moveTo(noon + 8 * DAY)
  expect(faults).toEqual([])
  const messages = arrived(requests)
  // A third of all requests failed, and every day had messages.
  expect(requests.length / messages.length).toBeGreaterThan(1.2)
  expect(promises.length).toBeGreaterThan(STORY.length * 12)
  expect(disorder(messages)).toEqual([])
  const done = new Set(messages.flatMap(kept))
  expect(promises.filter((one) => !done.has(one))).toEqual([])
  for (const id of [...STORY.map((user) => user.id), 'zoe']) await compareUser(send, messages, id)
  await compareRest(send, messages)
  const deliveries = await deliveriesOf(all)
  expect(deliveries.filter(({ status }) => status !== 'delivered')).toEqual([])
  expect(deliveries.map(({ id }) => id).toSorted()).toEqual(messages.map(({ id }) => id).toSorted())

  // The failing endpoint works again.
  receiver.plan('dead', [])
  for (const { id, event: type } of await deliveriesOf(dead)) {
    const count = (await receiver.seen('dead')).length
    const renewed = await send('POST', `/admin/v1/webhooks/${dead}/deliveries/${id}/redeliver`)
    expect(renewed).toMatchObject({ status: 200, body: { id, status: 'pending' } })
    const seen = (await receiver.seen('dead', count + 1)).at(-1)
    verify('dead', seen ?? { body: '', headers: {}, at: 0, method: '' })
    // The same message has the same id at each endpoint.
    const same = messages.find((one) => one.id === id)
    expect([seen?.headers['webhook-id'], seen?.body]).toEqual([id, same && JSON.stringify(same.body)])
    expect(type).toBe(same?.type)
  }
  await moveTo(now + 1)
  expect(await deliveriesOf(dead)).toMatchObject(Array(2).fill({ status: 'delivered', attempts: 8 }))
  expect(faults).toEqual([])
}, 180_000)
