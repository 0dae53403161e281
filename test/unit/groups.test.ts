import { describe, expect, test, vi } from 'vitest'
import { type CommitBatches, Groups } from '../../src/features/events/queues'
import type { CommandResult } from '../../src/features/events/sent'
import { instant } from '../../src/lib/clock'
import type { UserBatch } from '../../src/store/commit/commit'
import type { Job } from '../../src/store/commit/decide'
import { fakeWaits } from '../helpers/fake-waits'

/**
 * The time after which a silent group counts as dead, and the interval at which waiting requests check
 * (`leader.ts`).
 */
const LEASE = 5_000
const WATCH = 1_000
/** How long a group waits for more users, and for how long after a group of several users (the same). */
const GATHERING = 2
const BUSY = 100

const job: Job = {
  command: { kind: 'upsert', user: {}, by: 'admin' },
  credential: null,
  tenantName: null,
  arrived: instant(0),
  attempt: null,
}

/** A member with a number of commands. */
const named = (userId: string, commands = 1, stillLeads = () => true): UserBatch => ({
  userId,
  jobs: Array.from({ length: commands }, () => job),
  stillLeads,
})

/** The result of a user's commands. Any refusal will do here. */
const settled = (name: string): CommandResult[] => [{ kind: 'refused', status: 422, message: name }]

/** A commit that ends when the test ends it. */
type Held = {
  names: string[]
  members: readonly UserBatch[]
  done: (ends?: (Promise<CommandResult[]> | null)[]) => void
  fail: (error: unknown) => void
}

/** Commits that stay open until the test ends them. */
function heldCommits() {
  const held: Held[] = []
  const commit: CommitBatches = (members) =>
    new Promise((resolve, reject) => {
      const names = members.map(({ userId }) => userId)
      const done = (
        ends = names.map((name): Promise<CommandResult[]> | null => Promise.resolve(settled(name))),
      ) => resolve(ends)
      held.push({ names, members, done, fail: reject })
    })
  const at = (index: number) => {
    const one = held[index]
    if (one === undefined) throw new Error(`no commit ${index}`)
    return one
  }
  return { held, commit, at }
}

const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `${from + n}`)
/** Runs all work that is ready. */
const settle = () => vi.advanceTimersByTimeAsync(0)
/** The same, and lets a group gather more users. */
const gather = () => vi.advanceTimersByTimeAsync(GATHERING)

/** One tenant's users. The test holds their commits. */
function scene() {
  const groups = new Groups()
  const commits = heldCommits()
  const kept: Promise<unknown>[] = []
  const submit = (member: UserBatch, tenant = 'acme') =>
    groups.submit(tenant, member, commits.commit, (work) => kept.push(work))
  return { ...commits, submit, kept }
}

const waited = fakeWaits()

describe('users who are committed together', () => {
  test('a lone user is committed at once, without a timer, and the work outlives the caller', async () => {
    const { submit, at, kept } = scene()
    const end = submit(named('ada'))
    expect(at(0).names).toEqual(['ada'])
    at(0).done()
    expect(await end).toEqual(settled('ada'))
    expect(kept).not.toEqual([])
    expect(waited.count).toBe(0)
  })

  test('two users are committed at once; later users form a group of at most 30 as soon as one of the two is stored', async () => {
    const { submit, held, at } = scene()
    const ends = Promise.all(numbered(40).map((name) => submit(named(name))))
    await settle()
    expect(held.map(({ names }) => names)).toEqual([['0'], ['1']])
    at(1).done()
    await settle()
    expect(at(2).names).toEqual(numbered(30, 2))
    at(0).done()
    at(2).done()
    await gather()
    expect(at(3).names).toEqual(numbered(8, 32))
    at(3).done()
    expect(await ends).toEqual(numbered(40).map(settled))
    expect(held).toHaveLength(4)
  })

  test('a group has at most 60 commands, unless one user alone has more', async () => {
    const { submit, held, at } = scene()
    const sizes = [1, 1, 30, 30, 1, 80, 1]
    const ends = Promise.all(sizes.map((commands, n) => submit(named(`${n}`, commands))))
    for (let index = 0; index < 6; index += 1) {
      await gather()
      at(index).done()
    }
    await ends
    expect(held.map(({ names }) => names)).toEqual([['0'], ['1'], ['2', '3'], ['4'], ['5'], ['6']])
  })

  /** Commits a group of several users. */
  async function shared() {
    const { submit, held, at } = scene()
    const ends = numbered(5).map((name) => submit(named(name)))
    at(0).done()
    await settle()
    expect(at(2).names).toEqual(['2', '3', '4'])
    at(1).done()
    at(2).done()
    await Promise.all(ends)
    return { submit, held, at }
  }

  test('shortly after a group of several users, a group waits for users who come together', async () => {
    const { submit, held, at } = await shared()
    const ends = ['5', '6', '7'].map((name) => submit(named(name)))
    await vi.advanceTimersByTimeAsync(GATHERING - 1)
    expect(held).toHaveLength(3)
    ends.push(submit(named('8')))
    await settle()
    await vi.advanceTimersByTimeAsync(1)
    expect(held.slice(3).map(({ names }) => names)).toEqual([['5', '6', '7', '8']])
    at(3).done()
    expect(await Promise.all(ends)).toEqual(['5', '6', '7', '8'].map(settled))
  })

  test('some time after that, a user is committed at once again', async () => {
    const { submit, at } = await shared()
    await vi.advanceTimersByTimeAsync(BUSY)
    void submit(named('5'))
    expect(at(3).names).toEqual(['5'])
  })

  test('[E3] a group that gathers takes no second batch of a user', async () => {
    const { submit, held, at } = await shared()
    const ends = ['5', '6', '5', '7'].map((name) => submit(named(name)))
    await gather()
    expect(at(3).names).toEqual(['5', '6', '7'])
    at(3).done()
    await gather()
    expect(at(4).names).toEqual(['5'])
    at(4).done()
    expect(await Promise.all(ends)).toEqual(['5', '6', '5', '7'].map(settled))
    expect(held).toHaveLength(5)
  })

  test('a group that gathers keeps to the most users', async () => {
    const { submit, held, at } = await shared()
    const ends = numbered(40, 5).map((name) => submit(named(name)))
    await gather()
    expect(held.slice(3).map(({ names }) => names.length)).toEqual([30])
    at(3).done()
    await gather()
    expect(at(4).names).toHaveLength(10)
    at(4).done()
    expect(await Promise.all(ends)).toEqual(numbered(40, 5).map(settled))
  })

  test('shortly after a group of several users has ended, however long it took, a group waits as well', async () => {
    const { submit, held, at } = scene()
    const ends = numbered(5).map((name) => submit(named(name)))
    at(0).done()
    at(1).done()
    await settle()
    await vi.advanceTimersByTimeAsync(2 * BUSY)
    at(2).done()
    await Promise.all(ends)
    const next = ['5', '6'].map((name) => submit(named(name)))
    // It waits longer than usual, since the group before it took long.
    await vi.advanceTimersByTimeAsync((2 * BUSY) / 16 - 1)
    expect(held).toHaveLength(3)
    next.push(submit(named('7')))
    await vi.advanceTimersByTimeAsync(2)
    expect(held.slice(3).map(({ names }) => names)).toEqual([['5', '6', '7']])
    at(3).done()
    expect(await Promise.all(next)).toEqual(['5', '6', '7'].map(settled))
  })

  /** Commits of four users in progress, and nothing else. */
  async function four() {
    const { submit, held, at } = scene()
    const ends = numbered(6).map((name) => submit(named(name)))
    at(0).done()
    at(1).done()
    await gather()
    await Promise.all(ends.slice(0, 2))
    expect(at(2).names).toEqual(numbered(4, 2))
    return { submit, held, at }
  }

  test('beside a group of several users, a second one begins only with more users than that', async () => {
    const { submit, held, at } = await four()
    const ends = numbered(4, 6).map((name) => submit(named(name)))
    await gather()
    expect(held).toHaveLength(3)
    ends.push(submit(named('10')))
    await gather()
    expect(at(3).names).toEqual(numbered(5, 6))
    at(2).done()
    at(3).done()
    expect(await Promise.all(ends)).toEqual(numbered(5, 6).map(settled))
  })

  test('users who are divided into two groups get together when the first of these ends', async () => {
    const { submit, held, at } = await four()
    for (const name of numbered(5, 6)) void submit(named(name))
    await gather()
    expect(at(3).names).toEqual(numbered(5, 6))
    at(2).done()
    await settle()
    const again = numbered(4, 2).map((name) => submit(named(name)))
    await gather()
    expect(held).toHaveLength(4)
    at(3).done()
    await settle()
    again.push(...numbered(5, 6).map((name) => submit(named(name))))
    await gather()
    expect(at(4).names).toEqual(numbered(9, 2))
    at(4).done()
    expect(await Promise.all(again)).toEqual(numbered(9, 2).map(settled))
  })

  test('many users do not wait for a larger group', async () => {
    const { submit, at } = await four()
    at(2).done()
    await settle()
    const ends = numbered(50, 10).map((name) => submit(named(name)))
    await gather()
    await gather()
    expect([at(3), at(4)].map(({ names }) => names.length)).toEqual([30, 20])
    at(3).done()
    at(4).done()
    expect(await Promise.all(ends)).toEqual(numbered(50, 10).map(settled))
  })

  test('a group that is silent for some seconds keeps no other one from beginning', async () => {
    const { submit, held, at } = await four()
    const ends = ['6', '7'].map((name) => submit(named(name)))
    await vi.advanceTimersByTimeAsync(WATCH)
    expect(held).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(2 * WATCH)
    expect(at(3).names).toEqual(['6', '7'])
    at(3).done()
    expect(await Promise.all(ends)).toEqual(['6', '7'].map(settled))
  })

  test('tenants do not wait for each other', async () => {
    const { submit, held } = scene()
    for (const name of numbered(3)) void submit(named(name))
    void submit(named('other'), 'other')
    await settle()
    expect(held.map(({ names }) => names)).toEqual([['0'], ['1'], ['other']])
  })

  test('the next group does not wait until leaderboards have the one before, and no user waits for another’s leaderboard', async () => {
    const { submit, held, at } = scene()
    const ends = numbered(5).map((name) => submit(named(name)))
    await settle()
    const slow = Promise.withResolvers<CommandResult[]>()
    at(0).done([slow.promise])
    await settle()
    expect(at(2).names).toEqual(['2', '3', '4'])
    at(2).done([slow.promise, Promise.resolve(settled('3')), null])
    expect(await ends[3]).toEqual(settled('3'))
    expect(await ends[4]).toBeNull()
    slow.resolve(settled('slow'))
    expect(await Promise.all([ends[0], ends[2]])).toEqual([settled('slow'), settled('slow')])
    expect(held).toHaveLength(3)
  })
})

describe('users who are committed alone', () => {
  test('users with a conflict, and all users of a group that failed', async () => {
    const { submit, at } = scene()
    const ends = numbered(4).map((name) => submit(named(name)))
    await settle()
    at(0).done([null])
    expect(await ends[0]).toBeNull()
    at(1).fail(new Error('D1 is away'))
    expect(await ends[1]).toBeNull()
    at(2).fail(new Error('D1 is away'))
    expect(await Promise.all(ends.slice(2))).toEqual([null, null])
  })

  test('a result that fails, fails only for its user', async () => {
    const { submit, at } = scene()
    const ends = numbered(4).map((name) => submit(named(name)))
    await settle()
    at(0).done()
    await settle()
    const failed = expect(ends[2]).rejects.toThrow('a response that cannot be made')
    at(2).done([Promise.reject(new Error('a response that cannot be made')), Promise.resolve(settled('3'))])
    await failed
    expect(await ends[3]).toEqual(settled('3'))
  })

  test('a user who is one too many: at most 1,000 wait', async () => {
    const { submit, held } = scene()
    for (const name of numbered(1_002)) void submit(named(name))
    expect(await submit(named('too many'))).toBeNull()
    expect(held).toHaveLength(2)
  })

  test('[E3] a second entry of a user who already waits: a batch would store both on the same state, and lose one', async () => {
    const { submit, held, at } = scene()
    const ends = ['0', '1', 'ada', 'ada', 'bob'].map((name) => submit(named(name)))
    await settle()
    expect(await ends[3]).toBeNull()
    at(0).done()
    await settle()
    expect(at(2).names).toEqual(['ada', 'bob'])
    // If both are in progress, the guards of D1 decide which was first.
    const later = submit(named('ada'))
    at(1).done()
    await gather()
    expect(at(3).names).toEqual(['ada'])
    for (const one of held.slice(2)) one.done()
    const others = [ends[0], ends[1], ends[2], ends[4], later]
    expect(await Promise.all(others)).toEqual(['0', '1', 'ada', 'bob', 'ada'].map(settled))
  })

  test('a user who may no longer be written', async () => {
    const { submit, at } = scene()
    let stillLeads = true
    void submit(named('0'))
    void submit(named('1'))
    const end = submit(named('2', 1, () => stillLeads))
    stillLeads = false
    await vi.advanceTimersByTimeAsync(WATCH)
    expect(await end).toBeNull()
    at(0).done()
    at(1).done()
    await settle()
  })
})

test('[E3] a waiting user whose check fails keeps neither its request nor a place in the queue', async () => {
  const { submit, held, at, kept } = scene()
  for (const name of numbered(2)) void submit(named(name))
  const broken = () => {
    throw new Error('broken')
  }
  const failed = expect(submit(named('2', 1, broken))).rejects.toThrow('broken')
  const ended = vi.fn()
  void kept.at(-1)?.then(ended)
  await vi.advanceTimersByTimeAsync(WATCH)
  await failed
  expect(ended).toHaveBeenCalled()
  at(0).done()
  at(1).done()
  await settle()
  expect(held).toHaveLength(2)
})

describe('a leader that never comes back', () => {
  test('its group is committed alone within a lease and a check, and the dead leader may write none of it', async () => {
    const { submit, at } = scene()
    const ends = numbered(5).map((name) => submit(named(name)))
    await settle()
    at(0).done()
    await settle()
    // '2' leads '3' and '4', and its request is cancelled.
    const dead = at(2)
    expect(dead.members.map(({ stillLeads }) => stillLeads())).toEqual([true, true, true])
    at(1).done()
    await vi.advanceTimersByTimeAsync(LEASE)
    await vi.advanceTimersByTimeAsync(2 * WATCH)
    expect(await Promise.all(ends.slice(3))).toEqual([null, null])
    expect(dead.members.slice(1).map(({ stillLeads }) => stillLeads())).toEqual([false, false])
  })

  test('its place is free for waiting and later users', async () => {
    const { submit, held, at } = scene()
    for (const name of numbered(2)) void submit(named(name))
    const waiting = submit(named('2'))
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    expect(at(2).names).toEqual(['2'])
    at(2).done()
    expect(await waiting).toEqual(settled('2'))
    const later = submit(named('3'))
    expect(at(3).names).toEqual(['3'])
    at(3).done()
    expect(await later).toEqual(settled('3'))
    expect(held).toHaveLength(4)
  })

  test('a slow leader that reports before each write is left alone', async () => {
    const { submit, at } = scene()
    const ends = numbered(4).map((name) => submit(named(name)))
    await settle()
    at(0).done()
    await settle()
    for (let n = 0; n < 5; n += 1) {
      await vi.advanceTimersByTimeAsync(LEASE - WATCH)
      expect(at(2).members.every(({ stillLeads }) => stillLeads())).toBe(true)
    }
    at(2).done()
    expect(await Promise.all(ends.slice(2))).toEqual([settled('2'), settled('3')])
  })

  test('a leader that comes back ends its own command, and leaves the results of the others unchanged', async () => {
    const { submit, at } = scene()
    const ends = numbered(4).map((name) => submit(named(name)))
    await settle()
    at(0).done()
    await settle()
    await vi.advanceTimersByTimeAsync(LEASE + 2 * WATCH)
    expect(await ends[3]).toBeNull()
    at(2).done()
    expect(await ends[2]).toEqual(settled('2'))
  })
})
