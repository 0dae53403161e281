import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { LeaderboardObject } from '../../../src/worker'
import { readable } from '../../helpers/readable'
import {
  agrees,
  forgetTime,
  type Message,
  type Reply,
  type Setup,
  withBoard,
} from '../../helpers/worker/boards'
import { at, newApp, rowsEverywhere } from '../../helpers/worker/harness'

afterEach(forgetTime)
afterEach(() => {
  vi.restoreAllMocks()
})

const Logged = z.object({
  iid: z.string(),
  userId: z.string(),
  id: z.string(),
  seq: z.number(),
  at: z.number(),
  value: z.number(),
})
type Logged = z.infer<typeof Logged>

async function logOf({ metric }: Setup): Promise<Logged[]> {
  const results = await rowsEverywhere(
    `SELECT u.iid, u.id AS userId, e.id, e.seq, e.at, e.value FROM ${readable.events} e JOIN users u
      ON u.iid = e.user_iid
     WHERE e.metric_id = ?1 ORDER BY u.iid, e.seq`,
    metric,
  )
  return z.array(Logged).parse(results)
}

/** A step at the object, in order: a call, with `reply` null, or its reply. */
type Step = { message: Message; reply: Reply | null }

/** Records all calls that the object gets, from any caller. */
function observed(): Step[] {
  const steps: Step[] = []
  const { deliver } = LeaderboardObject.prototype
  vi.spyOn(LeaderboardObject.prototype, 'deliver').mockImplementation(async function (
    this: LeaderboardObject,
    message: Message,
  ) {
    steps.push({ message, reply: null })
    const reply = await deliver.call(this, message)
    steps.push({ message, reply })
    return reply
  })
  return steps
}

type Place = { rank: number | null; previousRank: number | null; threshold: number }

/** Ranks by L4 and L5, from the part of the log that the object has. */
class Model {
  readonly #log: readonly Logged[]
  readonly #max: number
  /** The last `seq` up to which a user's changes count. */
  readonly #known = new Map<string, number>()

  constructor(log: readonly Logged[], max: number) {
    this.#log = log
    this.#max = max
  }

  #ranked(): { iid: string; score: number }[] {
    const scores = new Map<string, { score: number; reached: number; userId: string }>()
    for (const { iid, userId, seq, at, value } of this.#log) {
      if (seq > (this.#known.get(iid) ?? -1)) continue
      const score = (scores.get(iid)?.score ?? 0) + value
      scores.set(iid, { score, reached: at, userId })
    }
    return [...scores]
      .filter(([, { score }]) => score > 0)
      .sort(([, a], [, b]) => b.score - a.score || a.reached - b.reached || (a.userId < b.userId ? -1 : 1))
      .slice(0, this.#max)
      .map(([iid, { score }]) => ({ iid, score }))
  }

  #rankOf(iid: string): number | null {
    const index = this.#ranked().findIndex((one) => one.iid === iid)
    return index < 0 ? null : index + 1
  }

  /** True if the object has all changes of the user before this one. */
  isNext(iid: string, seq: number): boolean {
    const known = this.#known.get(iid) ?? -1
    return this.#log.every((one) => one.iid !== iid || one.seq <= known || one.seq >= seq)
  }

  /** Counts a user's changes up to this one. Returns the resulting place. */
  take(iid: string, seq: number): Place {
    const previousRank = this.#rankOf(iid)
    this.#known.set(iid, Math.max(seq, this.#known.get(iid) ?? -1))
    const ranked = this.#ranked()
    const last = ranked.length < this.#max ? 0 : (ranked.at(-1)?.score ?? 0)
    return { rank: this.#rankOf(iid), previousRank, threshold: Math.floor(last / 1e6) }
  }

  lastOf(iid: string): number {
    return Math.max(...this.#log.filter((one) => one.iid === iid).map(({ seq }) => seq))
  }
}

/** Replays the calls in their order, and compares every reply with the model. */
function replayed(steps: readonly Step[], log: readonly Logged[], max: number): Map<string, Place> {
  const model = new Model(log, max)
  const places = new Map<string, Place>()
  const eventOf = (iid: string, seq: number) =>
    log.find((one) => one.iid === iid && one.seq === seq)?.id ?? ''
  for (const { message, reply } of steps) {
    for (const [nth, { iid, seq }] of message.changes.entries()) {
      const id = eventOf(iid, seq)
      // A change without its predecessor waits until the object has read the log, which is before its reply.
      if (reply === null && model.isNext(iid, seq)) places.set(id, model.take(iid, seq))
      if (reply === null) continue
      if (!places.has(id)) places.set(id, model.take(iid, model.lastOf(iid)))
      expect([id, reply.placements[nth]]).toMatchObject([id, places.get(id) ?? {}])
    }
  }
  return places
}

describe('100 parallel events of 50 users, over two Workers', () => {
  it.each([1_000, 10])(
    '[L11, L12] are exact, and each response is that of the moment: %i participants',
    async (max) => {
      const setup = await withBoard({ maxParticipants: max })
      const workers = [newApp(), newApp()].map((send) => setup.tenant.through(send))
      const steps = observed()
      const responses = await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const worker = workers[(n + Math.floor(n / 50)) % 2] ?? setup.tenant
          // Few scores, so that many are equal.
          return worker.event('steps', `u${n % 50}`, 1 + ((n * 7) % 5))
        }),
      )
      expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(201))
      expect(await agrees(setup, { max })).toHaveLength(Math.min(max, 50))
      const log = await logOf(setup)
      expect(log).toHaveLength(100)
      expect(steps.flatMap(({ message, reply }) => (reply === null ? message.changes : []))).toHaveLength(100)
      const places = replayed(steps, log, max)
      expect([...places.keys()].sort()).toEqual(log.map(({ id }) => id).sort())
      for (const { body } of responses) {
        const told = at(body, 'leaderboards', 'board')
        expect(told).toMatchObject(places.get(String(at(body, 'eventId'))) ?? {})
      }
      // A user's own gain never lowers the rank.
      for (const { rank, previousRank } of places.values()) {
        if (previousRank !== null) expect(rank).toBeLessThanOrEqual(previousRank)
      }
    },
  )

  it('[L12] points, with a team that changes in between', async () => {
    const setup = await withBoard({ rankBy: 'points', breakdown: ['team'] })
    const workers = [newApp(), newApp()].map((send) => setup.tenant.through(send))
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, n) => {
        const attributes = { team: 'xyz'[n % 3] ?? 'x' }
        return (workers[n % 2] ?? setup.tenant).event('steps', { id: `u${n % 20}`, attributes }, (n % 4) - 1)
      }),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(201))
    // The object may miss a move before the first score. It gets it with the user's next change.
    for (let n = 0; n < 20; n += 1) await setup.tenant.event('steps', `u${n}`, 1)
    const system = { system: setup.system }
    for (const value of ['x', 'y', 'z']) await agrees(setup, { ...system, group: { [setup.team]: value } })
  })
})
