import { beforeEach, describe, expect, test, vi } from 'vitest'
import { Definition, type Row } from '../../src/leaderboards/board'
import { MOST_UNSEEN, type WatcherNote } from '../../src/leaderboards/live/view'
import { Watchers } from '../../src/leaderboards/live/watchers'
import { scoreOf } from '../../src/leaderboards/score.rules'
import { instant } from '../../src/lib/clock'
import { MOST_MIXED_VIEWS, MOST_WATCHERS } from '../../src/lib/limits'
import { fakeWaits } from '../helpers/fake-waits'

const START = Date.UTC(2027, 0, 4, 12)
const SECOND = 1_000

const definition = Definition.parse({
  id: 'board',
  tenantId: 'tenant',
  version: 1,
  status: 'active',
  rankBy: 'points',
  input: 'xp',
  maxParticipants: 1_000,
  start: '2027-01-01',
  end: null,
  startTime: null,
  endTime: null,
  breakdown: ['team'],
  userAttributes: [],
  runUnit: null,
  runInterval: null,
  finished: null,
})

const row = (user: string, score: number, group: string): Row => ({
  userId: user,
  iid: user,
  score: scoreOf(score),
  reached: 0,
  run: 0,
  group: JSON.stringify([group]),
  cursor: 0,
  grouped: 0,
})

/** The object's end of a socket. It keeps what is sent and noted. */
class FakeSocket extends EventTarget {
  readonly sent: { at: number; text: string }[] = []
  isClosed = false
  note: unknown = null

  send(text: string): void {
    if (this.isClosed) throw new Error('closed')
    // By the fake timers, which `present` does not follow.
    this.sent.push({ at: Date.now(), text })
  }
  close(): void {
    this.isClosed = true
  }
  serializeAttachment(note: unknown): void {
    this.note = structuredClone(note)
  }
  deserializeAttachment(): unknown {
    return this.note
  }

  get data(): { version: number; rankings: { userId: string; value: number }[] }[] {
    return this.sent.map(({ text }) => JSON.parse(/data: (.*)\n/.exec(text)?.[1] ?? ''))
  }
  get last(): [string, number][] {
    return (this.data.at(-1)?.rankings ?? []).map(({ userId, value }) => [userId, value])
  }
}

/** A board in memory, and an object whose sockets outlive its memory. */
class Scene {
  readonly sockets: FakeSocket[] = []
  readonly rows = new Map<string, Row>()
  openFrom = 0
  status: Definition['status'] = 'active'
  isAway = false
  reads = 0
  pages = 0
  watchers = this.wake()

  /** A new object over the same sockets, as after sleep. */
  wake(): Watchers {
    const board = () => ({
      definition: { ...definition, status: this.status },
      progress: { openFrom: this.openFrom },
      page: ({ limit, group: [team] }: { limit: number; group: (string | null)[] }) => {
        this.pages += 1
        return [...this.rows.values()]
          .filter(({ group }) => team === null || group === JSON.stringify([team]))
          .sort((a, b) => Number(b.score) - Number(a.score))
          .slice(0, limit)
          .map(({ userId, iid, score }, index) => ({ userId, iid, rank: index + 1, value: Number(score) }))
      },
    })
    const { sockets } = this
    const state: DurableObjectState = Object({ acceptWebSocket() {}, getWebSockets: () => sockets })
    this.watchers = new Watchers(state, {
      board,
      // By the fake timers.
      now: async () => instant(Date.now()),
      namesOf: async (_board, userIds) => {
        this.reads += 1
        if (this.isAway) throw new Error('D1 is away')
        return new Map(userIds.map((id) => [id, `Name of ${id}`]))
      },
    })
    return this.watchers
  }

  score(user: string, score: number, group = 'a'): void {
    const before = this.rows.get(user) ?? null
    const after = row(user, score, group)
    this.rows.set(user, after)
    this.watchers.moved(before, after)
  }

  /** Opens a stream. Returns its socket, or the reason why there is none. */
  async open(limit = 10, group: string | null = 'a', holder: string | null = null): Promise<FakeSocket> {
    const opened = await this.watchers.open({ limit, group: [group] }, holder)
    if (typeof opened === 'string') throw new Error(opened)
    const socket = this.sockets.at(-1)
    if (socket === undefined) throw new Error('no socket')
    return socket
  }
}

let scene: Scene
fakeWaits(START)

beforeEach(() => {
  scene = new Scene()
  vi.stubGlobal(
    'WebSocketPair',
    class {
      0 = {}
      1 = new FakeSocket()
      constructor() {
        scene.sockets.push(this[1])
      }
    },
  )
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('rankings', () => {
  test('[Y1] come within two seconds of a change to each of 1,000 watchers who came at any time', async () => {
    const sockets: FakeSocket[] = []
    for (let nth = 0; nth < 1_000; nth += 1) {
      sockets.push(await scene.open())
      if (nth % 10 === 0) {
        scene.score('ada', nth + 1)
        await pass(7)
      }
    }
    scene.score('ada', 5_000)
    await pass(2 * SECOND)
    expect(sockets.filter(({ last }) => last[0]?.[1] !== 5_000)).toEqual([])
    for (const { sent } of sockets) {
      for (const [index, { at }] of sent.entries())
        if (index > 0) expect(at - (sent[index - 1]?.at ?? 0)).toBeGreaterThanOrEqual(SECOND)
    }
  })

  test('[Y1] come when a stream opens, and then only if the visible part has changed', async () => {
    scene.score('ada', 9)
    const top = await scene.open(1)
    expect(top.last).toEqual([['ada', 9]])
    scene.score('bob', 3)
    await pass(2 * SECOND)
    expect(top.sent).toHaveLength(1)
    scene.score('bob', 10)
    await pass(2 * SECOND)
    expect(top.sent).toHaveLength(2)
    expect(top.last).toEqual([['bob', 10]])
  })

  test('[Y1] of one view are read once for all its watchers, and of another group not at all', async () => {
    for (const group of ['a', 'a', 'a', 'b']) await scene.open(10, group)
    await pass(5 * SECOND)
    const [pages, reads] = [scene.pages, scene.reads]
    scene.score('ada', 5)
    await pass(2 * SECOND)
    expect([scene.pages - pages, scene.reads - reads]).toEqual([1, 1])
    const texts = scene.sockets.map(({ sent }) => sent.at(-1)?.text)
    expect(new Set(texts.slice(0, 3)).size).toBe(1)
    expect(scene.sockets.map(({ sent }) => sent.length)).toEqual([2, 2, 2, 1])
  })

  test('[Y1] follow a user from group to group, in mixed views too', async () => {
    scene.score('ada', 5, 'a')
    const [a, b, all] = [await scene.open(10, 'a'), await scene.open(10, 'b'), await scene.open(10, null)]
    await pass(5 * SECOND)
    scene.score('ada', 6, 'b')
    await pass(2 * SECOND)
    expect([a.last, b.last, all.last]).toEqual([[], [['ada', 6]], [['ada', 6]]])
  })

  test('[Y3] need no timer while nothing changes, and none if nobody watches', async () => {
    scene.score('ada', 1)
    expect(vi.getTimerCount()).toBe(0)
    const socket = await scene.open()
    scene.score('ada', 2)
    expect(vi.getTimerCount()).toBe(1)
    await pass(5 * SECOND)
    expect(vi.getTimerCount()).toBe(0)
    scene.watchers.left(Object(socket))
    const { pages } = scene
    scene.score('ada', 3)
    scene.watchers.look()
    expect([vi.getTimerCount(), scene.pages]).toEqual([0, pages])
  })

  test('[Y1] come later if the names can’t be read, and are not lost', async () => {
    const socket = await scene.open()
    await pass(5 * SECOND)
    scene.isAway = true
    scene.score('ada', 1)
    await pass(10 * SECOND)
    expect(socket.sent).toHaveLength(1)
    scene.isAway = false
    await pass(6 * SECOND)
    expect(socket.last).toEqual([['ada', 1]])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('versions', () => {
  test('[Y4] grow, also if the object sleeps or is started again, and if its clock goes back', async () => {
    scene.score('ada', 1)
    const socket = await scene.open()
    await pass(5 * SECOND)
    scene.score('ada', 2)
    await pass(5 * SECOND)
    vi.setSystemTime(START - 60 * SECOND)
    scene.wake()
    scene.score('ada', 3)
    await pass(5 * SECOND)
    const versions = socket.data.map(({ version }) => version)
    expect(versions).toHaveLength(3)
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
  })

  test('[Y4] a ranking that was sent before the object slept is not sent again', async () => {
    scene.score('ada', 1)
    const socket = await scene.open()
    await pass(5 * SECOND)
    scene.wake()
    scene.watchers.look()
    await pass(5 * SECOND)
    expect(socket.sent).toHaveLength(1)
    scene.score('ada', 2)
    await pass(5 * SECOND)
    expect(socket.last).toEqual([['ada', 2]])
  })
})

describe('watchers', () => {
  test('[Y4] are dropped if they do not say that they receive events', async () => {
    const [silent, heard] = [await scene.open(), await scene.open()]
    for (let nth = 1; nth <= MOST_UNSEEN + 5; nth += 1) {
      scene.score('ada', nth)
      await pass(1_100)
      if (nth % 10 === 0) scene.watchers.seen(Object(heard))
    }
    expect([silent.isClosed, silent.sent.length]).toEqual([true, MOST_UNSEEN])
    expect([heard.isClosed, heard.last]).toEqual([false, [['ada', MOST_UNSEEN + 5]]])
  })

  test('[Y4] with a broken socket do not keep the others from their rankings', async () => {
    const [broken, other] = [await scene.open(), await scene.open()]
    await pass(2 * SECOND)
    broken.isClosed = true
    scene.score('ada', 1)
    await pass(2 * SECOND)
    expect(other.last).toEqual([['ada', 1]])
  })

  test('[Y2] leave with the board', async () => {
    const socket = await scene.open()
    scene.status = 'inactive'
    scene.watchers.look()
    await pass(2 * SECOND)
    expect(socket.isClosed).toBe(true)
    await expect(scene.open()).rejects.toThrow('gone')
  })

  test('[Y3] are refused beyond the limit, also after the object has slept', async () => {
    const note: WatcherNote = { limit: 10, group: ['a'], holder: null, shown: null, version: 0, openFrom: 0 }
    for (let nth = 0; nth < MOST_WATCHERS - 1; nth += 1) scene.sockets.push(new FakeSocket())
    for (const socket of scene.sockets) socket.serializeAttachment(note)
    const last = await scene.open()
    await expect(scene.open()).rejects.toThrow('full')
    scene.watchers.left(Object(last))
    await scene.open()
  })

  test('[Y3] with one key are refused beyond 20, also if they open at once or the object has slept', async () => {
    const note: WatcherNote = { limit: 1, group: ['a'], holder: 'k', shown: null, version: 0, openFrom: 0 }
    for (let nth = 0; nth < 10; nth += 1) scene.sockets.push(new FakeSocket())
    for (const socket of scene.sockets) socket.serializeAttachment(note)
    const opened = await Promise.allSettled(Array.from({ length: 15 }, () => scene.open(10, 'a', 'k')))
    expect(opened.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    await expect(scene.open(10, 'a', 'k')).rejects.toThrow('many')
    await scene.open(10, 'a', 'another key')
    await scene.open(10, 'a', null)
    scene.watchers.left(Object(scene.sockets[0]))
    await scene.open(10, 'a', 'k')
  })

  test('[Y3] of too many mixed views are refused, but not of one that is watched already', async () => {
    for (let limit = 1; limit <= MOST_MIXED_VIEWS; limit += 1) await scene.open(limit, null)
    await expect(scene.open(MOST_MIXED_VIEWS + 1, null)).rejects.toThrow('full')
    await scene.open(MOST_MIXED_VIEWS, null)
    await scene.open(MOST_MIXED_VIEWS + 1, 'a')
  })
})
