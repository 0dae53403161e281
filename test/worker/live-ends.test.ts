import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { rememberOpen } from '../../src/access/open-claims'
import { BEAT, LONGEST_STREAM } from '../../src/api/streams'
import { streamTimers } from '../../src/leaderboards/live/watch'
import { newContext } from '../../src/platform/context'
import { present } from '../helpers/time'
import { FakeTimers } from '../helpers/timers'
import { events, patch, type Setup, withBoard } from '../helpers/worker/boards'
import { intercepted, lost } from '../helpers/worker/faulty'
import { ADMIN_KEY, account, at, countedD1, until, untilHeld } from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'
import { type Isolate, isolate, Watch, watch } from '../helpers/worker/live'

const OTHER_BOARD = { key: 'other', name: 'Other', rankBy: 'metric', status: 'active' }

const opened: Watch[] = []
const open: typeof watch = async (...asked) => {
  const stream = await watch(...asked)
  opened.push(stream)
  return stream
}
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((stream) => stream.leave().catch(() => undefined)))
})

/** An isolate whose streams see a time that the test moves. */
function timed(overrides: Parameters<typeof isolate>[0] = {}): { from: Isolate; timers: FakeTimers } {
  const timers = new FakeTimers()
  const from = isolate(overrides)
  streamTimers.put(from.instance, timers)
  return { from, timers }
}

/** Lets time pass, so that each stream sends a comment and confirms its key. */
async function beat(timers: FakeTimers, streams: readonly Watch[]): Promise<void> {
  const before = streams.map(({ comments }) => comments)
  timers.pass(BEAT)
  await until(() => streams.every(({ comments, ended }, nth) => comments > (before[nth] ?? 0) || ended))
}

/** Deletes the only key of ada. */
async function deleteKey({ tenant }: Setup): Promise<void> {
  const { body } = await tenant.admin('GET', '/application-api-keys?userId=ada')
  await tenant.admin('DELETE', `/application-api-keys?ids=${at(body, 0, 'id')}`)
}

async function userToken(setup: Setup, userId: string): Promise<string> {
  const { body } = await setup.tenant.admin('POST', '/user-tokens', { userId, scope: 'read' })
  return String(at(body, 'token'))
}

async function ticket(headers: Record<string, string>, from = isolate()): Promise<string> {
  const response = await from.fetch('/live-tickets', headers, 'POST')
  const body: unknown = await response.json()
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
  return String(at(body, 'ticket'))
}

describe('a stream ends', () => {
  test('[Y2] after 15 minutes, and the object forgets it', async () => {
    const setup = await withBoard()
    const { from, timers } = timed()
    const stream = await open(setup.tenant.id, '', { from })
    for (let passed = 0; passed + BEAT < LONGEST_STREAM; passed += BEAT) await beat(timers, [stream])
    expect([stream.comments, stream.ended]).toEqual([35, null])
    timers.pass(BEAT)
    await untilHeld(() => expect(stream.ended).toBe('closed'))
    expect(timers.waiting).toBe(0)
  })

  it.each<[string, (setup: Setup) => Promise<unknown>]>([
    ['its key is deleted', deleteKey],
    ['its user is erased', ({ tenant }) => tenant.admin('DELETE', '/users/ada')],
  ])('[Y2] within a minute after %s, and no other one does', async (_what, end) => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 1])
    const { from, timers } = timed()
    const key = await setup.tenant.key('ada')
    const stream = await open(setup.tenant.id, '', { from, key })
    const other = await open(setup.tenant.id, '', { from })
    await beat(timers, [stream, other])
    await end(setup)
    await beat(timers, [stream, other])
    await untilHeld(() => expect(stream.ended).toBe('closed'))
    await beat(timers, [other])
    expect(other.ended).toBeNull()
  })

  test('[Y2] within a minute after its key is deleted, also if the clock of the machine was set back', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 1])
    const { from, timers } = timed()
    const stream = await open(setup.tenant.id, '', { from, key: await setup.tenant.key('ada') })
    await beat(timers, [stream])
    timers.setBack(3_600_000)
    await deleteKey(setup)
    for (const _ of [1, 2]) await beat(timers, [stream])
    await untilHeld(() => expect(stream.ended).toBe('closed'))
  })

  test('[Y2, K6] within a minute after the user of its token is erased', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 1], ['bob', 2])
    const { from, timers } = timed()
    const streams: Watch[] = []
    for (const user of ['ada', 'bob'])
      streams.push(await open(setup.tenant.id, '', { from, key: await userToken(setup, user) }))
    await setup.tenant.admin('DELETE', '/users/ada')
    await beat(timers, streams)
    await untilHeld(() => expect(streams[0]?.ended).toBe('closed'))
    await beat(timers, streams)
    expect(streams[1]?.ended).toBeNull()
  })

  it.each<[string, (setup: Setup) => Promise<unknown>]>([
    ['its tenant is archived', ({ tenant }) => account('DELETE', `/tenants?ids=${tenant.id}`)],
    ['its board is deleted', ({ tenant, board }) => tenant.admin('DELETE', `/leaderboards?ids=${board}`)],
    ['its board is made inactive', (setup) => patch(setup, { status: 'inactive' })],
  ])('[Y2] within a minute after %s', async (_what, end) => {
    const setup = await withBoard()
    const { from, timers } = timed()
    const stream = await open(setup.tenant.id, '', { from })
    await end(setup)
    await beat(timers, [stream])
    await untilHeld(() => expect(stream.ended).toBe('closed'))
  })

  test('[Y2] within a minute if D1 can’t confirm its key, and goes on if D1 comes back', async () => {
    const setup = await withBoard()
    let isAway = false
    const DB = intercepted(env.DB, ({ run }) => (isAway ? Promise.reject(lost()) : run()))
    const { from, timers } = timed({ DB })
    const stream = await open(setup.tenant.id, '', { from })
    isAway = true
    await beat(timers, [stream])
    // It tries again after five seconds.
    await until(() => timers.waiting === 3)
    isAway = false
    timers.pass(5_000)
    await until(() => timers.waiting === 2)
    await beat(timers, [stream])
    expect(stream.ended).toBeNull()
    isAway = true
    timers.pass(BEAT)
    await until(() => timers.waiting === 3)
    for (let passed = BEAT; stream.ended === null; passed += 5_000) {
      expect(passed).toBeLessThan(60_000)
      timers.pass(5_000)
      await until(() => stream.ended !== null || timers.waiting === 3)
    }
    await untilHeld(() => expect(stream.ended).toBe('closed'))
  })
})

describe('the confirmation of streams', () => {
  test('[Y2] is one read of D1 for all streams of an isolate, and tells the object of changes', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3], ['bob', 2])
    const { DB, count } = countedD1()
    const { from, timers } = timed({ DB })
    const streams: Watch[] = []
    for (const user of ['ada', 'bob', 'cai', 'dee']) {
      const key = await setup.tenant.key(user)
      streams.push(await open(setup.tenant.id, '', { from, key }))
    }
    count.prepared = 0
    await beat(timers, streams)
    await until(() => count.prepared > 0)
    await beat(timers, streams)
    expect(count.prepared).toBeLessThanOrEqual(2)
    await patch(setup, { maxParticipants: 1 })
    await beat(timers, streams)
    for (const stream of streams) await untilHeld(() => expect(stream.last).toEqual([['ada', 3]]))
  })
})

describe('[Y3] the number of streams', () => {
  test('of one key is 20, over all leaderboards and tickets; of one user, for all tokens', async () => {
    const setup = await withBoard()
    const { tenant, metric } = setup
    await tenant.create('/leaderboards', { ...OTHER_BOARD, metricId: metric })
    await events(tenant, ['ada', 1])
    const key = await tenant.key('ada')
    const { from } = timed()
    const ask = async (headers: Record<string, string>, board = 'board', query = '') => {
      const response = await from.fetch(`/leaderboards/${board}/live${query}`, headers)
      if (response.status === 200 && response.body !== null) opened.push(new Watch(response.body))
      else await response.body?.cancel()
      return [response.status, response.headers.get('retry-after')]
    }
    const own = { 'x-api-key': key }
    const many = Array.from({ length: 30 }, (_, n) => ask(own, n % 2 === 0 ? 'board' : 'other'))
    const statuses = (await Promise.all(many)).map(([status]) => status)
    expect(statuses.toSorted()).toEqual([...Array(20).fill(200), ...Array(10).fill(429)])
    const given = await ticket(own, from)
    expect(await ask(own)).toEqual([429, '30'])
    expect(await ask({}, 'board', `?ticket=${given}`)).toEqual([429, '30'])
    // Neither other keys nor the tenant's own servers are concerned.
    expect(await ask({ 'x-api-key': await tenant.key('bob') })).toEqual([200, null])
    expect(await ask({ 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id })).toEqual([200, null])
    await opened[0]?.leave()
    expect(await ask(own)).toEqual([200, null])
    const tokens = [await userToken(setup, 'ada'), await userToken(setup, 'ada')]
    for (let nth = 0; nth < 20; nth += 1)
      expect(await ask({ 'x-api-key': tokens[nth % 2] ?? '' })).toEqual([200, null])
    for (const token of tokens) expect(await ask({ 'x-api-key': token })).toEqual([429, '30'])
  })

  test('of one key is 20 on a leaderboard, also over several isolates', async () => {
    const setup = await withBoard()
    const key = await setup.tenant.key('ada')
    for (const from of [isolate(), isolate()])
      for (let nth = 0; nth < 10; nth += 1) await open(setup.tenant.id, '', { from, key })
    await expect(open(setup.tenant.id, '', { key })).rejects.toThrow('no stream: 429')
  })

  test('of a tenant is 5,000 in an isolate', async () => {
    const setup = await withBoard()
    const { from } = timed()
    const context = newContext(from.instance, env, () => undefined)
    const access = { kind: 'admin', keyId: null, keyName: null } as const
    const claim = {
      ...{ access, keyTenantId: null, credential: null, needs: 'read' as const, tenantName: null },
      ...{ archived: false, isOfAccount: false, tenantId: setup.tenant.id },
    }
    const forget = Array.from({ length: 5_000 }, () => rememberOpen(context, { ...claim }))
    await expect(open(setup.tenant.id, '', { from })).rejects.toThrow('no stream: 503')
    forget[0]?.()
    await open(setup.tenant.id, '', { from })
  })

  test('is not changed by tickets: nothing is stored for one', async () => {
    const setup = await withBoard()
    const before = await setup.tenant.stored()
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': setup.tenant.id }
    const from = isolate()
    const tickets = new Set<string>()
    for (let nth = 0; nth < 200; nth += 1) tickets.add(await ticket(headers, from))
    expect(await setup.tenant.stored()).toEqual(before)
  })
})

describe('a ticket', () => {
  test('[Y2, K5, K6] of any key opens streams, more than once, and shows in no log', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3])
    const reading = await setup.tenant.made('/application-api-keys', { userId: 'ada', scope: 'read' })
    const keys: Record<string, string>[] = [
      ...[await setup.tenant.key('ada'), reading.key, await userToken(setup, 'ada')].map((key) => {
        return { 'x-api-key': key }
      }),
      { 'x-api-key': ADMIN_KEY, 'tenant-id': setup.tenant.id },
    ]
    forgetLines()
    for (const headers of keys) {
      const given = await ticket(headers)
      for (const _time of [1, 2]) {
        const stream = await open(setup.tenant.id, `?ticket=${given}`, { key: null })
        await untilHeld(() => expect(stream.last).toEqual([['ada', 3]]))
      }
      const wrong = await isolate().fetch(`/leaderboards/none/live?ticket=${given}`)
      expect(wrong.status).toBe(404)
      expect(linesSoFar().length).toBeGreaterThan(0)
      expect(linesSoFar().filter((line) => line.includes(given) || line.includes('ticket='))).toEqual([])
    }
  })

  test('[Y2] is good for streams only, and for 60 seconds', async () => {
    const setup = await withBoard()
    const given = await ticket({ 'x-api-key': await setup.tenant.key('ada') })
    for (const path of ['/leaderboards', '/leaderboards/board', '/users/ada'])
      expect((await isolate().fetch(`${path}?ticket=${given}`)).status).toBe(401)
    expect((await isolate().fetch('/leaderboards/board/live', { 'x-api-key': given })).status).toBe(401)
    const refused = async () => {
      const response = await isolate().fetch(`/leaderboards/board/live?ticket=${given}`)
      expect(await response.json()).toEqual({ error: expect.stringMatching(/^The ticket is not valid/) })
      return response.status
    }
    const now = present()
    vi.spyOn(Date, 'now').mockReturnValue(now + 61_000)
    expect(await refused()).toBe(401)
  })

  test.each([
    ['a text', () => 'ticket'],
    ['another signature', (given: string) => `${given.slice(0, -4)}AAAA`],
    ['a user token', (_given: string, token: string) => token],
  ])('[Y2] that is %s is 401', async (_what, made) => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 1])
    const token = await userToken(setup, 'ada')
    const wrong = made(await ticket({ 'x-api-key': token }), token)
    expect((await isolate().fetch(`/leaderboards/board/live?ticket=${wrong}`)).status).toBe(401)
  })

  test('[Y2] of a deleted key is 401, and its streams end', async () => {
    const setup = await withBoard()
    const { from, timers } = timed()
    const given = await ticket({ 'x-api-key': await setup.tenant.key('ada') })
    const reopen = () => open(setup.tenant.id, `?ticket=${given}`, { from, key: null })
    const stream = await reopen()
    await deleteKey(setup)
    await expect(reopen()).rejects.toThrow('no stream: 401')
    timers.pass(BEAT)
    await untilHeld(() => expect(stream.ended).toBe('closed'))
  })

  test('[Y2] needs a key, and a secret of the deployment', async () => {
    const setup = await withBoard()
    expect((await isolate().fetch('/live-tickets', {}, 'POST')).status).toBe(401)
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': setup.tenant.id }
    const answer = await isolate({ TOKEN_SECRET: '' }).fetch('/live-tickets', headers, 'POST')
    expect(answer.status).toBe(422)
    expect((await setup.tenant.app('GET', '/live-tickets')).status).toBe(405)
  })
})
