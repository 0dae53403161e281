import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Board } from '../../src/leaderboards/object/board'
import { instant, iso } from '../../src/lib/clock'
import { LeaderboardObject } from '../../src/worker'
import {
  agrees,
  DAY,
  dateAt,
  events,
  forgetTime,
  gate,
  HOUR,
  type Message,
  moveTo,
  moveUnseen,
  NOON,
  patch,
  type Setup,
  shown,
  through,
  withBoard,
} from '../helpers/worker/boards'
import { behind, lost } from '../helpers/worker/faulty'
import { at, newTenantInLast } from '../helpers/worker/harness'

/**
 * Races in a leaderboard's object while it waits for D1: one answer comes late, others fail, and calls
 * continue.
 */

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

type Batch = () => Promise<D1Result[]>
/** The object's D1. The test replaces `fault` to change the result of a batch. */
type Faulty = { fault: (batch: Batch) => Promise<D1Result[]> }

const fine = (batch: Batch) => batch()
const failing = () => Promise.reject(lost())

/** A fault that reads from D1 at once and returns the result when the test calls `returnResult`. */
function late() {
  const [read, mayReturn] = [gate(), gate()]
  const fault = async (batch: Batch) => {
    const answer = await batch()
    read.open()
    await mayReturn.opened
    return answer
  }
  return { fault, read: read.opened, returnResult: mayReturn.open }
}

/**
 * Runs an object of a leaderboard over its real storage and a D1 of the test. Evicts the real object
 * afterwards, so that it has only the stored state.
 */
async function inObject(
  { board }: Setup,
  act: (object: LeaderboardObject, d1: Faulty) => Promise<void>,
): Promise<void> {
  const stub = env.LEADERBOARD.getByName(board)
  await runInDurableObject(stub, async (_, state) => {
    const d1: Faulty = { fault: fine }
    // With several databases, the object also reads the directory, once. That is no subject of these tests.
    const faulty = behind(({ texts, run }) =>
      texts.some((sql) => sql.includes('FROM directory')) ? run() : d1.fault(run),
    )
    await act(new LeaderboardObject(state, { ...env, ...faulty }), d1)
  })
  await evictDurableObject(stub)
}

/**
 * A leaderboard that is complete, and later changes that it did not get, such as `ada 1, bob 2`. The first
 * call has its definition, and `started` gives the object that call alone.
 */
async function withheld(changes: string, more: Record<string, unknown> = {}) {
  const setup = await withBoard({ start: dateAt(NOON), ...more }, await newTenantInLast())
  const { tenant, calls } = through(setup.tenant)
  const asked = changes.split(', ').map((one) => one.split(' '))
  await events(tenant, ...asked.map(([user = '', value]): [string, number] => [user, Number(value)]))
  const call = (place: number): Message => {
    const message = calls[place]
    if (message === undefined) throw new Error('no such message')
    return message
  }
  const started = (act: Parameters<typeof inObject>[1]) =>
    inObject(setup, async (object, d1) => {
      await object.deliver(call(0))
      await act(object, d1)
    })
  return { setup, call, started, definition: call(0).definition, tenant, calls }
}

const RUN = Math.floor(NOON / DAY)
/** The first full hour of the test. */
const FULL_HOUR = Math.ceil(NOON / HOUR) * HOUR
type Known = Message['definition']

async function page(object: LeaderboardObject, definition: Known): Promise<string[]> {
  const rest = { now: instant(NOON), run: RUN, group: [], offset: 0, limit: 1_000, userId: null }
  return shown((await object.page({ definition, ...rest })) ?? [])
}

const runDue = (object: LeaderboardObject, definition: Known, now = NOON + 2 * 3_600_000) =>
  object.runDue({ definition, now: instant(now), until: instant(now), grace: 0 })

describe('while the object waits for D1', () => {
  it('[L12] upkeep fails while a change is counted again: the served ranking is right', async () => {
    const { setup, started, call, definition } = await withheld('ada 1, ada 2, bob 2, ada 4')
    await started(async (object, d1) => {
      await object.deliver(call(2))
      const answer = late()
      d1.fault = answer.fault
      const delivered = object.deliver(call(3))
      await answer.read
      d1.fault = failing
      await expect(runDue(object, definition)).rejects.toThrow('lost')
      expect(await page(object, definition)).toEqual(['bob 2', 'ada 1'])
      answer.returnResult()
      expect((await delivered).placements).toMatchObject([{ rank: 1, previousRank: 2 }])
      expect(await page(object, definition)).toEqual(['ada 7', 'bob 2'])
    })
    await agrees(setup)
  })

  it('[L12] a change cannot be counted again while all users are compared: no new user is lost', async () => {
    const { setup, started, call, definition, tenant } = await withheld('ada 1, bob 2, bob 4')
    await started(async (object, d1) => {
      const answer = late()
      d1.fault = answer.fault
      const tended = runDue(object, { ...definition, maxParticipants: 500, version: definition.version + 1 })
      await answer.read
      d1.fault = failing
      await expect(object.deliver(call(2))).rejects.toThrow('lost')
      d1.fault = fine
      await events(tenant, ['cai', 3])
      await object.deliver(call(3))
      answer.returnResult()
      await tended
      expect(await page(object, definition)).toEqual(['bob 6', 'cai 3', 'ada 1'])
    })
    await agrees(setup)
  })

  it('[L8] a change cannot be counted again while a run becomes final: the run stays final', async () => {
    const end = dateAt(NOON + DAY)
    const { setup, started, call, definition } = await withheld('ada 1, bob 2, ada 4, bob 8', { end })
    await started(async (object, d1) => {
      const answer = late()
      d1.fault = answer.fault
      const tended = runDue(object, definition, NOON + 2 * DAY)
      await answer.read
      d1.fault = failing
      await expect(object.deliver(call(3))).rejects.toThrow('lost')
      d1.fault = fine
      answer.returnResult()
      expect(await tended).toMatchObject({ dueAt: null })
      expect(await page(object, definition)).toEqual(['bob 10', 'ada 5'])
      for (const place of [0, 1, 2, 3]) await object.deliver(call(place))
      await object.recount({ definition, now: instant(NOON + 2 * DAY), userIds: ['ada', 'bob'] })
      expect(await runDue(object, definition, NOON + 3 * DAY)).toMatchObject({ dueAt: null })
      expect(await page(object, definition)).toEqual(['bob 10', 'ada 5'])
    })
    await inObject(setup, async (object) => {
      expect(await page(object, definition)).toEqual(['bob 10', 'ada 5'])
    })
  })

  it.each(['deliver', 'recount', 'runDue'] as const)(
    '[L7] another metric is counted while %s waits for the result of the old one',
    async (how) => {
      const { setup, started, call, definition } = await withheld('ada 1, ada 2, ada 4')
      for (const user of ['cai', 'bob']) await setup.tenant.event('words', user, 3)
      await setup.tenant.event('words', 'bob', 3)
      const next = { ...definition, input: setup.other, version: definition.version + 3 }
      await started(async (object, d1) => {
        const answer = late()
        // Upkeep first asks for the period history, and then for the users who differ.
        const first = (batch: Batch) => {
          d1.fault = answer.fault
          return batch()
        }
        d1.fault = how === 'runDue' ? first : answer.fault
        const waiting = {
          deliver: () => object.deliver(call(2)),
          recount: () => object.recount({ definition, now: instant(NOON), userIds: ['ada'] }),
          runDue: () => runDue(object, definition),
        }[how]()
        await answer.read
        d1.fault = fine
        expect(await page(object, next)).toEqual([])
        answer.returnResult()
        await waiting
        await runDue(object, next)
        expect(await page(object, next)).toEqual(['bob 6', 'cai 3'])
      })
      await patch(setup, { status: 'inactive' }, { metricId: setup.other }, { status: 'active' })
      await agrees(setup, { metric: setup.other })
    },
  )

  it('[L12] changes arrive while all users are compared: none is undone, and none counts twice', async () => {
    const asked = 'ada 1, bob 2, cai 3, dov 4, ada 10, eve 7'
    const { setup, started, call, definition, tenant, calls } = await withheld(asked)
    await started(async (object, d1) => {
      await object.deliver(call(1))
      const responses = [late(), late()]
      let asked = 0
      d1.fault = (batch) => (responses[asked++]?.fault ?? fine)(batch)
      const tended = runDue(object, { ...definition, maxParticipants: 500, version: definition.version + 1 })
      for (const answer of responses) {
        await answer.read
        await events(tenant, ['ada', 1], ['bob', 100], ['fay', 2], ['new', 3])
        for (const place of [4, 5, calls.length - 4, calls.length - 3, calls.length - 2, calls.length - 1]) {
          await object.deliver(call(place))
        }
        answer.returnResult()
      }
      await tended
      const all = ['bob 202', 'ada 13', 'eve 7', 'new 6', 'dov 4', 'fay 4', 'cai 3']
      expect(await page(object, definition)).toEqual(all)
    })
    await agrees(setup)
  })

  it('[L12] an older answer of D1 comes after a newer one: the newer one counts', async () => {
    const { setup, started, call, definition, tenant } = await withheld('ada 1, ada 2, ada 4')
    await started(async (object, d1) => {
      const older = late()
      d1.fault = older.fault
      const first = object.deliver(call(2))
      await older.read
      d1.fault = fine
      await events(tenant, ['ada', 8], ['ada', 16])
      await object.deliver(call(4))
      expect(await page(object, definition)).toEqual(['ada 31'])
      older.returnResult()
      await first
      expect(await page(object, definition)).toEqual(['ada 31'])
    })
    await agrees(setup)
  })

  it('[G9] the board is deleted while a change is counted again: nothing of it is left', async () => {
    const { setup, started, call } = await withheld('ada 1, ada 2, ada 4')
    await started(async (object, d1) => {
      const answer = late()
      d1.fault = answer.fault
      const waiting = object.deliver(call(2)).catch(() => undefined)
      await answer.read
      d1.fault = fine
      await object.forget()
      answer.returnResult()
      await waiting
    })
    const left = await runInDurableObject(env.LEADERBOARD.getByName(setup.board), (_, { storage }) =>
      storage.sql.exec('SELECT user_id FROM scores').toArray(),
    )
    expect(left).toEqual([])
  })
})

describe('upkeep that was due before a full hour and comes after the upkeep of that hour', () => {
  it('[L12] ends, and is due again at the next full hour', async () => {
    const { setup, started, definition } = await withheld('ada 1')
    await started(async (object) => {
      const moments = { now: instant(FULL_HOUR - 1), until: instant(FULL_HOUR + 1), grace: 0 }
      expect(await runDue(object, definition, FULL_HOUR)).toMatchObject({ dueAt: FULL_HOUR + HOUR })
      expect(await object.runDue({ definition, ...moments })).toMatchObject({ dueAt: FULL_HOUR + HOUR })
    })
    await agrees(setup)
  })

  it('[L12] is due again at once, if it has compared nothing since the hour before', async () => {
    const { started, definition } = await withheld('ada 1')
    await started(async (object) => {
      await runDue(object, definition, FULL_HOUR)
      const [now, until] = [instant(FULL_HOUR + 1), instant(FULL_HOUR + 2 * HOUR + 1)]
      const dueAt = FULL_HOUR + 2 * HOUR
      expect(await object.runDue({ definition, now, until, grace: 0 })).toMatchObject({ dueAt })
      expect(await object.runDue({ definition, now: instant(dueAt), until, grace: 0 })).toMatchObject({
        dueAt: dueAt + HOUR,
      })
    })
  })

  it('[L10] records the day that is over before it reads the scores of the next day', async () => {
    const { setup, started, definition, tenant } = await withheld('ada 1')
    const midnight = (RUN + 1) * DAY
    await moveUnseen(midnight + 1)
    await events(tenant, ['ada', 5])
    await started(async (object) => {
      const moments = { now: instant(midnight - HOUR), until: instant(midnight + 2), grace: HOUR }
      await object.runDue({ definition, ...moments })
    })
    const { body } = await setup.tenant.app('GET', '/users/ada/leaderboards/board')
    expect(at(body, 'history')).toMatchObject([
      { timestamp: iso(instant(midnight - DAY)), value: 1 },
      { timestamp: iso(instant(midnight)), value: 6 },
    ])
  })

  it('[L12, M2] does not look like a restore if the answer to its note is lost', async () => {
    const { setup, started, definition } = await withheld('ada 1')
    const reopen = vi.spyOn(Board.prototype, 'reopen')
    await started(async (object, d1) => {
      await runDue(object, definition, FULL_HOUR)
      d1.fault = async (batch) => {
        const results = await batch()
        if (results.some(({ meta }) => meta.changes > 0)) throw lost()
        return results
      }
      await expect(runDue(object, definition, FULL_HOUR - 1)).rejects.toThrow('lost')
      d1.fault = fine
      expect(await runDue(object, definition, FULL_HOUR)).toMatchObject({ dueAt: FULL_HOUR + HOUR })
    })
    expect(reopen).not.toHaveBeenCalled()
    await agrees(setup)
  })
})
