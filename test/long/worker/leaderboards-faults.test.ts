import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import type { Repair } from '../../../src/leaderboards/updates'
import {
  agrees,
  arrive,
  boardsWith,
  events,
  forgetTime,
  gate,
  HOUR,
  type Message,
  moveTo,
  NOON,
  queueWith,
  ranking,
  type Setup,
  through,
  withBoard,
} from '../../helpers/worker/boards'
import { lost } from '../../helpers/worker/faulty'
import { handOver } from '../../helpers/worker/handlers'
import { at, newApp } from '../../helpers/worker/harness'
import { stubbed } from '../../helpers/worker/objects'

afterEach(forgetTime)

/** The ids of messages that the Worker acknowledges. */
const consume = async (...bodies: Repair[]) => (await handOver('laurel-repairs', bodies)).acks

describe('a leaderboard that can’t be reached', () => {
  const throws = () => {
    throw lost()
  }
  const faults: [string, () => typeof env.LEADERBOARD][] = [
    ['rejects', () => boardsWith(() => Promise.reject(lost()))],
    ['throws at once', () => boardsWith(throws)],
    ['returns an invalid reply', () => boardsWith(async () => ({ placements: [], rowsWritten: Number.NaN }))],
    ['is not even found', () => stubbed(env.LEADERBOARD, throws)],
  ]

  it.each(faults)(
    '[L11] %s: the event is 201 without it, and the next change corrects it',
    async (_what, board) => {
      const setup = await withBoard()
      const REPAIRS = queueWith(throws)
      const tenant = setup.tenant.through(newApp({ LEADERBOARD: board(), REPAIRS }))
      await events(setup.tenant, ['bob', 5], ['ada', 3])
      expect(await events(tenant, ['ada', 4], ['bob', 1], ['cai', 9])).toEqual(Array(3).fill(undefined))
      const told = await events(setup.tenant, ['ada', 1], ['bob', 1], ['cai', 1])
      expect(told).toMatchObject([
        { rank: 1, previousRank: 2 },
        { rank: 2, previousRank: 2 },
        { rank: 1, previousRank: null },
      ])
      expect(await agrees(setup)).toEqual(['cai 10', 'ada 8', 'bob 7'])
    },
  )

  it('[L11] the queue gets a message, which corrects it, once or twice', async () => {
    const setup = await withBoard()
    const { tenant, repairs } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['bob', 5], ['ada', 2])
    expect(await ranking(setup)).toEqual([])
    const { id: tenantId } = setup.tenant
    const asked = (user: string) => ({ tenantId, leaderboardId: setup.board, userIds: [user] })
    expect(repairs).toEqual([asked('ada'), asked('bob'), asked('ada')])
    expect(await consume(...repairs)).toEqual(['m0', 'm1', 'm2'])
    expect(await agrees(setup)).toEqual(['ada 6', 'bob 5'])
    expect(await consume(...repairs)).toHaveLength(3)
    expect(await events(setup.tenant, ['bob', 2])).toMatchObject([{ rank: 1, previousRank: 2 }])
    expect(await agrees(setup)).toEqual(['bob 7', 'ada 6'])
  })

  it('[L11] an invalid message of the queue, or one of deleted objects, harms no other', async () => {
    const setup = await withBoard()
    const { tenant, repairs } = through(setup.tenant)
    await events(tenant, ['ada', 4])
    const [good] = repairs
    if (good === undefined) throw new Error('nothing was sent')
    const gone = [
      { ...good, leaderboardId: crypto.randomUUID() },
      { ...good, userIds: ['nobody', 'ada'] },
      { ...good, userIds: [] },
    ]
    const acks = await consume({ ...good, tenantId: crypto.randomUUID() }, ...gone)
    expect(acks).toEqual(['m0', 'm1', 'm2', 'm3'])
    expect(await agrees(setup)).toEqual(['ada 4'])
  })

  it.each([
    ['just after a comparison', 0],
    ['just before a comparison', HOUR - 1],
  ])('[L12] the queue fails too, %s: correct again within the hour', async (_what, wait) => {
    const hour = NOON - (NOON % HOUR)
    await moveTo(hour - HOUR)
    const setup = await withBoard()
    await moveTo(hour)
    await events(setup.tenant, ['ada', 3], ['bob', 2])
    await moveTo(hour + wait)
    const LEADERBOARD = boardsWith(() => Promise.reject(lost()))
    const REPAIRS = queueWith(() => Promise.reject(lost()))
    const tenant = setup.tenant.through(newApp({ LEADERBOARD, REPAIRS }))
    expect(await events(tenant, ['bob', 4], ['cai', 1])).toEqual([undefined, undefined])
    expect(await ranking(setup)).toMatchObject([{ userId: 'ada' }, { userId: 'bob', value: 2 }])
    await moveTo(hour + HOUR)
    expect(await agrees(setup)).toEqual(['bob 6', 'ada 3', 'cai 1'])
  })

  it('[L11] only this leaderboard is missing from the response', async () => {
    const setup = await withBoard()
    const more = { name: 'More', key: 'more', status: 'active', rankBy: 'metric', metricId: setup.metric }
    await setup.tenant.create('/leaderboards', more)
    const isOne = ({ definition }: Message) => definition.id === setup.board
    const { tenant } = through(setup.tenant, (go, message) =>
      isOne(message) ? Promise.reject(lost()) : go(),
    )
    const { status, body } = await tenant.event('steps', 'ada', 4)
    expect([status, Object.keys(Object(at(body, 'leaderboards')))]).toEqual([201, ['more']])
  })
})

describe('a call with a lost answer', () => {
  it('[L11] is slow: the event is answered without it after seconds, and it counts when it arrives', async () => {
    // The hourly comparison would correct the board, so the clock stays at noon.
    await moveTo(NOON)
    const setup = await withBoard()
    const [called, mayGo] = [gate(), gate()]
    const arrived: Promise<unknown>[] = []
    const { tenant, repairs } = through(setup.tenant, (go) => {
      called.open()
      const work = mayGo.opened.then(go)
      arrived.push(work)
      return work
    })
    const slow = events(tenant, ['ada', 4])
    await called.opened
    expect(await events(setup.tenant, ['bob', 3])).toMatchObject([{ rank: 1 }])
    expect(await slow).toEqual([undefined])
    expect(repairs).toHaveLength(1)
    expect(await ranking(setup)).toHaveLength(1)
    mayGo.open()
    await Promise.all(arrived)
    expect(await agrees(setup)).toEqual(['ada 4', 'bob 3'])
  })
})

/** Six changes of two users, which the leaderboard did not get: ada's at 0, 2 and 4, bob's at 1, 3 and 5. */
async function withheld(): Promise<{ setup: Setup; calls: Message[] }> {
  const setup = await withBoard()
  const { tenant, calls } = through(setup.tenant)
  await events(tenant, ['ada', 1], ['bob', 2], ['ada', 10], ['bob', 20], ['ada', -4], ['bob', 200])
  expect(calls).toHaveLength(6)
  return { setup, calls }
}

const pick = (calls: readonly Message[], places: readonly number[]) => places.map((place) => calls[place])

describe('calls in any order', () => {
  const RIGHT = ['bob 222', 'ada 7']

  it('[L12] several users in one call, some with a missing change', async () => {
    const { setup, calls } = await withheld()
    await arrive(calls[0])
    const [first] = calls
    if (first === undefined) throw new Error('no message')
    const changes = pick(calls, [2, 3, 5, 4, 5]).flatMap((message) => message?.changes ?? [])
    const { placements } = await env.LEADERBOARD.getByName(setup.board).deliver({ ...first, changes })
    expect(placements).toMatchObject([
      { rank: 1, previousRank: 1 },
      { rank: 1, previousRank: null },
      { rank: 1, previousRank: 1 },
      // No user waits for the recount of another.
      { rank: 1, previousRank: 1 },
      { rank: 1, previousRank: 1 },
    ])
    expect(await agrees(setup)).toEqual(RIGHT)
  })

  it('[L12] points: several awards in one change, and a cap that cuts them', async () => {
    const setup = await withBoard({ rankBy: 'points' })
    await setup.tenant.admin('PATCH', '/points', [{ id: setup.system, maxPoints: 100 }])
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 3], ['bob', 9], ['ada', 4], ['bob', 9], ['ada', 1])
    await arrive(...pick(calls, [3, 4, 0, 0]))
    expect(await agrees(setup, { system: setup.system })).toEqual(['bob 100', 'ada 80'])
  })
})

describe('an object that is evicted', () => {
  it('[L12] between calls: nothing is forgotten, and nothing counted twice', async () => {
    const { setup, calls } = await withheld()
    const object = env.LEADERBOARD.getByName(setup.board)
    for (const message of [...calls, ...calls]) {
      await arrive(message)
      await evictDurableObject(object)
    }
    expect(await agrees(setup)).toEqual(['bob 222', 'ada 7'])
    await evictDurableObject(object)
    expect(await events(setup.tenant, ['ada', 900])).toMatchObject([{ rank: 1, previousRank: 2 }])
    expect(await agrees(setup)).toEqual(['ada 907', 'bob 222'])
  })
})
