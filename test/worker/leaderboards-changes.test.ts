import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Board } from '../../src/leaderboards/object/board'
import { casesOf, runs } from '../helpers/runs'
import { SEED } from '../helpers/seed'
import { START } from '../helpers/time'
import { words } from '../helpers/words'
import {
  agrees,
  arrive,
  type Counted,
  DAY,
  dateAt,
  events,
  forgetTime,
  HOUR,
  type Message,
  moveTo,
  NOON,
  patch,
  ranking,
  type Setup,
  statusOfBoard,
  through,
  withBoard,
} from '../helpers/worker/boards'
import { lost } from '../helpers/worker/faulty'
import { databases, pick, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { chance } from '../simulation/random'

afterEach(forgetTime)
afterEach(() => vi.restoreAllMocks())

const OFF = { status: 'inactive' }
const ON = { status: 'active' }

describe('a call with an older configuration', () => {
  it('[L7] arrives after the leaderboard was made inactive: it stays hidden, and the change counts on return', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['bob', 5], ['ada', 2])
    await arrive(calls[0])
    await patch(setup, OFF)
    await arrive(calls[2], calls[1])
    expect(await statusOfBoard(setup)).toBe(404)
    await events(setup.tenant, ['cai', 7], ['ada', 2])
    await patch(setup, ON)
    expect(await agrees(setup)).toEqual(['ada 8', 'cai 7', 'bob 5'])
    await arrive(...calls)
    expect(await agrees(setup)).toEqual(['ada 8', 'cai 7', 'bob 5'])
  })

  it('[L7] users with very many events are counted a few at a time, so that no statement takes too long', async () => {
    const setup = await withBoard(OFF)
    await events(setup.tenant, ['ada', 4], ['bob', 5], ['cai', 7], ['dee', 1])
    const raise = "UPDATE users SET seq = 600000 WHERE tenant_id = ?1 AND id IN ('ada', 'bob')"
    await rowsEverywhere(raise, setup.tenant.id)
    const counted = vi.spyOn(Board.prototype, 'recount')
    await patch(setup, ON)
    const ids = counted.mock.calls.map(([users]) => users.map(({ userId }) => userId).sort())
    // The two are never counted together. With several databases, the parts are others.
    expect(ids.some((some) => some.includes('ada') && some.includes('bob'))).toBe(false)
    if (databases().length === 1) expect(ids).toEqual([['ada'], ['bob', 'cai', 'dee']])
    expect(await agrees(setup)).toEqual(['cai 7', 'bob 5', 'ada 4', 'dee 1'])
  })

  it('[L7] arrives after another metric is counted', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['bob', 5])
    await patch(setup, OFF, { metricId: setup.other }, ON)
    await setup.tenant.event('words', 'cai', 3)
    await arrive(...calls)
    const byWords = { metric: setup.other }
    expect(await agrees(setup, byWords)).toEqual(['cai 3'])
    await setup.tenant.event('words', 'ada', 1)
    expect(await agrees(setup, byWords)).toEqual(['cai 3', 'ada 1'])
  })

  it('[L7] arrives after points are counted instead', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['bob', 5])
    await patch(setup, OFF, { rankBy: 'points', pointsSystemId: setup.system }, ON)
    const points = { system: setup.system }
    expect(await agrees(setup, points)).toEqual(['bob 50', 'ada 40'])
    await arrive(...calls)
    expect(await agrees(setup, points)).toEqual(['bob 50', 'ada 40'])
  })

  it('[L7] arrives after a change of the breakdown', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 4, { team: 'x', plan: 'y' }])
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 2], ['bob', 5, { team: 'x', plan: 'y' }])
    await patch(setup, OFF, { breakdownAttributes: [setup.plan] }, ON)
    await arrive(...calls)
    expect(await agrees(setup, { group: { [setup.plan]: 'y' } })).toEqual(['ada 6', 'bob 5'])
    expect(await agrees(setup, { group: { [setup.plan]: 'x' } })).toEqual([])
    await patch(setup, OFF, { breakdownAttributes: [] }, ON)
    await arrive(...calls)
    expect(await agrees(setup)).toEqual(['ada 6', 'bob 5'])
  })

  it('[L7] arrives after the daily window or the start has moved', async () => {
    await moveTo(NOON)
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['bob', 5])
    await patch(setup, OFF, { startTime: '13:00' }, ON)
    await arrive(...calls)
    expect(await ranking(setup)).toEqual([])
    await patch(setup, OFF, { startTime: '12:00' }, ON)
    await arrive(...calls)
    expect(await agrees(setup)).toEqual(['bob 5', 'ada 4'])
    await moveTo(NOON + DAY)
    await events(setup.tenant, ['ada', 3])
    await patch(setup, OFF, { start: dateAt(NOON + DAY) }, ON)
    await arrive(...calls)
    expect(await agrees(setup, { from: dateAt(NOON + DAY) })).toEqual(['ada 3'])
  })

  it('[G9] arrives after the leaderboard was deleted: 404, and a new one with its key is not affected', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4])
    expect((await setup.tenant.admin('DELETE', `/leaderboards?ids=${setup.board}`)).status).toBe(200)
    await arrive(...calls).catch(() => undefined)
    expect(await statusOfBoard(setup)).toBe(404)
    expect(await kept(setup.board)).toEqual([])
    const start = dateAt(START + 3 * DAY)
    const item = { name: 'New', key: 'board', rankBy: 'metric', metricId: setup.metric, start }
    const board = await setup.tenant.create('/leaderboards', item)
    await arrive(...calls).catch(() => undefined)
    expect(await statusOfBoard(setup)).toBe(404)
    await patch({ ...setup, board }, OFF, { start: dateAt(START) }, ON)
    await arrive(...calls).catch(() => undefined)
    expect(await agrees(setup)).toEqual(['ada 4'])
  })
})

describe('changes of an active leaderboard', () => {
  it('[L5] the maximum: acts at once, and lost and late changes count under it', async () => {
    const setup = await withBoard({ maxParticipants: 2 })
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['bob', 5], ['cai', 6], ['dov', 1])
    await arrive(calls[3], calls[0], calls[1])
    expect(await ranking(setup, { limit: '2' })).toMatchObject([{ userId: 'bob' }, { userId: 'ada' }])
    await patch(setup, { maxParticipants: 3 })
    expect(await agrees(setup, { max: 3 })).toEqual(['cai 6', 'bob 5', 'ada 4'])
    await arrive(...calls)
    expect(await agrees(setup, { max: 3 })).toEqual(['cai 6', 'bob 5', 'ada 4'])
    await patch(setup, { maxParticipants: 1 })
    await arrive(...calls)
    expect(await agrees(setup, { max: 1 })).toEqual(['cai 6'])
    expect(await events(setup.tenant, ['dov', 4], ['cai', -4])).toMatchObject([
      { rank: null, previousRank: null, threshold: 6 },
      { rank: null, previousRank: 1, threshold: 5 },
    ])
    expect(await agrees(setup, { max: 1 })).toEqual(['bob 5'])
    await patch(setup, { maxParticipants: null })
    expect(await agrees(setup)).toEqual(['bob 5', 'dov 5', 'ada 4', 'cai 2'])
  })

  it('[L7] the end: an earlier one takes the later days away, a later one brings them back', async () => {
    await moveTo(NOON)
    const [first, second, third] = [NOON, NOON + DAY, NOON + 5 * DAY].map(dateAt)
    const setup = await withBoard({ end: third })
    await events(setup.tenant, ['ada', 4], ['bob', 5])
    await moveTo(NOON + DAY - 4 * HOUR)
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 3], ['cai', 9], ['bob', 1])
    await arrive(calls[1])
    await patch(setup, { end: first })
    expect(await agrees(setup, { to: `${first}` })).toEqual(['bob 5', 'ada 4'])
    await arrive(calls[2], calls[1])
    expect(await agrees(setup, { to: `${first}` })).toEqual(['bob 5', 'ada 4'])
    await patch(setup, { end: second })
    await arrive(calls[2])
    expect(await agrees(setup)).toEqual(['cai 9', 'ada 7', 'bob 6'])
    await patch(setup, { end: null })
    await arrive(...calls)
    expect(await agrees(setup)).toEqual(['cai 9', 'ada 7', 'bob 6'])
  })

  it('[L2, L7] the end of a board that repeats: runs after it are gone, and come back', async () => {
    await moveTo(NOON)
    const [first, second, third] = [NOON, NOON + DAY, NOON + 2 * DAY].map(dateAt)
    const setup = await withBoard({ runUnit: 'day', runInterval: 1 })
    await events(setup.tenant, ['ada', 4], ['bob', 5])
    await moveTo(NOON + DAY - 4 * HOUR)
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 3], ['cai', 9])
    await patch(setup, { end: first })
    await arrive(...calls)
    expect(await agrees(setup, { to: `${first}` })).toEqual(['bob 5', 'ada 4'])
    await patch(setup, { end: third })
    await arrive(...calls)
    const on = (date: string | undefined) => ({ from: `${date}`, to: `${date}`, query: { run: `${date}` } })
    expect(await agrees(setup, on(first))).toEqual(['bob 5', 'ada 4'])
    expect(await agrees(setup, on(second))).toEqual(['cai 9', 'ada 3'])
  })
})

describe('a breakdown attribute that changes', () => {
  const teams = async (setup: Awaited<ReturnType<typeof withBoard>>) => {
    const of = (value: string) => agrees(setup, { group: { [setup.team]: value } })
    return { x: await of('x'), y: await of('y'), z: await of('z') }
  }
  const identify = async (tenant: Parameters<typeof events>[0], id: string, team: string | null) => {
    expect((await tenant.app('PUT', `/users/${id}`, { attributes: { team } })).status).toBe(200)
  }

  it('[L6] its call is lost, and there is no later change: correct within the hour', async () => {
    await moveTo(NOON)
    const setup = await withBoard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 4, { team: 'x' }], ['bob', 5, { team: 'x' }])
    await moveTo(NOON + HOUR)
    const { tenant } = through(setup.tenant)
    await identify(tenant, 'ada', 'y')
    await identify(tenant, 'bob', null)
    expect(await ranking(setup, { userAttributes: 'team:x' })).toHaveLength(2)
    await moveTo(NOON + 2 * HOUR)
    expect(await teams(setup)).toEqual({ x: [], y: ['ada 4'], z: [] })
  })

  /** Orders in which messages arrive, also twice. */
  const ORDERS = words`210 120 0201 22110 012 021 102 201 0121 2120`
  it.each(casesOf(4, ORDERS))(
    '[L6] an older group never replaces a newer one: moves in the order %s',
    async (order) => {
      const setup = await withBoard({ breakdown: ['team'] })
      await events(setup.tenant, ['ada', 4, { team: 'x' }])
      const { tenant, calls } = through(setup.tenant)
      await identify(tenant, 'ada', 'y')
      await events(tenant, ['ada', 2, { team: 'x' }])
      await identify(tenant, 'ada', 'z')
      await arrive(...[...order].map((place) => calls[Number(place)]))
      expect(await teams(setup)).toEqual({ x: [], y: [], z: ['ada 6'] })
    },
  )

  it('[L13, L12] its call is lost: who takes part is correct within the hour', async () => {
    await moveTo(NOON)
    const setup = await withBoard({ userAttributes: [{ attributeKey: 'team', attributeValue: 'x' }] })
    await events(setup.tenant, ['ada', 4, { team: 'x' }], ['bob', 5], ['cai', 3, { team: 'x' }])
    await moveTo(NOON + HOUR)
    const { tenant } = through(setup.tenant)
    await identify(tenant, 'ada', null)
    await identify(tenant, 'bob', 'x')
    expect(await ranking(setup)).toMatchObject([{ userId: 'ada' }, { userId: 'cai' }])
    await moveTo(NOON + 2 * HOUR)
    expect(await agrees(setup, { filter: { [setup.team]: 'x' } })).toEqual(['bob 5', 'cai 3'])
  })

  it('[L13, L7, L8] other filters of an inactive board: final runs stay, and all others are counted again', async () => {
    await moveTo(NOON)
    const filters = (attributeValue: string) => {
      return { userAttributes: [{ attributeKey: 'team', attributeValue }] }
    }
    const setup = await withBoard({ runUnit: 'day', start: dateAt(NOON), ...filters('x') })
    const both = (tenant: TestTenant) => events(tenant, ['ada', 4, { team: 'x' }], ['bob', 5, { team: 'y' }])
    await both(setup.tenant)
    await moveTo(NOON + DAY + HOUR)
    const { tenant, calls } = through(setup.tenant)
    await both(tenant)
    await patch(setup, OFF, filters('y'), ON)
    await arrive(...calls)
    expect(await ranking(setup, { run: dateAt(NOON) })).toMatchObject([{ userId: 'ada', value: 4 }])
    const today = { from: dateAt(NOON + DAY) }
    expect(await agrees(setup, { ...today, filter: { [setup.team]: 'y' } })).toEqual(['bob 5'])
    await patch(setup, OFF, { userAttributes: null }, ON)
    expect(await agrees(setup, today)).toEqual(['bob 5', 'ada 4'])
  })

  it('[L6] comes before the first event: the older group of that event does not last', async () => {
    await moveTo(NOON)
    const setup = await withBoard({ breakdown: ['team'] })
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 4, { team: 'x' }], ['bob', 4, { team: 'x' }])
    await identify(tenant, 'ada', 'y')
    await identify(tenant, 'bob', 'y')
    await arrive(...[2, 3, 0, 1].map((place) => calls[place]))
    await events(setup.tenant, ['ada', 1])
    expect(await ranking(setup, { userAttributes: 'team:y' })).toMatchObject([{ userId: 'ada', value: 5 }])
    await moveTo(NOON + HOUR)
    expect(await teams(setup)).toEqual({ x: [], y: ['ada 5', 'bob 4'], z: [] })
  })
})

/** A number from 0 to `sides` - 1, which follows from the names: not from which of parallel calls is first. */
const dice = (sides: number, ...names: readonly (string | number)[]) =>
  Math.floor(chance(SEED, ...names) * sides)

describe('attributes that change while events of the same users are under way', () => {
  const filtered = { userAttributes: [{ attributeKey: 'team', attributeValue: 'x' }] }
  const kinds = {
    filter: [filtered, (setup) => ({ filter: { [setup.team]: 'x' } })],
    breakdown: [{ breakdown: ['team'] }, (setup) => ({ group: { [setup.team]: 'x' } })],
    'filter, by points': [
      { ...filtered, rankBy: 'points' },
      (setup) => ({ filter: { [setup.team]: 'x' }, system: setup.system }),
    ],
    'filter and breakdown': [
      { ...filtered, breakdown: ['plan'] },
      (setup) => ({ filter: { [setup.team]: 'x' }, group: { [setup.plan]: 'pro' } }),
    ],
  } satisfies Record<string, readonly [object, (setup: Setup) => Counted]>

  it.each(Object.entries(kinds))(
    '[L13, L6, L12] calls that are lost, doubled, late or unanswered leave a board exact: %s',
    async (_kind, [more, counted]) => {
      const setup = await withBoard(more)
      const users = ['ada', 'bob', 'cai']
      const late: Message[] = []
      const faulty = () =>
        through(setup.tenant, async (go, message) => {
          const draw = dice(6, ...message.changes.flatMap(({ userId, seq }) => [userId, seq]))
          if (draw === 1) late.push(message)
          if (draw === 2) await arrive(message, message)
          if (draw < 2) throw lost()
          const reply = await go()
          if (draw === 3) throw lost()
          return reply
        })
      const isolates = [faulty(), faulty()]
      for (let round = 0; round < runs(2, 12); round += 1) {
        const work = Array.from({ length: 24 }, async (_, nth) => {
          const { tenant } = isolates[nth % 2] ?? faulty()
          const draw = (sides: number, name: string) => dice(sides, round, nth, name)
          const id = users[draw(users.length, 'user')] ?? ''
          const attributes = {
            team: draw(2, 'team') === 0 ? 'x' : 'y',
            plan: draw(3, 'plan') === 0 ? 'free' : 'pro',
          }
          const what = draw(3, 'what')
          if (what === 0) await tenant.app('PUT', `/users/${id}`, { attributes })
          else await tenant.event('steps', what === 1 ? { id, attributes } : id, 1 + draw(4, 'value'))
        })
        await Promise.all(work)
        const messages = late.splice(0)
        await Promise.all(messages.filter((_, nth) => nth % 2 === 0).map((message) => arrive(message)))
        // Each user's next change makes the board right again, and no late call changes that.
        await events(setup.tenant, ...users.map((id): [string, number] => [id, 1]))
        await Promise.all(messages.map((message) => arrive(message)))
        await agrees(setup, counted(setup))
      }
    },
  )
})

describe('a metric or points system that is deleted', () => {
  it.each([
    ['metric', {}],
    ['points system', { rankBy: 'points' }],
    ['leaderboard', {}],
  ])('[G9] the %s: the leaderboard is 404 at once, and its object deletes its data', async (what, more) => {
    const setup = await withBoard(more)
    await events(setup.tenant, ['ada', 4], ['bob', 5])
    const by = { rankBy: 'metric', metricId: setup.metric, pointsSystemId: setup.system, ...more }
    const others = { other: { ...by, rankBy: 'metric', metricId: setup.other }, streak: { rankBy: 'streak' } }
    for (const [key, item] of Object.entries({ idle: by, ...others }))
      await setup.tenant.create('/leaderboards', { key, name: key, ...item })
    const paths = { metric: `/metrics?ids=${setup.metric}`, 'points system': `/points?ids=${setup.system}` }
    const path = Object.entries(paths).find(([name]) => name === what)?.[1]
    const deleted = await setup.tenant.admin('DELETE', path ?? `/leaderboards?ids=${setup.board}`)
    expect(deleted.status).toBe(200)
    expect(await statusOfBoard(setup)).toBe(404)
    expect((await setup.tenant.app('GET', '/users/ada/leaderboards/board')).status).toBe(404)
    expect(await kept(setup.board)).toEqual([])
    const left = pick((await setup.tenant.admin('GET', '/leaderboards')).body, 'key')
    expect(left).toEqual([...(what === 'leaderboard' ? ['idle'] : []), ...Object.keys(others)])
  })
})

/** The tables of a leaderboard's object that have rows about users. */
async function kept(board: string): Promise<string[]> {
  return runInDurableObject(env.LEADERBOARD.getByName(board), (_, { storage }) => {
    const tables = ['scores', 'finals', 'standings', 'history']
    return tables.filter((table) => storage.sql.exec(`SELECT 1 FROM ${table} LIMIT 1`).toArray().length > 0)
  })
}
