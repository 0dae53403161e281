import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { flushPoints } from '../../src/features/points/points-changed'
import { drain } from '../../src/webhooks/delivery/drain'
import { KINDS, WORK } from '../helpers/log-fields'
import { START } from '../helpers/time'
import { forgetTime, moveTo } from '../helpers/worker/boards'
import { contextOf } from '../helpers/worker/contexts'
import { faulty, losing } from '../helpers/worker/faulty'
import { cron } from '../helpers/worker/handlers'
import { at, newApp, newTenant, untilHeld } from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'
import { subscribe } from '../helpers/worker/messages'
import { stubbed } from '../helpers/worker/objects'
import { restored } from '../helpers/worker/restore'

const Line = z.looseObject({ level: z.enum(['info', 'warn', 'error']) })
type Line = z.infer<typeof Line>

/** Texts that no line may contain: the caller's ids of users, data of users, keys, and parts of requests. */
const SECRETS = [
  'ada-of-the-outside',
  'ada@example.com',
  'Ada Lovelace',
  'the-key-of-the-tests',
  'a-secret-body',
]

/** The fields of a line besides `level`, and those of `d1` by their whole names. */
const fieldsOf = ({ level: _, d1, ...rest }: Line) => [
  ...Object.keys(rest),
  ...(d1 === undefined ? [] : Object.keys(z.looseObject({}).parse(d1)).map((name) => `d1.${name}`)),
]

const kindOf = (line: Line) =>
  line.route !== undefined ? 'Requests' : line.level === 'info' ? 'Background work' : 'Problems'

let lines: { text: string; line: Line }[] = []

beforeAll(async () => {
  forgetLines()
  const tenant = await newTenant()
  const steps = await tenant.metric('steps')
  const system = await tenant.create('/points', { name: 'XP', key: 'xp' })
  const perStep = { type: 'metric', metricId: steps, metricThreshold: 1, points: 10, status: 'active' }
  const hourly = { type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1 }
  for (const trigger of [perStep, hourly]) await tenant.create(`/points/${system}/triggers`, trigger)
  const board = { key: 'all', name: 'All', rankBy: 'metric', metricId: steps, start: '2026-01-01' }
  await tenant.create('/leaderboards', { ...board, status: 'active' })
  await subscribe(tenant, '*')
  const ada = { id: 'ada-of-the-outside', email: 'ada@example.com', name: 'Ada Lovelace', tz: 'UTC' }

  // Requests: good and bad ones, and an event of an isolate that reaches no leaderboard and no queue.
  expect((await tenant.event('steps', ada, 1)).status).toBe(201)
  expect((await tenant.app('GET', `/users/${ada.id}`)).status).toBe(200)
  expect((await tenant.app('POST', '/users', { id: 'a-secret-body', nothing: 'a-secret-body' })).status).toBe(
    201,
  )
  expect((await tenant.app('POST', '/users', ['a-secret-body'])).status).toBe(422)
  const down = () => {
    throw new Error('it was reset')
  }
  const cut = newApp({ LEADERBOARD: stubbed(env.LEADERBOARD, () => ({ deliver: down })) })
  expect((await tenant.through(cut).event('steps', ada, 1)).status).toBe(201)
  // A batch whose outcome is unknown: the event is committed again, alone.
  const { DB } = faulty(losing(0, false))
  expect((await tenant.through(newApp({ DB })).event('steps', ada, 1)).status).toBe(201)
  // Background work: a batch, ticks, midnights, messages to a webhook, and deletions after a restore.
  await tenant.admin('POST', '/metrics/events', [{ key: 'steps', user: { id: ada.id }, value: 1 }])
  await moveTo(START + 3 * 86_400_000)
  await drain(contextOf(tenant.id), flushPoints)
  await untilHeld(() => expect(linesSoFar().some((text) => text.includes('"work":"delivery"'))).toBe(true))
  await restored()
  await cron()

  lines = linesSoFar()
    .filter((text) => text.startsWith('{"level"'))
    .map((text) => ({ text, line: Line.parse(JSON.parse(text)) }))
})
afterAll(forgetTime)

describe('a log line', () => {
  it('of each kind was written', () => {
    expect(new Set(lines.map(({ line }) => kindOf(line)))).toEqual(new Set(Object.keys(KINDS)))
    const work = lines.flatMap(({ line }) => (kindOf(line) === 'Background work' ? [line.work] : []))
    expect(work).toEqual(expect.arrayContaining(['inbox', 'ticks', 'streaks', 'outbox', 'delivery', 'redo']))
  })

  it('has the fields of its kind, and no other', () => {
    for (const { text, line } of lines) {
      const { always, may } = KINDS[kindOf(line)]
      const fields = fieldsOf(line)
      expect(fields, text).toEqual(expect.arrayContaining(always))
      expect([...always, ...may], text).toEqual(expect.arrayContaining(fields))
      if (kindOf(line) === 'Background work')
        expect(fields.sort(), text).toEqual([...(WORK[String(line.work)]?.always ?? [])].sort())
    }
  })

  it('of an event shows its cost, and the calls of leaderboards', () => {
    const event = lines.find(({ line }) => line.route === 'POST /v1/metrics/:key/event')
    expect(event?.line).toMatchObject({
      level: 'info',
      status: 201,
      d1: { roundTrips: expect.any(Number), rowsRead: expect.any(Number), rowsWritten: expect.any(Number) },
      objectCalls: 1,
      queued: 1,
    })
    expect(at(event?.line, 'd1', 'rowsWritten')).toBeGreaterThan(0)
  })

  it('has no key, no data of a user, and no id that a caller has given', () => {
    for (const secret of SECRETS) expect(linesSoFar().join('\n')).not.toContain(secret)
    expect(lines.length).toBeGreaterThan(15)
  })
})
