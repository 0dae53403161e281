import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { scopeNeededFor } from '../../src/api/endpoint'
import { Commands, messageOf } from '../../src/features/events/sent'
import { instant } from '../../src/lib/clock'
import { applicationOperations } from '../../src/worker/operations'
import { basesOf, callsOf, pathOf, type World } from '../helpers/walk'
import { forgetTime, HOUR, moveTo, NOON } from '../helpers/worker/boards'
import { at, call, newApp, newTenant, pick, type TestTenant, toApp } from '../helpers/worker/harness'
import { walkIn } from '../helpers/worker/walked'

/** Creates an application key, and returns it as it was answered. */
const made = (tenant: TestTenant, item: object) => tenant.made('/application-api-keys', item)

const isoOf = (ms: number) => new Date(ms).toISOString()

/** The error of a write with a key that may only read. */
const ERROR =
  'This application key may only read: its scope is "read". Use a key or a token with the scope "write".'
const READ_ONLY = { status: 403, body: { error: ERROR } }

const tokenOf = async (tenant: TestTenant, scope: string) =>
  String(at((await tenant.admin('POST', '/user-tokens', { userId: 'ada', scope })).body, 'token'))

// In order, because a test says at the end how many operations the walk could read.
describe('[K5] the walk over every operation of the application interface', { shuffle: false }, () => {
  let world: World
  let tenant: TestTenant
  let reading: string[]
  let writing: string
  const readable = new Set<string>()

  beforeAll(async () => {
    tenant = await newTenant()
    world = await walkIn(tenant, 'scopes')
    reading = [(await made(tenant, { userId: 'ada', scope: 'read' })).key, await tokenOf(tenant, 'read')]
    writing = (await made(tenant, { userId: 'ada' })).key
  })

  it('[K5] a method other than GET needs the scope write, unless it is on this list', () => {
    const READS = ['/live-tickets']
    for (const spec of applicationOperations) {
      const isRead = spec.method === 'get' || READS.includes(spec.path)
      expect([spec.id, scopeNeededFor(spec)]).toEqual([spec.id, isRead ? 'read' : 'write'])
    }
  })

  it.each(applicationOperations.map((spec) => [spec.id, spec] as const))(
    '[K5] %s: a write is 403 before 413, 400, 404 and 422 and stores nothing; a read is the same as with any key',
    async (_id, spec) => {
      for (const one of callsOf(spec, world)) {
        const isRead = scopeNeededFor(spec) === 'read'
        const before = isRead ? null : await tenant.stored()
        const bodies = spec.body
          ? [{ body: one.body }, { raw: 'no JSON' }, { raw: ' '.repeat(1_048_577) }, {}]
          : [{}]
        for (const base of basesOf(spec)) {
          const path = pathOf(spec, one).replace(/^\/v1/, base)
          const method = spec.method.toUpperCase()
          for (const key of reading) {
            if (isRead) {
              const headers = { ...one.headers, 'x-api-key': writing }
              const usual = await call(toApp, method, path, { headers })
              const mine = await call(toApp, method, path, { headers: { ...headers, 'x-api-key': key } })
              expect([path, mine.status]).toEqual([path, usual.status])
              if (mine.status < 300) readable.add(spec.id)
            } else {
              const headers = { ...one.headers, 'x-api-key': key }
              for (const sent of bodies)
                expect(await call(toApp, method, path, { ...sent, headers })).toMatchObject(READ_ONLY)
            }
          }
        }
        if (before !== null) expect(await tenant.stored()).toEqual(before)
      }
    },
  )

  it('[K5] nearly all reads of the walk are about its own user, and succeed', () => {
    const reads = applicationOperations.filter((spec) => scopeNeededFor(spec) === 'read')
    expect(reads.filter(({ id }) => !readable.has(id)).map(({ id }) => id)).toEqual(['streaks_list'])
  })

  it('[K5, O5] on a path with another method, a reading key gets the 405 of any key', async () => {
    for (const key of reading) expect((await tenant.as(key, 'DELETE', '/users/ada')).status).toBe(405)
  })
})

describe('[K5] scope and end of a key', () => {
  afterEach(forgetTime)

  it('[K5] are in the answer, the list, the export and the audit log', async () => {
    const tenant = await newTenant()
    await tenant.app('PUT', '/users/ada', {})
    const end = isoOf(NOON + HOUR)
    const usual = await made(tenant, { userId: 'ada' })
    const reads = await made(tenant, { userId: 'ada', scope: 'read', expires: end })
    const nulls = await made(tenant, { userId: 'ada', scope: null, expires: null })
    const wanted = [
      { scope: 'write', expires: null },
      { scope: 'read', expires: end },
      { scope: 'write', expires: null },
    ]
    expect([usual, reads, nulls]).toMatchObject(wanted)
    expect((await tenant.admin('GET', '/application-api-keys')).body).toMatchObject(wanted)
    expect((await tenant.admin('GET', '/users/ada/export')).body).toMatchObject({ applicationKeys: wanted })
    const { body } = await tenant.admin('GET', '/audit-log?kind=application_key')
    const noted = wanted.map(({ scope, expires }) => {
      return { scope: { after: scope }, ...(expires !== null && { expires: { after: expires } }) }
    })
    expect(pick(body, 'fields').reverse()).toMatchObject(noted)
  })

  // test/unit/time.test.ts has the texts that are a timestamp, and those that are none.
  it('[K5, G4] wrong ones are 422, and create nothing', async () => {
    const tenant = await newTenant()
    for (const [wrong, message] of [
      [{ scope: 'admin' }, '0.scope: must be one of write, read.'],
      [{ scope: ['read'] }, '0.scope: must be one of write, read.'],
      [{ expires: 'soon' }, '0.expires: must be an ISO 8601 timestamp with its offset, such as'],
      [{ expires: '9999-12-31T23:59:59.999-00:01' }, '0.expires: must be in the years 1 to 9999 in UTC'],
      [{ expires: '0001-01-01T00:00:00+00:01' }, '0.expires: must be in the years 1 to 9999 in UTC'],
      [{ expires: 4_102_444_800_000 }, '0.expires: must be a string'],
    ] as const) {
      const answer = await tenant.admin('POST', '/application-api-keys', [{ userId: 'ada', ...wrong }])
      const error = expect.stringContaining(message)
      expect(answer).toMatchObject({ status: 422, body: { error } })
    }
    expect((await tenant.admin('GET', '/application-api-keys')).body).toEqual([])
  })

  it('[K5, G7] an end that is past is an issue of its item, by the test clock', async () => {
    const tenant = await newTenant()
    await moveTo(NOON)
    const past = { userId: 'ada', expires: isoOf(NOON) }
    const later = { userId: 'ada', expires: isoOf(NOON + 1_000) }
    const message = 'expires must be in the future. Leave it out for a key that does not end.'
    const issue = (index: number) => ({ index, userId: 'ada', severity: 'error', message })
    const made = { created: [{ expires: later.expires }], issues: [issue(0), issue(2)] }
    const answer = await tenant.admin('POST', '/application-api-keys', [past, later, past])
    expect(answer).toMatchObject({ status: 201, body: made })
    const none = await tenant.admin('POST', '/application-api-keys', [past])
    expect(none).toMatchObject({ status: 200, body: { created: [], issues: [issue(0)] } })
  })

  it('[K5, C1] an ended key is 401 in every request, also if its record is cached', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.app('PUT', '/users/ada', {})
    await moveTo(NOON)
    const expires = isoOf(NOON + HOUR)
    const { key } = await made(tenant, { userId: 'ada', expires })
    const { key: reading } = await made(tenant, { userId: 'ada', expires, scope: 'read' })
    const remembering = tenant.through(newApp())
    const event = { user: { id: 'ada' }, value: 1 }
    const requests = [
      ['GET', '/users/ada', undefined, 200],
      ['POST', '/metrics/words/event', event, 201],
      ['POST', '/metrics/words/event', { ...event, value: 'x' }, 422],
      ['POST', '/metrics/none/event', event, 404],
      ['PUT', '/users/ada', {}, 200],
      ['GET', '/points/none', undefined, 404],
      ['GET', '/users/bob', undefined, 403],
      ['DELETE', '/users/ada', undefined, 405],
    ] as const
    await moveTo(NOON + HOUR - 1)
    for (const where of [tenant, remembering])
      for (const [method, path, body, status] of requests)
        expect((await where.as(key, method, path, body)).status, `${method} ${path}`).toBe(status)
    await moveTo(NOON + HOUR)
    // Not the 403 of a key that may only read.
    for (const where of [tenant, remembering, tenant.through(newApp())])
      for (const [method, path, body] of requests)
        for (const one of [key, reading])
          expect((await where.as(one, method, path, body)).status, `${method} ${path}`).toBe(401)
    const elsewhere = await tenant.as(key, 'GET', '/users/ada', undefined, { 'tenant-id': 'no-such' })
    expect(elsewhere.status).toBe(401)
    expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 2 })
  })

  it('[K2, K5, K6] a command takes its credential to another isolate', () => {
    const command = { kind: 'upsert', user: {}, by: 'user' } as const
    const rest = { arrived: instant(1), tenantName: null, attempt: null }
    const user = { tenantId: 't', id: 'ada', iid: 'i' }
    for (const credential of [
      null,
      { prefix: 'app_x', user: null, expires: null },
      { prefix: 'app_x', user: null, expires: instant(7) },
      { prefix: null, user, expires: instant(7) },
    ]) {
      const message: unknown = JSON.parse(JSON.stringify(messageOf({ command, credential, ...rest })))
      expect(Commands.parse([message])).toMatchObject([{ credential }])
    }
  })
})
