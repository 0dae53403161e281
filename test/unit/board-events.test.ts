import { describe, expect, it } from 'vitest'
import {
  causesEvent,
  compared,
  type Fact,
  isSame,
  listenedOf,
  type Place,
  rowsOf,
  sentListOf,
} from '../../src/leaderboards/notify/board-events.sql.ts'
import { civilDate, dayOf } from '../../src/lib/zone'
import { latestRuns } from '../../src/rules/runs.rules'

const place = (name: string, rank: number, value: number): Place => [name, `iid-${name}`, rank, value]

describe('[W5] changes that may cause a webhook event', () => {
  const [RANKS, TOPS] = [['leaderboard.rank_changed'], ['leaderboard.changed']]
  const at = (rank: number, value = 5, group = '[]') => ({ rank, value, group })
  it.each([
    ['nothing', at(3), at(3), false, false],
    ['a value among the first', at(10), at(10, 6), false, true],
    ['a value beyond', at(11), at(11, 6), false, false],
    ['a rank among the first', at(2), at(1), true, true],
    ['a user enters the first', at(11), at(10), true, true],
    ['a user leaves the first', at(10), at(11), true, true],
    ['a rank beyond', at(12), at(11), true, false],
    ['a user enters the ranking', null, at(1), true, true],
    ['a user leaves the ranking', at(1), null, true, true],
    ['a user enters beyond the first', null, at(20), true, false],
    ['a user stays unranked', null, null, false, false],
    ['another group', at(1), at(1, 5, '["x"]'), true, true],
  ])('%s', (_what, before, after, ranks, tops) => {
    expect([causesEvent(RANKS, before, after), causesEvent(TOPS, before, after)]).toEqual([ranks, tops])
    expect(causesEvent(['leaderboard.finished'], before, after)).toBe(false)
  })
})

describe('[W5] the comparison with the last sent list', () => {
  it('sends moves for users with another rank, and keeps the sent values of all others', () => {
    const sent = sentListOf([place('ada', 1, 9), place('bob', 2, 8), place('cai', 3, 7)])
    const { moves, list } = compared(sent, [place('ada', 1, 12), place('dov', 2, 9), place('bob', 3, 8)])
    const told = moves.map((one) => [one.userId, one.previousRank, one.rank, one.previousValue, one.value])
    expect(told).toEqual([
      ['dov', null, 2, null, 9],
      ['bob', 2, 3, 8, 8],
      ['cai', 3, null, 7, null],
    ])
    const shown = Object.entries({ ada: 9, dov: 9, bob: 8 })
    expect(list).toEqual(shown.map(([name, value]) => [name, `iid-${name}`, value]))
  })

  it('compares internal ids: a user who comes back is another user', () => {
    const { moves } = compared([['ada', 'old', 9]], [['ada', 'new', 1, 9]])
    expect(moves.map(({ iid, rank }) => `${iid} ${rank}`)).toEqual(['new 1', 'old null'])
  })

  it.each([
    ['the same', [place('ada', 1, 9), place('bob', 2, 8)], true],
    ['another value', [place('ada', 1, 9), place('bob', 2, 7)], false],
    ['another order', [place('bob', 1, 8), place('ada', 2, 9)], false],
    ['another user', [place('ada', 1, 9), place('cai', 2, 8)], false],
    ['one less', [place('ada', 1, 9)], false],
    ['one more', [place('ada', 1, 9), place('bob', 2, 8), place('cai', 3, 1)], false],
  ])('the first are %s', (_what, top, same) => {
    expect(isSame(sentListOf([place('ada', 1, 9), place('bob', 2, 8)]), top)).toBe(same)
  })
})

describe('the rows of the outbox', () => {
  const run = { start: 1, end: null }
  const ranked = (n: number, group: [string, string][] = []): Fact => ({
    ...{ type: 'leaderboard.rank_changed', run, group, userId: `u${n}`, iid: `i${n}` },
    ...{ rank: 1, value: 1, previousRank: null, previousValue: null },
  })
  const changed = (users: number): Fact => {
    const top = Array.from({ length: users }, (_, n) => place(`u${n}`, n + 1, 1))
    return { type: 'leaderboard.changed', run, group: [], top }
  }

  it('are few and short, and hold every fact once, in order', () => {
    expect(rowsOf([])).toEqual([])
    const facts = [changed(10), ...Array.from({ length: 600 }, (_, n) => ranked(n)), changed(3)]
    const rows = rowsOf(facts)
    expect(rows.map((row) => row.length)).toEqual([250, 250, 102])
    expect(rows.flat()).toEqual(facts)
    const long = Array.from({ length: 600 }, (_, n) => ({ ...ranked(n), userId: '中'.repeat(255) }))
    const bytes = rowsOf(long).map((row) => new TextEncoder().encode(JSON.stringify(row)).length)
    expect(Math.max(...bytes)).toBeLessThan(101_000)
    expect(rowsOf(long).flat()).toEqual(long)
  })

  it('are no longer than SQLite allows, with any names of groups', () => {
    const group = Array.from({ length: 10 }, (_, n): [string, string] => [`a${n}`, '\u0001'.repeat(1_000)])
    const facts = Array.from({ length: 40 }, (_, n) => ranked(n, group))
    const rows = rowsOf(facts)
    expect(rows.flat()).toEqual(facts)
    for (const row of rows) expect(JSON.stringify(row).length).toBeLessThan(600_000)
  })
})

describe('the webhook events that webhooks listen to', () => {
  type Listened = '*' | 'leaderboard.started' | 'leaderboard.changed' | 'points.changed'
  const hook = (events: Listened[], updated: number) => ({
    ...{ id: '', created: 0, key: 'hook', url: '', secret: '', previous: null, goneAt: null },
    ...{ status: 'active' as const, events, updated },
  })

  it('are the events of active webhooks, each with the oldest time since which a webhook listens', () => {
    expect(listenedOf({ webhooks: [] })).toEqual([])
    expect(listenedOf({ webhooks: [hook(['points.changed'], 1)] })).toEqual([])
    expect(listenedOf({ webhooks: [{ ...hook(['*'], 1), status: 'inactive' }] })).toEqual([])
    const [changed, started] = ['leaderboard.changed' as const, 'leaderboard.started' as const]
    const webhooks = [hook([changed], 5), hook([changed, started], 3)]
    const since = listenedOf({ webhooks }).map((one) => one.join(' '))
    expect(since).toEqual([`${started} 3`, `${changed} 3`])
    expect(listenedOf({ webhooks: [hook(['*'], 9)] })).toHaveLength(4)
  })
})

describe('the latest runs', () => {
  const schedule = { start: civilDate('2026-01-31'), end: null, runUnit: 'month' as const, runInterval: 1 }
  const first = dayOf(schedule.start)

  it('are the runs that start after one day and up to another, in order', () => {
    const runs = latestRuns(schedule, first + 70, Number.NEGATIVE_INFINITY)
    expect(runs.map(({ start }) => start - first)).toEqual([0, 28, 59])
    expect(latestRuns(schedule, first + 70, first).map(({ start }) => start - first)).toEqual([28, 59])
    expect(latestRuns(schedule, first + 58, first + 28)).toEqual([])
    expect(latestRuns(schedule, first - 1, Number.NEGATIVE_INFINITY)).toEqual([])
    const ended = { ...schedule, end: civilDate('2026-03-01') }
    expect(latestRuns(ended, first + 1_000, Number.NEGATIVE_INFINITY)).toHaveLength(2)
  })

  it('are at most a hundred', () => {
    const daily = { ...schedule, start: civilDate('0001-01-01'), runUnit: 'day' as const }
    const runs = latestRuns(daily, first, Number.NEGATIVE_INFINITY)
    expect(runs.map(({ start }) => start)).toEqual(Array.from({ length: 100 }, (_, n) => first - 99 + n))
  })
})
