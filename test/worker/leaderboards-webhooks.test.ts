import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ALL, hours, minutes, news, recordCouriers, sent, subscribe } from './board-news'
import { DAY, dateAt, events, forgetTime, moveTo, NOON, withBoard } from './boards'

beforeEach(async () => {
  recordCouriers()
  await moveTo(NOON)
})
afterEach(async () => {
  await forgetTime()
  vi.restoreAllMocks()
  sent.length = 0
})

const TODAY = dateAt(NOON).slice(5)
const day = (count: number) => dateAt(NOON + count * DAY).slice(5)

describe('what changes (W5)', () => {
  it('W5: the first change is told at once, what follows fifteen minutes later, once and as it is by then', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, 'leaderboard.changed', 'leaderboard.rank_changed')
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 5)
    expect(news(hook, NOON)).toEqual([
      `0 changed ${TODAY}: ada 1 5`,
      `0 rank_changed ${TODAY}: ada null→1 null→5`,
    ])
    await events(setup.tenant, ['bob', 3])
    await minutes(NOON, 10)
    await events(setup.tenant, ['bob', 4], ['ada', 1])
    await minutes(NOON, 14.9)
    expect(news(hook, NOON)).toEqual([])
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([
      `15 changed ${TODAY}: bob 1 7, ada 2 6`,
      `15 rank_changed ${TODAY}: bob null→1 null→7`,
      `15 rank_changed ${TODAY}: ada 1→2 5→6`,
    ])
  })
})

describe('which runs begin and end (W6)', () => {
  it('W6: one that is activated is begun at once, empty; the next ones at their first midnight on Earth', async () => {
    const setup = await withBoard({ status: 'inactive', runUnit: 'day', runInterval: 1 })
    const hook = await subscribe(setup.tenant, ...ALL)
    await setup.tenant.admin('PATCH', '/leaderboards', [{ id: setup.board, status: 'active' }])
    await minutes(NOON, 1)
    expect(news(hook, NOON)).toEqual([`0 started ${TODAY}`, `0 started ${day(1)}`])
    await hours(NOON, 36)
    const begins = (22 - 1 / 3) * 60
    const ends = (24 - 1 / 3) * 60
    expect(news(hook, NOON)).toEqual([`${begins} started ${day(2)}`, `${ends} finished ${TODAY}`])
  })
})
