import { describe, expect, test, vi } from 'vitest'
import { type CommitGroup, UserQueues } from '../../src/features/events/queues'
import type { CommandResult } from '../../src/features/events/sent'
import { instant } from '../../src/lib/clock'
import { LeadershipLost } from '../../src/store/commit/commit'
import type { Job } from '../../src/store/commit/decide'
import { fakeWaits } from '../helpers/fake-waits'

/**
 * The time after which the leader of a group counts as dead, and the interval at which the others check
 * (`leader.ts`).
 */
const LEASE = 5_000
const WATCH = 1_000

const jobNamed = (name: string): Job => ({
  command: { kind: 'upsert', user: { name }, by: 'admin' },
  credential: null,
  tenantName: null,
  arrived: instant(0),
  attempt: null,
})

function nameOf({ command }: Job): string {
  return ('user' in command ? command.user.name : undefined) ?? ''
}

/** The result of the command with this name. Any refusal will do here. */
const settled = (name: string): CommandResult => ({ kind: 'refused', status: 422, message: name })

/** The result of a command whose event is in the log. */
const recorded = (name: string): CommandResult => ({
  kind: 'event',
  status: 201,
  body: {
    eventId: name,
    metricId: 'metric',
    total: 1,
    achievements: [],
    currentStreak: {
      length: 0,
      frequency: 'daily',
      started: null,
      periodStart: null,
      periodEnd: null,
      expires: null,
      extended: false,
    },
    points: {},
    leaderboards: {},
  },
  leftOut: [],
  at: 0,
})

const settleAll = (jobs: readonly Job[]) => jobs.map((job) => settled(nameOf(job)))

/** A commit that ends when the test ends it. */
type Held = {
  names: string[]
  stillLeads: () => boolean
  done: (settlements?: CommandResult[]) => void
  fail: (error: unknown) => void
}

/** Commits that stay open until the test ends them. */
function heldCommits() {
  const held: Held[] = []
  const commit: CommitGroup = (jobs, stillLeads) =>
    new Promise((resolve, reject) => {
      const done = (settlements = settleAll(jobs)) => resolve(settlements)
      held.push({ names: jobs.map(nameOf), stillLeads, done, fail: reject })
    })
  const at = (index: number) => {
    const one = held[index]
    if (one === undefined) throw new Error(`no commit ${index}`)
    return one
  }
  return { held, commit, at }
}

const noWaitUntil = () => undefined
/** Runs all work that is ready. */
const settle = () => vi.advanceTimersByTimeAsync(0)
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `${from + n}`)

/** The queue of one user, with this commit, or one that the test holds. */
function scene(commit?: CommitGroup) {
  const queues = new UserQueues()
  const commits = heldCommits()
  const submit = (name: string) => queues.submit('ada', jobNamed(name), commit ?? commits.commit, noWaitUntil)
  return { ...commits, submit }
}

const waited = fakeWaits()

describe('[E3] the queue of one user', () => {
  test('a lone command is committed at once and may write; its work outlives its caller', async () => {
    const queues = new UserQueues()
    const kept: Promise<unknown>[] = []
    const { commit, at } = heldCommits()
    const end = queues.submit('ada', jobNamed('0'), commit, (work) => kept.push(work))
    expect(at(0).names).toEqual(['0'])
    expect(at(0).stillLeads()).toBe(true)
    expect(kept).not.toEqual([])
    at(0).done()
    expect(await end).toEqual(settled('0'))
    await Promise.all(kept)
    expect(waited.count).toBe(0)
  })

  test('later commands are committed in groups of 30, in order, one group at a time, and each gets its own result', async () => {
    const { submit, held, at } = scene()
    const names = numbered(70)
    const ends = Promise.all(names.map(submit))
    for (let index = 0; index < 4; index += 1) {
      await settle()
      expect(held).toHaveLength(index + 1)
      at(index).done()
    }
    expect(await ends).toEqual(names.map(settled))
    expect(held.map((one) => one.names)).toEqual([
      ['0'],
      names.slice(1, 31),
      names.slice(31, 61),
      names.slice(61),
    ])
  })

  test('each group is committed by one of its own requests, with the dependencies of that request', async () => {
    const queues = new UserQueues()
    const leaders: string[] = []
    const submit = (name: string) =>
      queues.submit(
        'ada',
        jobNamed(name),
        async (jobs) => {
          expect(jobs.map(nameOf)).toContain(name)
          leaders.push(name)
          await Promise.resolve()
          return settleAll(jobs)
        },
        noWaitUntil,
      )
    await Promise.all(numbered(65).map(submit))
    expect(leaders).toEqual(['0', '1', '31', '61'])
  })
})

describe('[E3] a group that fails', () => {
  test('is committed again one by one, so that only the failing command fails', async () => {
    const tried: string[][] = []
    const commit: CommitGroup = async (jobs) => {
      tried.push(jobs.map(nameOf))
      if (jobs.some((job) => nameOf(job) === '2')) throw new Error('poison')
      return settleAll(jobs)
    }
    const ends = await Promise.allSettled(numbered(5).map(scene(commit).submit))
    expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toEqual([
      ...[settled('0'), settled('1'), 'Error: poison', settled('3'), settled('4')],
    ])
    expect(tried).toEqual([['0'], ['1', '2', '3', '4'], ['1'], ['2'], ['3'], ['4']])
  })

  test('a command without a result from its commit fails, and does not wait for ever', async () => {
    const ends = numbered(3).map(scene(async (jobs) => settleAll(jobs).slice(0, 1)).submit)
    let open = 3
    const closed = () => {
      open -= 1
    }
    for (const end of ends) end.then(closed, closed)
    await vi.advanceTimersByTimeAsync(3 * LEASE)
    expect(open).toBe(0)
  })
})

describe('[E3] a leader that never comes back', () => {
  test('is replaced within its lease and a check; its unfinished commands go first, and it may not write any more', async () => {
    const { submit, held, at } = scene()
    const dead = submit('0')
    const others = numbered(3, 1).map(submit)
    await vi.advanceTimersByTimeAsync(LEASE)
    expect(held).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2 * WATCH)
    expect(held).toHaveLength(2)
    expect(at(1).names).toEqual(['0', '1', '2', '3'])
    expect([at(0).stillLeads(), at(1).stillLeads()]).toEqual([false, true])
    at(1).done()
    expect(await Promise.all(others)).toEqual(numbered(3, 1).map(settled))
    // If it wakes up after all, it gets the result of its command.
    at(0).fail(new LeadershipLost())
    expect(await dead).toEqual(settled('0'))
    expect(held).toHaveLength(2)
  })

  test('that wakes up while the others work on its group sets no results, and does not hand over', async () => {
    const { submit, held, at } = scene()
    const names = numbered(4)
    const ends = Promise.all(names.map(submit))
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    expect(held).toHaveLength(2)
    at(0).fail(new Error('the connection was lost'))
    await settle()
    const late = submit('late')
    await settle()
    expect(held).toHaveLength(2)
    at(1).done()
    await settle()
    expect(at(2).names).toEqual(['late'])
    at(2).done()
    expect(await ends).toEqual(names.map(settled))
    expect(await late).toEqual(settled('late'))
  })

  test('that wrote before it was replaced is believed, and each command has one result', async () => {
    const { submit, at } = scene()
    const dead = submit('0')
    const other = submit('1')
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    at(0).done([recorded('as the first wrote it')])
    expect(await dead).toEqual(recorded('as the first wrote it'))
    at(1).done([settled('as the second saw it'), settled('1')])
    expect(await other).toEqual(settled('1'))
  })

  test('that only read before it was replaced is not believed: the successor decides again', async () => {
    const { submit, at } = scene()
    const dead = submit('0')
    const other = submit('1')
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    at(0).done([settled('as the first saw it')])
    await settle()
    at(1).done([settled('as the second saw it'), settled('1')])
    expect(await dead).toEqual(settled('as the second saw it'))
    expect(await other).toEqual(settled('1'))
  })

  test('is waited for longer after each takeover, so that a slow database does not look like dead leaders', async () => {
    const slow = 12_000
    let commits = 0
    const commit: CommitGroup = async (jobs, stillLeads) => {
      commits += 1
      await scheduler.wait(slow)
      if (!stillLeads()) throw new LeadershipLost()
      return settleAll(jobs)
    }
    const ends = numbered(3).map(scene(commit).submit)
    await vi.advanceTimersByTimeAsync(10 * slow)
    expect(await Promise.all(ends)).toEqual(numbered(3).map(settled))
    expect(commits).toBeLessThan(8)
  })

  test('gets the result of its command from the others, although its own commit never ends', async () => {
    const { submit, at } = scene()
    let ended = false
    void submit('0').then(() => {
      ended = true
    })
    void submit('1')
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    at(1).done()
    await vi.advanceTimersByTimeAsync(2 * WATCH)
    expect(ended).toBe(true)
  })

  test('without others behind it is replaced by the next command, however late', async () => {
    const { submit, held, at } = scene()
    void submit('0')
    await vi.advanceTimersByTimeAsync(10 * LEASE)
    const end = submit('1')
    await vi.advanceTimersByTimeAsync(2 * WATCH)
    expect(held).toHaveLength(2)
    expect(at(1).names).toEqual(['0', '1'])
    at(1).done()
    expect(await end).toEqual(settled('1'))
  })

  test('is replaced again if its successor also dies', async () => {
    const { submit, held, at } = scene()
    const ends = numbered(3).map(submit)
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    await vi.advanceTimersByTimeAsync(2 * LEASE + 2 * WATCH)
    expect(held.map(({ names }) => names)).toEqual([['0'], ['0', '1', '2'], ['0', '1', '2']])
    expect(held.map(({ stillLeads }) => stillLeads())).toEqual([false, false, true])
    at(2).done()
    expect(await ends[2]).toEqual(settled('2'))
  })

  test('with more than one group behind it: the successor works on all of them, although its own is near the end', async () => {
    const { submit, held, at } = scene()
    const names = numbered(65)
    const ends = names.map(submit)
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    for (const index of [1, 2, 3]) {
      expect(held).toHaveLength(index + 1)
      at(index).done()
      await settle()
    }
    expect(held.slice(1).flatMap((one) => one.names)).toEqual(names)
    expect(await Promise.all(ends.slice(1))).toEqual(names.slice(1).map(settled))
  })

  test('that is only slow, and reports before each write, is left alone', async () => {
    const { submit, held, at } = scene()
    const ends = numbered(2).map(submit)
    for (let n = 0; n < 5; n += 1) {
      await vi.advanceTimersByTimeAsync(LEASE - WATCH)
      expect(at(0).stillLeads()).toBe(true)
    }
    expect(held).toHaveLength(1)
    at(0).done()
    await settle()
    at(1).done()
    expect(await Promise.all(ends)).toEqual(numbered(2).map(settled))
  })
})

describe('[E3] the cost of waiting', () => {
  test('a waiting command checks once a second, and all checks end when the work is done', async () => {
    const { submit, at } = scene()
    const waiting = 40
    const ends = numbered(waiting + 1).map(submit)
    await vi.advanceTimersByTimeAsync(4 * WATCH)
    expect(waited.count).toBeGreaterThan(0)
    expect(waited.count).toBeLessThanOrEqual(5 * waiting)
    for (const index of [0, 1, 2]) {
      at(index).done()
      await settle()
    }
    await Promise.all(ends)
    const then = waited.count
    await vi.advanceTimersByTimeAsync(WATCH)
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(5 * WATCH)
    expect(waited.count).toBe(then)
  })

  test('at most 5,000 commands of a user wait; one more is committed alone', async () => {
    const { submit, held, at } = scene()
    const ends = numbered(5_001).map(submit)
    expect(held).toHaveLength(1)
    const own = submit('own')
    expect(at(1).names).toEqual(['own'])
    at(1).done()
    expect(await own).toEqual(settled('own'))
    for (let index = 0; held[index] !== undefined; index += 1) {
      if (index !== 1) at(index).done()
      await settle()
    }
    expect(await Promise.all(ends)).toEqual(numbered(5_001).map(settled))
  })
})
