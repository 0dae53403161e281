/** Changes of users on their way to the receivers, by webhooks and by email, over two crashes of the server. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Receiver } from '../../helpers/receiver'
import { freePort, newProject, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'
import { untilHeld } from '../../helpers/until'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let server: Server
let folder: string
let port: number
let env: Record<string, string>
let hooks: string
const receiver = new Receiver()

beforeAll(async () => {
  folder = await newProject()
  port = await freePort()
  hooks = `${await receiver.start()}/hooks`
  env = {
    ...{ DEMO: 'off', WEBHOOK_TIMEOUT: '30', EMAIL_FROM: 'Laurel <laurel@example.com>' },
    ...{ RESEND_API_KEY: 're_test', RESEND_URL: `${hooks}/mail` },
  }
  server = await startServer({ folder, port, env, clock: SERVER_START })
})
afterAll(() => receiver.stop())

/** JSON without a schema. The tests of the Worker check it against the contract. */
const json = (text: string) => Object(JSON.parse(text))
type Json = ReturnType<typeof json>

const send = (method: string, path: string, body?: unknown) => server.ask(method, path, body)
const create = async (path: string, item: object) => {
  const { status, body } = await send('POST', `/admin/v1${path}`, [item])
  expect([path, status, body.issues]).toEqual([path, 201, []])
  return body.created[0]
}
const moveTo = async (ms: number) => {
  const { status } = await send('PUT', '/admin/v1/test-clock', { now: new Date(ms).toISOString() })
  expect(status).toBe(200)
}
/** Ends the server like a power failure, and starts it again with its stored state. */
const crash = async () => {
  await server.kill()
  server = await startServer({ folder, port, env })
}

/** All requests to the webhook, which is subscribed to everything. */
const requests: { id: string; body: string; isAccepted: boolean }[] = []
/** The receiver accepts all requests, fails each third one, or holds its responses. */
let mood: 'calm' | 'fickle' | 'holding' = 'fickle'

async function subscribe(): Promise<string> {
  receiver.decide('all', ({ headers, body }) => {
    const isAccepted = mood === 'calm' || (mood === 'fickle' && requests.length % 3 > 0)
    requests.push({ id: headers['webhook-id'] ?? '', body, isAccepted })
    return mood === 'holding' ? { hold: true } : { status: isAccepted ? 200 : 500 }
  })
  return (await create('/webhooks', { url: `${hooks}/all`, events: ['*'] })).id
}

async function configure(): Promise<void> {
  const { id: metricId } = await create('/metrics', { key: 'lessons', name: 'Lessons' })
  const first = { key: 'first', name: 'First', trigger: 'metric', metricId, metricValue: 1 }
  await create('/achievements', { ...first, status: 'active' })
  const levels = Array.from({ length: 40 }, (_, n) => 1 + 6 * n)
  await create('/points', {
    ...{ key: 'xp', name: 'XP' },
    levels: levels.map((points) => ({ key: `l${points}`, name: `Level ${points}`, points })),
    triggers: [
      { type: 'user_creation', points: 3, status: 'active' },
      { type: 'metric', metricId, metricThreshold: 1, points: 5, status: 'active' },
    ],
  })
  const template = { channel: 'email', body: '<p>{{ user.id }}</p>', status: 'active', subject: 'Done' }
  await create('/notifications/templates', { ...template, type: 'achievement_completed' })
}

/** The webhook events that responses imply, as texts. */
const promises: string[] = []
/** Those of a response to an event. */
const promisedBy = (user: string, { achievements, currentStreak: streak, points: { xp } }: Json) => [
  ...achievements.map(({ key }: Json) => `achievement.completed ${user} ${key}`),
  ...(streak.extended ? [`${streak.length === 1 ? 'streak.started' : 'streak.extended'} ${user}`] : []),
  ...(xp.level ? [`points.level_changed ${user} ${xp.level.key}`] : []),
  ...xp.awards.map(({ id, total }: Json) => `points.changed ${user} ${id} ${total}`),
]
/** The same texts, from the body of a message. */
const textsOf = ({ type, user, achievement, newLevel, points }: Json): string[] => {
  if (type === 'points.changed')
    return points.awards.map(({ id, total }: Json) => `${type} ${user.id} ${id} ${total}`)
  return [[type, user?.id, achievement?.key ?? newLevel?.key].filter(Boolean).join(' ')]
}

/** Sends an event, which must be accepted. */
async function event(user: { id: string; [field: string]: unknown }, value: number): Promise<void> {
  const { status, body } = await send('POST', '/v1/metrics/lessons/event', { user, value })
  expect([status, body.error]).toEqual([201, undefined])
  promises.push(...promisedBy(user.id, body))
}

const USERS = ['ada', 'bob', 'cleo', 'dan', 'eve']
/** A day of all users: events one after another, and several at once. */
const act = () =>
  Promise.all(
    USERS.map(async (id) => {
      for (const value of [1, 2]) await event({ id }, value)
      await Promise.all([1, 2, 3].map((value) => event({ id }, value)))
    }),
  )

it('[W2, W4, N4, C2] every change is sent with one id, over failures and crashes', async () => {
  await moveTo(SERVER_START)
  const hook = await subscribe()
  await configure()
  await act()
  await moveTo(SERVER_START + DAY)

  // The server crashes with open requests, and directly after the last response, before anything about that
  // change is sent.
  mood = 'holding'
  const answered = requests.length
  await act()
  await untilHeld(() => expect(requests.length).toBeGreaterThan(answered))
  await event({ id: 'zoe' }, 60)
  const before = requests.length
  const open = requests.slice(answered)
  expect(open.filter(({ isAccepted }) => isAccepted)).toEqual([])
  mood = 'calm'
  await crash()
  receiver.release('all')
  // Without a move of the clock, the open requests come again, and so does what was not drained.
  const sent = () => new Set(requests.slice(before).map(({ id }) => id))
  await untilHeld(() => expect(open.filter(({ id }) => !sent().has(id))).toEqual([]))
  await untilHeld(() => {
    expect(requests.flatMap(({ body }) => textsOf(json(body)))).toContain('streak.started zoe')
  })
  mood = 'fickle'
  await moveTo(SERVER_START + 2 * DAY)

  // The provider of emails fails. Then it accepts an email, but the server crashes before the response.
  for (const id of ['mia', 'max']) await event({ id, email: `${id}@example.com` }, 1)
  receiver.plan('mail', [{ status: 500 }, { hold: true }, { body: '{"id":"sent"}', always: true }])
  const moving = moveTo(SERVER_START + 2 * DAY + 6 * HOUR).catch(() => 'the server has crashed')
  await receiver.seen('mail', 2)
  await crash()
  await moving
  // Both emails are sent without a move of the clock, each under one id.
  const asked = (await receiver.seen('mail', 4)).map(({ headers, body }) => ({
    key: headers['idempotency-key'],
    body,
  }))
  const emails = new Map(asked.map(({ key, body }) => [key, body]))
  expect(asked.filter(({ key, body }) => emails.get(key) !== body)).toEqual([])
  const subjects = [...emails.values()].map((body) => `${json(body).to}: ${json(body).subject}`)
  expect(subjects.toSorted()).toEqual(['max@example.com: Done', 'mia@example.com: Done'])

  // Until the last retry.
  for (const day of [3, 4, 5, 6]) await moveTo(SERVER_START + day * DAY)
  const { body: log } = await send('GET', '/admin/v1/notifications/log?limit=100')
  expect(log.map(({ userId, status }: Json) => [userId, status]).toSorted()).toEqual([
    ['max', 'sent'],
    ['mia', 'sent'],
  ])
  const bodies = new Map(requests.map(({ id, body }) => [id, body]))
  expect(requests.filter(({ id, body }) => bodies.get(id) !== body)).toEqual([])
  const accepted = requests.filter(({ isAccepted }) => isAccepted).map(({ id }) => id)
  expect([...bodies.keys()].filter((id) => !accepted.includes(id))).toEqual([])
  expect(requests.length).toBeGreaterThan(1.2 * bodies.size)
  const told = [...bodies.values()].flatMap((body) => textsOf(json(body)))
  expect(promises.length).toBeGreaterThan(100)
  expect(promises.filter((one) => !told.includes(one))).toEqual([])
  const once = told.filter((text) => /^(achievement|points)/.test(text))
  expect(once.filter((text, index) => once.indexOf(text) !== index)).toEqual([])
  const deliveries: Json[] = []
  for (let page = [{}]; page.length > 0; deliveries.push(...page)) {
    const query = `limit=100&skip=${deliveries.length}`
    page = (await send('GET', `/admin/v1/webhooks/${hook}/deliveries?${query}`)).body
  }
  expect(deliveries.filter(({ status }) => status !== 'delivered')).toEqual([])
  expect(deliveries.map(({ id }) => id).toSorted()).toEqual([...bodies.keys()].toSorted())
}, 180_000)
