import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { runs } from '../helpers/runs'
import { START } from '../helpers/time'
import {
  DAY,
  dateAt,
  events,
  forgetTime,
  HOUR,
  moveTo,
  NOON,
  patch,
  type Setup,
  withBoard,
} from '../helpers/worker/boards'
import { ADMIN_KEY, at, until, untilHeld } from '../helpers/worker/harness'
import { isolate, type Watch, watch } from '../helpers/worker/live'

const object = ({ board }: Pick<Setup, 'board'>) => env.LEADERBOARD.getByName(board)

/** The ranking that `GET` answers, as the stream shows it. */
async function served({ tenant }: Setup, query = ''): Promise<unknown> {
  const { status, body } = await tenant.app('GET', `/leaderboards/board${query}`)
  expect([status, body]).toMatchObject([200, {}])
  return { status: at(body, 'status'), rankings: at(body, 'rankings') }
}

/** Waits until the last ranking of a stream equals the answer of `GET`. */
const equals = (stream: Watch, setup: Setup, query = '') =>
  untilHeld(async () => expect(stream.rankings.at(-1)).toMatchObject(Object(await served(setup, query))))

/** Asks for the stream itself. */
const ask = ({ tenant }: Setup, query = '', method = 'GET') => {
  const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
  return isolate().fetch(`/leaderboards/board/live${query}`, headers, method)
}
/** How many watchers the object has. */
const sockets = (setup: Setup) =>
  runInDurableObject(object(setup), (_one, state) => state.getWebSockets().length)

const opened: Watch[] = []
/** Opens a stream that the end of the file closes. */
const open: typeof watch = async (...asked) => {
  const stream = await watch(...asked)
  opened.push(stream)
  return stream
}
afterAll(async () => {
  await Promise.all(opened.splice(0).map((stream) => stream.leave().catch(() => undefined)))
})

// Concurrent, because a stream sends at most one event in a second, and these tests mostly wait for it.
describe.concurrent('a stream', () => {
  test('[Y1] begins with the present ranking, as GET shows it', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3], ['bob', 5])
    const stream = await open(setup.tenant.id)
    const [first] = stream.events
    expect(first?.data).toEqual({ ...Object(await served(setup)), run: null, version: first?.data.version })
    expect(first?.id).toBe(String(first?.data.version))
    const response = await ask(setup)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'access-control-allow-origin': '*',
    })
    await response.body?.cancel()
  })

  test('[Y1, L13] shows who matches the filters of the board, as attributes change', async () => {
    const setup = await withBoard({ userAttributes: [{ attributeKey: 'team', attributeValue: 'x' }] })
    await events(setup.tenant, ['ada', 1, { team: 'x' }], ['bob', 2, { team: 'y' }])
    const stream = await open(setup.tenant.id)
    expect(stream.last).toEqual([['ada', 1]])
    await setup.tenant.app('PATCH', '/users/bob', { attributes: { team: 'x' } })
    await setup.tenant.app('PATCH', '/users/ada', { attributes: { team: 'y' } })
    await untilHeld(() => expect(stream.last).toEqual([['bob', 2]]))
  })

  test('[Y1, L6] shows one group, or all groups that match', async () => {
    const setup = await withBoard({ breakdown: ['team', 'plan'] })
    const group = (team: string, plan: string) => ({ team, plan })
    await events(setup.tenant, ['ada', 1, group('x', 'pro')], ['bob', 2, group('x', 'free')])
    const queries = ['?userAttributes=team:x,plan:pro', '?userAttributes=team:x', '?userAttributes=team:y']
    const streams: Watch[] = []
    for (const query of queries) streams.push(await open(setup.tenant.id, query))
    const shown = () => streams.map(({ last }) => last.join(' '))
    expect(shown()).toEqual(['ada,1', 'bob,2 ada,1', ''])
    await events(setup.tenant, ['ada', 4, group('y', 'pro')], ['cai', 9, group('x', 'pro')])
    for (const [index, query] of queries.entries()) {
      const stream = streams[index]
      if (stream !== undefined) await equals(stream, setup, query)
    }
    expect(shown()).toEqual(['cai,9', 'cai,9 bob,2', 'ada,5'])
  })

  test('[Y1] shows the name that an event gives, and forgets an erased user', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3], ['bob', 2])
    const stream = await open(setup.tenant.id)
    await setup.tenant.event('steps', { id: 'bob', name: 'Bob' }, 0.1)
    await equals(stream, setup)
    expect(stream.rankings.at(-1)?.rankings[1]).toMatchObject({ userName: 'Bob', value: 2 })
    await setup.tenant.admin('DELETE', '/users/ada')
    await equals(stream, setup)
    expect(stream.last).toEqual([['bob', 2]])
  })

  test('[Y1, L5] follows a change of the configuration', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3], ['bob', 2], ['cai', 1])
    const stream = await open(setup.tenant.id)
    await patch(setup, { maxParticipants: 2 })
    await untilHeld(() => expect(stream.last).toHaveLength(2))
    await patch(setup, { status: 'finished' })
    await untilHeld(() => expect(stream.rankings.at(-1)?.status).toBe('finished'))
    await untilHeld(() => expect(stream.finals).toMatchObject([{ run: null, rankings: [{}, {}] }]))
  })

  test('[Y1] of any watcher ends with the ranking of GET after any sequence of events', async () => {
    const setup = await withBoard({ breakdown: ['team'], maxParticipants: 4 })
    const streams: [Watch, string][] = []
    const users = ['ada', 'bob', 'cai', 'dee', 'eva', 'fay']
    let dice = 7
    const roll = (sides: number) => {
      dice = (dice * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((dice / 2_147_483_648) * sides)
    }
    const one = <T>(list: readonly [T, ...T[]]): T => list[roll(list.length)] ?? list[0]
    for (let step = 0; step < runs(20, 40); step += 1) {
      if (step % 10 === 0) {
        const query = one(['?limit=3&userAttributes=team:x', '?limit=5&userAttributes=team:y'])
        streams.push([await open(setup.tenant.id, query), query])
      }
      const id = users[roll(users.length)] ?? ''
      const what = roll(12)
      if (what === 0) await setup.tenant.admin('DELETE', `/users/${id}`)
      else if (what === 1) await patch(setup, { maxParticipants: 1 + roll(5) })
      else if (what === 2) await evictDurableObject(object(setup), { webSockets: 'hibernate' })
      else {
        const user = { id, name: `${id} ${roll(3)}`, attributes: { team: one(['x', 'y']) } }
        await setup.tenant.event('steps', user, roll(9) - 3)
      }
    }
    // GET takes no limit above the most participants.
    await patch(setup, { maxParticipants: 5 })
    for (const [stream, query] of streams) await equals(stream, setup, query)
  })
})

describe('runs', () => {
  /** The run of the first day becomes final at this moment (L8). */
  const MIDNIGHT = NOON - (NOON % DAY) + DAY
  const FINAL = MIDNIGHT + 12 * HOUR
  const [FIRST, SECOND] = [dateAt(NOON), dateAt(NOON + DAY)]

  beforeEach(() => moveTo(NOON))
  afterEach(forgetTime)

  test('[Y1, L2, L8] a stream moves on with the run, and names the one that is final', async () => {
    const setup = await withBoard({ runUnit: 'day', runInterval: 1 })
    await events(setup.tenant, ['ada', 3])
    const stream = await open(setup.tenant.id)
    expect(stream.rankings).toMatchObject([{ run: FIRST, status: 'active', rankings: [{ userId: 'ada' }] }])
    await moveTo(MIDNIGHT)
    await untilHeld(() => expect(stream.rankings.at(-1)).toMatchObject({ run: SECOND, rankings: [] }))
    // A user in UTC-11 is still on the first day.
    await setup.tenant.event('steps', { id: 'bob', tz: 'Pacific/Niue' }, 9)
    await events(setup.tenant, ['ada', 1])
    await equals(stream, setup)
    expect([stream.last, stream.finals]).toEqual([[['ada', 1]], []])
    await moveTo(FINAL)
    await untilHeld(() => expect(stream.finals).toHaveLength(1))
    const { body } = await setup.tenant.app('GET', `/leaderboards/board?run=${FIRST}`)
    expect(stream.finals[0]).toMatchObject({ run: FIRST, rankings: Object(at(body, 'rankings')) })
    expect(stream.finals[0]?.rankings.map(({ userId }) => userId)).toEqual(['bob', 'ada'])
    expect(stream.rankings.at(-1)).toMatchObject({ run: SECOND })
    expect(stream.versions).toEqual([...new Set(stream.versions)].sort((a, b) => a - b))
  })

  test('[Y1] a stream that slept through the end of a run is told of it', async () => {
    const setup = await withBoard({ runUnit: 'day', runInterval: 1, breakdown: ['team'] })
    await events(setup.tenant, ['ada', 3, { team: 'x' }], ['bob', 4, { team: 'y' }])
    const stream = await open(setup.tenant.id, '?userAttributes=team:x')
    await evictDurableObject(object(setup), { webSockets: 'hibernate' })
    await moveTo(FINAL)
    await untilHeld(() =>
      expect(stream.finals).toMatchObject([{ run: FIRST, rankings: [{ userId: 'ada' }] }]),
    )
    await untilHeld(() => expect(stream.rankings.at(-1)).toMatchObject({ run: SECOND, rankings: [] }))
  })

  test('[Y1, C1] a clock that goes back brings the earlier run back', async () => {
    const setup = await withBoard({ runUnit: 'day', runInterval: 1, start: dateAt(START) })
    await events(setup.tenant, ['ada', 3])
    const stream = await open(setup.tenant.id)
    expect(stream.rankings.at(-1)?.run).toBe(FIRST)
    await setup.tenant.admin('DELETE', '/test-clock')
    await untilHeld(() => expect(stream.rankings.at(-1)?.run).toBe(dateAt(START)))
  })
})

describe.concurrent('the object', () => {
  test('[Y4] may sleep: the stream goes on', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3])
    const stream = await open(setup.tenant.id)
    for (const value of [1, 2]) {
      await evictDurableObject(object(setup), { webSockets: 'hibernate' })
      await events(setup.tenant, ['bob', value])
      await equals(stream, setup)
    }
    expect(stream.last.join(' ')).toBe('ada,3 bob,3')
    expect(stream.versions).toEqual([...new Set(stream.versions)].sort((a, b) => a - b))
    expect(stream.ended).toBeNull()
  })

  test('[Y4] that is started again ends its streams, and versions grow for who comes back', async () => {
    const setup = await withBoard()
    let last = 0
    for (const value of [1, 2, 3]) {
      const stream = await open(setup.tenant.id)
      expect(stream.versions[0]).toBeGreaterThan(last)
      await events(setup.tenant, ['ada', value])
      await equals(stream, setup)
      last = stream.versions.at(-1) ?? 0
      await evictDurableObject(object(setup), { webSockets: 'close' })
      await untilHeld(() => expect(stream.ended).toBe('closed'))
    }
  })

  test('[Y3] stores nothing for watchers, has no alarm, and forgets the ones who have left', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3])
    const tables = ['scores', 'notes', 'outbox', 'sent_lists', 'standings']
    const ofObject = () =>
      runInDurableObject(object(setup), async (_one, { storage }) => ({
        rows: tables.map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
        alarm: await storage.getAlarm(),
      }))
    const before = [await ofObject(), await setup.tenant.stored()]
    const stream = await open(setup.tenant.id)
    expect(await sockets(setup)).toBe(1)
    await stream.leave()
    await until(async () => (await sockets(setup)) === 0)
    expect([await ofObject(), await setup.tenant.stored()]).toEqual(before)
  })

  test('[Y3] costs an event no more rows if it has watchers', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 3])
    const board = object(setup)
    const rows = async () => {
      const written = (count: number) =>
        runInDurableObject(board, (_one, { storage }) => {
          const { rowsWritten } = storage.sql.exec('SELECT total_changes() AS n')
          return Number(storage.sql.exec('SELECT total_changes() AS n').one().n) + rowsWritten + count
        })
      const first = await written(0)
      for (const value of [1, 2, 3]) await events(setup.tenant, ['ada', value])
      return (await written(0)) - first
    }
    const alone = await rows()
    const stream = await open(setup.tenant.id)
    expect(await rows()).toBe(alone)
    await equals(stream, setup)
    expect(alone).toBeGreaterThan(0)
  })

  test('[Y3] answers 503 with Retry-After if too many different mixtures of groups are watched', async () => {
    const setup = await withBoard({ breakdown: ['team', 'plan'] })
    for (let limit = 1; limit <= 20; limit += 1)
      await open(setup.tenant.id, `?limit=${limit}&userAttributes=team:x`)
    const response = await ask(setup, '?limit=21&userAttributes=team:x')
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30'])
    expect(await response.json()).toEqual({ error: expect.stringMatching(/^Too many clients watch/) })
  })

  test('[Y1] HEAD leaves no watcher behind', async () => {
    const setup = await withBoard()
    const { status, body } = await ask(setup, '', 'HEAD')
    expect([status, body]).toEqual([200, null])
    await until(async () => (await sockets(setup)) === 0)
  })
})

describe('bad input', () => {
  let setup: Setup
  beforeEach(async () => {
    setup = await withBoard({ breakdown: ['team'] })
  })

  it.each([
    ['?limit=0&userAttributes=team:x', 422, /^limit: must be one whole number, at least 1 and at most 100/],
    ['?limit=101&userAttributes=team:x', 422, /^limit: /],
    ['?limit=two', 422, /^limit: .*; userAttributes: must name a group/],
    ['', 422, /^userAttributes: must name a group .* team/],
    ['?userAttributes=plan:x', 422, /^userAttributes: must not name plan/],
    [`?userAttributes=team:${'ж'.repeat(3_500)}`, 422, /^userAttributes: must have at most 3500/],
    ['?userAttributes=x', 422, /^userAttributes: must be key:value pairs/],
  ])('[Y1, L6] bad query %# is refused', async (query, status, error) => {
    const answer = await setup.tenant.app('GET', `/leaderboards/board/live${query}`)
    expect(answer).toMatchObject({ status, body: { error: expect.stringMatching(error) } })
  })

  test.each(['ж', '😀'])('[Y1] a long group of %s is watched', async (sign) => {
    const group = sign.repeat(3_400)
    const stream = await open(setup.tenant.id, `?userAttributes=team:${encodeURIComponent(group)}`)
    expect(stream.last).toEqual([])
  })

  test('[Y1, L9] a board that nobody sees is 404', async () => {
    expect((await setup.tenant.app('GET', '/leaderboards/none/live')).status).toBe(404)
    await patch(setup, { status: 'inactive' })
    expect((await setup.tenant.app('GET', '/leaderboards/board/live')).status).toBe(404)
  })
})
