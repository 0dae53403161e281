import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Sql } from '../../src/boards/object/statements.store'
import {
  ALL,
  deafenTimekeeper,
  hours,
  kept,
  losing,
  minutes,
  news,
  recordDeliveryQueues,
  sent,
  subscribe,
} from './board-events'
import {
  DAY,
  dateAt,
  events,
  forgetTime,
  HOUR,
  moveTo,
  NOON,
  patch,
  ranking,
  type Setup,
  through,
  withBoard,
} from './boards'
import { ADMIN_KEY, at, newTenant, untilHeld } from './harness'

beforeEach(async () => {
  recordDeliveryQueues()
  deafenTimekeeper()
  await moveTo(NOON)
})
afterEach(async () => {
  await forgetTime()
  vi.restoreAllMocks()
  sent.length = 0
  losing.before = 0
  losing.after = 0
})

/** Has the alarms come that a change sets. */
function hearing(): void {
  vi.restoreAllMocks()
  recordDeliveryQueues()
}

/** A day after today, as lines have it. */
const day = (count: number) => dateAt(NOON + count * DAY).slice(5)
const TODAY = day(0)
const [CHANGED, RANK_CHANGED] = ['leaderboard.changed', 'leaderboard.rank_changed'] as const
const DAILY = { runUnit: 'day', runInterval: 1 }
/** Minutes after noon at which the run of so many days later begins, and at which that of today is final (L7, L8). */
const begins = (count: number) => (count * DAY - 14 * HOUR - (NOON % DAY)) / 60_000
const FINAL = (DAY + 12 * HOUR - (NOON % DAY)) / 60_000

const activate = (setup: Setup) => patch(setup, { status: 'active' })
const erase = async ({ tenant }: Setup, id: string) =>
  expect((await tenant.admin('DELETE', `/users/${id}`)).status).toBe(200)

describe('[W5] what changes', () => {
  it('the first change is told at once, what follows fifteen minutes later, once and as it is by then', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
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
    // Quiet since then: at once again.
    await events(setup.tenant, ['ada', 2])
    await minutes(NOON, 121)
    expect(news(hook, NOON)).toEqual([
      `120 changed ${TODAY}: ada 1 8, bob 2 7`,
      `120 rank_changed ${TODAY}: ada 2→1 6→8`,
      `120 rank_changed ${TODAY}: bob 1→2 7→7`,
    ])
  })

  it('nobody has to move the clock, or to ask, for it to be told', async () => {
    hearing()
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5])
    await untilHeld(() => expect(sent).toHaveLength(1))
    expect(news(hook, NOON)).toEqual([`0 rank_changed ${TODAY}: ada null→1 null→5`])
  })

  it('in real time: at once, with the time that it is', async () => {
    hearing()
    await forgetTime()
    const setup = await withBoard()
    await subscribe(setup.tenant, CHANGED)
    const began = Date.now()
    await events(setup.tenant, ['ada', 5])
    await untilHeld(() => expect(sent).toHaveLength(1))
    expect(sent[0]?.at).toBeGreaterThanOrEqual(began)
    expect(sent[0]?.at).toBeLessThanOrEqual(Date.now())
  })

  it('to each what it listens to: values only to `changed`, ranks beyond the tenth only to `rank_changed`', async () => {
    const setup = await withBoard()
    const tops = await subscribe(setup.tenant, CHANGED)
    const ranks = await subscribe(setup.tenant, RANK_CHANGED)
    const idle = await subscribe(setup.tenant, 'leaderboard.started', 'streak.lost')
    for (let n = 1; n <= 10; n += 1) await events(setup.tenant, [`u${n}`, 100 - n])
    await minutes(NOON, 16)
    for (const hook of [tops, ranks]) expect(news(hook, NOON)).not.toEqual([])
    await minutes(NOON, 40)
    await events(setup.tenant, ['u3', 0.5])
    await minutes(NOON, 60)
    expect([...news(tops, NOON), ...news(ranks, NOON)]).toEqual([])
    await events(setup.tenant, ['u10', 0.25], ['u10', 0.75])
    await minutes(NOON, 80)
    expect([news(tops, NOON).length, news(ranks, NOON)]).toEqual([1, []])
    await events(setup.tenant, ['late', 1])
    await minutes(NOON, 100)
    expect([news(tops, NOON), news(ranks, NOON)]).toEqual([
      [],
      [`80 rank_changed ${TODAY}: late null→11 null→1`],
    ])
    expect(news(idle, NOON)).toEqual([])
  })

  it('a rank that is again what was told is not told; the value told before is that of the telling', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 16)
    expect(news(hook, NOON)).toHaveLength(2)
    await events(setup.tenant, ['bob', 3], ['ada', 3])
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([])
    await events(setup.tenant, ['bob', 2])
    await minutes(NOON, 70)
    expect(news(hook, NOON)).toEqual([
      `40 rank_changed ${TODAY}: bob 2→1 4→9`,
      `40 rank_changed ${TODAY}: ada 1→2 5→8`,
    ])
  })

  it('somebody falls out: by a newcomer, by a smaller maximum, by a score of nothing', async () => {
    const setup = await withBoard({ maxParticipants: 2 })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 20)
    news(hook, NOON)
    await events(setup.tenant, ['cai', 9])
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY}: cai 1 9, ada 2 5`,
      `20 rank_changed ${TODAY}: cai null→1 null→9`,
      `20 rank_changed ${TODAY}: ada 1→2 5→5`,
      `20 rank_changed ${TODAY}: bob 2→null 4→null`,
    ])
    await patch(setup, { maxParticipants: 1 })
    await minutes(NOON, 60)
    expect(news(hook, NOON)).toEqual([
      `40 changed ${TODAY}: cai 1 9`,
      `40 rank_changed ${TODAY}: ada 2→null 5→null`,
    ])
    await events(setup.tenant, ['cai', -9])
    await minutes(NOON, 80)
    expect(news(hook, NOON)).toEqual([
      `60 changed ${TODAY}: ada 1 5`,
      `60 rank_changed ${TODAY}: ada null→1 null→5`,
      `60 rank_changed ${TODAY}: cai 1→null 9→null`,
    ])
  })

  it('by points and by streak', async () => {
    const points = await withBoard({ rankBy: 'points' })
    const streak = { key: 'flames', name: 'Flames', status: 'active', rankBy: 'streak' }
    await points.tenant.create('/leaderboards', streak)
    const hook = await subscribe(points.tenant, RANK_CHANGED)
    await events(points.tenant, ['ada', 2], ['bob', 3])
    await minutes(NOON, 20)
    expect(news(hook, NOON).toSorted()).toEqual([
      `0 rank_changed ${TODAY}: ada null→1 null→1`,
      `0 rank_changed ${TODAY}: ada null→2 null→20`,
      `0 rank_changed ${TODAY}: bob null→1 null→30`,
      `0 rank_changed ${TODAY}: bob null→2 null→1`,
    ])
    // Bob's streak goes on, ada's is lost at midnight after tomorrow.
    await moveTo(NOON + DAY)
    await events(points.tenant, ['bob', 0.5])
    await moveTo(NOON + 2 * DAY)
    const midnight = (2 * DAY - (NOON % DAY)) / 60_000
    expect(news(hook, NOON)).toEqual([
      `${DAY / 60_000} rank_changed ${TODAY}: bob 2→1 1→2`,
      `${DAY / 60_000} rank_changed ${TODAY}: ada 1→2 1→1`,
      `${midnight} rank_changed ${TODAY}: ada 2→null 1→null`,
    ])
  })

  it('[S10] everybody leaves a streak board when the tenant’s streaks are switched off, and is back when they are on', async () => {
    const setup = await withBoard({ rankBy: 'streak' })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    const streaks = (enabled: boolean) => setup.tenant.admin('PATCH', '/streaks/settings', { enabled })
    await events(setup.tenant, ['ada', 1], ['bob', 1])
    await minutes(NOON, 20)
    news(hook, NOON)
    await streaks(false)
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY}`,
      `20 rank_changed ${TODAY}: ada 1→null 1→null`,
      `20 rank_changed ${TODAY}: bob 2→null 1→null`,
    ])
    await streaks(true)
    await minutes(NOON, 60)
    expect(news(hook, NOON)).toEqual([
      `40 changed ${TODAY}: ada 1 1, bob 2 1`,
      `40 rank_changed ${TODAY}: ada null→1 null→1`,
      `40 rank_changed ${TODAY}: bob null→2 null→1`,
    ])
  })

  it('more than is handed out at once', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, RANK_CHANGED)
    const users = Array.from({ length: 700 }, (_, n) => `u${n}`)
    const batch = users.map((id, n) => ({ key: 'steps', user: { id }, value: 1_000 - n }))
    const { status } = await setup.tenant.admin('POST', '/metrics/events', batch)
    expect(status).toBe(202)
    await minutes(NOON, 30)
    const told = news(hook, NOON)
    expect(told).toHaveLength(700)
    expect(new Set(told.map((text) => text.split(' ')[3]))).toEqual(new Set(users))
    expect((await kept(setup.board)).outbox).toEqual([])
  })
})

describe('who listens since when', () => {
  it('of what was before nobody is told; what was told before is how it stood then', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 30)
    const hook = await subscribe(setup.tenant, ...ALL)
    await minutes(NOON, 100)
    expect(news(hook, NOON)).toEqual([])
    await events(setup.tenant, ['bob', 3])
    await minutes(NOON, 101)
    expect(news(hook, NOON)).toEqual([
      `100 changed ${TODAY}: bob 1 7, ada 2 5`,
      `100 rank_changed ${TODAY}: bob 2→1 4→7`,
      `100 rank_changed ${TODAY}: ada 1→2 5→5`,
    ])
  })

  it('of what happened while nobody listened nobody is told, though somebody did before', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    const set = (status: string) => setup.tenant.admin('PATCH', '/webhooks', [{ id: hook, status }])
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 20)
    news(hook, NOON)
    await set('inactive')
    await events(setup.tenant, ['bob', 3])
    expect(await kept(setup.board)).toMatchObject({ told: [], outbox: [] })
    await minutes(NOON, 40)
    await set('active')
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([])
    await events(setup.tenant, ['ada', 3])
    await minutes(NOON, 130)
    expect(news(hook, NOON)).toEqual([
      `120 changed ${TODAY}: ada 1 8, bob 2 7`,
      `120 rank_changed ${TODAY}: ada 2→1 5→8`,
      `120 rank_changed ${TODAY}: bob 1→2 7→7`,
    ])
  })

  it('[C1] what is due when the last one ceases to listen is dropped, and no move of the clock waits for it', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    const set = (status: string) => setup.tenant.admin('PATCH', '/webhooks', [{ id: hook, status }])
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 5)
    expect(news(hook, NOON)).toHaveLength(2)
    await events(setup.tenant, ['bob', 4])
    await set('inactive')
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([])
    await set('active')
    await events(setup.tenant, ['bob', 3])
    await minutes(NOON, 140)
    expect(news(hook, NOON)).toContain(`120 rank_changed ${TODAY}: bob 2→1 4→7`)
  })

  it('who listens to one more type is told of that from then on, and of the others as before', async () => {
    const setup = await withBoard()
    const ranks = await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 20)
    const tops = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['bob', 6])
    await evictDurableObject(env.LEADERBOARD.getByName(setup.board))
    await minutes(NOON, 40)
    expect(news(tops, NOON)).toEqual([`20 changed ${TODAY}: bob 1 6, ada 2 5`])
    expect(news(ranks, NOON)).toEqual([
      `0 rank_changed ${TODAY}: ada null→1 null→5`,
      `20 rank_changed ${TODAY}: bob null→1 null→6`,
      `20 rank_changed ${TODAY}: ada 1→2 5→5`,
    ])
  })

  it('a late message under an older configuration makes nobody deaf, also after the object slept', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 5])
    const hook = await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['bob', 6])
    await minutes(NOON, 20)
    news(hook, NOON)
    await events(setup.tenant, ['bob', -3])
    const object = env.LEADERBOARD.getByName(setup.board)
    await evictDurableObject(object)
    const [late] = calls
    if (late === undefined) throw new Error('no message')
    await object.deliver(late)
    await minutes(NOON, 90)
    expect(news(hook, NOON)).toEqual([
      `15 rank_changed ${TODAY}: ada null→1 null→5`,
      `15 rank_changed ${TODAY}: bob 1→2 6→3`,
    ])
  })

  it('[W2] while nobody listens, nothing is stored that would not be without webhooks', async () => {
    const rows: Record<string, number> = {}
    for (const kind of ['none', 'other', 'listening']) {
      const setup = await withBoard()
      if (kind === 'other') await subscribe(setup.tenant, 'points.changed', 'streak.started')
      if (kind === 'listening') await subscribe(setup.tenant, ...ALL)
      rows[kind] = 0
      const counted = through(setup.tenant, async (go) => {
        const reply = await go()
        rows[kind] = (rows[kind] ?? 0) + reply.rowsWritten
        return reply
      })
      for (const user of ['ada', 'bob', 'cai']) await events(counted.tenant, [user, 5], [user, 1])
      await minutes(NOON, (Object.keys(rows).length - 1) * 60 + 30)
      if (kind !== 'listening') expect(await kept(setup.board)).toEqual({ told: [], outbox: [], notes: [] })
    }
    expect(rows.other).toBe(rows.none)
    // Who listens, and when the flush is due: one row each, for all six events.
    expect(rows.listening).toBe((rows.none ?? 0) + 2)
  })
})

describe('what it costs', () => {
  it('[W2] a flush writes six rows in the object, whatever number of events and users it tells of', async () => {
    const setup = await withBoard()
    await subscribe(setup.tenant, ...ALL)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 30)
    const written = { count: 0 }
    const { rows } = Sql.prototype
    vi.spyOn(Sql.prototype, 'rows').mockImplementation(function (this: Sql, statement, ...values) {
      const before = this.rowsWritten
      const found = rows.call(this, statement, ...values)
      if (/sent_lists|outbox/.test(statement) || values[0] === 'events')
        written.count += this.rowsWritten - before
      return found
    })
    for (let n = 0; n < 40; n += 1) await events(setup.tenant, [`u${n}`, n + 1])
    // That a flush is due.
    expect(written.count).toBe(1)
    await minutes(NOON, 59)
    expect(sent.length).toBeGreaterThan(40)
    // That it was made, the first ten, the ranks, one row of the outbox, which goes again.
    expect(written.count).toBe(6)
  })
})

describe('[W6] which runs begin and end', () => {
  it('one that is activated has begun at once, empty; the next ones begin at their first midnight on Earth', async () => {
    const setup = await withBoard({ status: 'inactive', ...DAILY })
    const hook = await subscribe(setup.tenant, ...ALL)
    await minutes(NOON, 1)
    expect(news(hook, NOON)).toEqual([])
    await activate(setup)
    await minutes(NOON, 2)
    expect(news(hook, NOON)).toEqual([`1 started ${TODAY}`, `1 started ${day(1)}`])
    await hours(NOON, 46)
    expect(news(hook, NOON)).toEqual([
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY}`,
      `${begins(3)} started ${day(3)}`,
    ])
  })

  it('one that is scheduled begins by itself; the leaderboard is as configured, with the days of the run', async () => {
    const setup = await withBoard({
      status: 'scheduled',
      start: dateAt(NOON + 2 * DAY),
      ...DAILY,
      runInterval: 3,
    })
    const hook = await subscribe(setup.tenant, '*')
    await hours(NOON, 24)
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject({
      event: 'leaderboard.started',
      subject: `board:${setup.board}`,
      body: {
        type: 'leaderboard.started',
        leaderboard: {
          id: setup.board,
          key: 'board',
          status: 'active',
          start: dateAt(NOON + 2 * DAY),
          end: dateAt(NOON + 4 * DAY),
          rankings: [],
        },
      },
    })
    expect(news(hook, NOON)).toEqual([`${begins(2)} started ${day(2)}`])
  })

  it('whoever begins to listen is told of the next one, not of those before', async () => {
    const setup = await withBoard(DAILY)
    await events(setup.tenant, ['ada', 1])
    await minutes(NOON, begins(2) - 30)
    const hook = await subscribe(setup.tenant, 'leaderboard.started', 'leaderboard.finished')
    await hours(NOON, 47)
    expect(news(hook, NOON)).toEqual([
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY}: ada 1 1`,
      `${begins(3)} started ${day(3)}`,
    ])
  })

  it('runs that are over when it is activated begin and end then, in order', async () => {
    const start = dateAt(NOON - 3 * DAY)
    const setup = await withBoard({ status: 'inactive', start, ...DAILY, runInterval: 2 })
    const hook = await subscribe(setup.tenant, 'leaderboard.started', 'leaderboard.finished')
    await activate(setup)
    await minutes(NOON, 2)
    expect(news(hook, NOON)).toEqual([
      `0 started ${day(-3)}`,
      `0 started ${day(-1)}`,
      `0 started ${day(1)}`,
      `0 finished ${day(-3)}`,
    ])
  })

  it('[L8] each takes the changes of its own dates; a pending flush comes before the end, and none after', async () => {
    const setup = await withBoard(DAILY)
    const hook = await subscribe(setup.tenant, 'leaderboard.finished', CHANGED, RANK_CHANGED)
    const east = { id: 'kai', tz: 'Pacific/Kiritimati' }
    const west = { id: 'sam', tz: 'Etc/GMT+12' }
    await setup.tenant.event('steps', west, 4)
    await setup.tenant.event('steps', east, 7)
    await minutes(NOON, 20)
    expect(news(hook, NOON)).toEqual([
      `0 changed ${TODAY}: sam 1 4`,
      `0 rank_changed ${TODAY}: sam null→1 null→4`,
      `0 changed ${day(1)}: kai 1 7`,
      `0 rank_changed ${day(1)}: kai null→1 null→7`,
    ])
    // Twelve hours west of Greenwich it is still today.
    await minutes(NOON, FINAL - 5)
    await setup.tenant.event('steps', west, 1)
    await minutes(NOON, FINAL - 4)
    expect(news(hook, NOON)).toEqual([`${FINAL - 5} changed ${TODAY}: sam 1 5`])
    await setup.tenant.event('steps', { id: 'tui', tz: 'Etc/GMT+12' }, 9)
    await minutes(NOON, FINAL - 3)
    expect(news(hook, NOON)).toEqual([])
    await minutes(NOON, FINAL + 30)
    expect(news(hook, NOON)).toEqual([
      `${FINAL} changed ${TODAY}: tui 1 9, sam 2 5`,
      `${FINAL} rank_changed ${TODAY}: tui null→1 null→9`,
      `${FINAL} rank_changed ${TODAY}: sam 1→2 4→5`,
      `${FINAL} finished ${TODAY}: tui 1 9, sam 2 5`,
    ])
    await events(setup.tenant, ['ada', 8])
    await minutes(NOON, FINAL + 60)
    expect(news(hook, NOON).map((text) => text.split(' ')[2]?.slice(0, 5))).toEqual([day(1), day(1), day(1)])
  })

  it('[L7] finished by hand: what was pending is told first, then the end; once', async () => {
    const setup = await withBoard(DAILY)
    const hook = await subscribe(setup.tenant, ...ALL)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 5)
    news(hook, NOON)
    await events(setup.tenant, ['bob', 6])
    await patch(setup, { status: 'finished' })
    await minutes(NOON, 6)
    expect(news(hook, NOON)).toEqual([
      `5 changed ${TODAY}: bob 1 6, ada 2 5`,
      `5 rank_changed ${TODAY}: bob null→1 null→6`,
      `5 rank_changed ${TODAY}: ada 1→2 5→5`,
      `5 finished ${TODAY}: bob 1 6, ada 2 5`,
      `5 finished ${day(1)}`,
    ])
    expect(await kept(setup.board)).toMatchObject({ told: [], outbox: [] })
    await hours(NOON, 100)
    expect(news(hook, NOON)).toEqual([])
  })

  it('a run that is final is finished, although others follow', async () => {
    const once = await withBoard({ end: dateAt(NOON) })
    const more = { name: 'More', key: 'more', status: 'active', rankBy: 'metric', metricId: once.metric }
    await once.tenant.create('/leaderboards', { ...more, ...DAILY })
    await subscribe(once.tenant, 'leaderboard.finished')
    await hours(NOON, 30)
    const statuses = sent.map(({ body }) => [
      at(body, 'leaderboard', 'key'),
      at(body, 'leaderboard', 'status'),
    ])
    expect(statuses.toSorted()).toEqual([
      ['board', 'finished'],
      ['more', 'finished'],
    ])
  })

  it('once, whatever comes twice: calls of the upkeep, an object that slept, a leaderboard that was hidden', async () => {
    const setup = await withBoard(DAILY)
    const hook = await subscribe(setup.tenant, 'leaderboard.started', 'leaderboard.finished')
    for (let hour = 6; hour <= 48; hour += 6) {
      await evictDurableObject(env.LEADERBOARD.getByName(setup.board))
      await patch(setup, { status: 'inactive' }, { status: 'active' }, { description: `${hour}` })
      await hours(NOON, hour)
    }
    const told = news(hook, NOON).map((text) => text.slice(text.indexOf(' ') + 1))
    expect(told.filter((text) => text.startsWith('started'))).toEqual(
      [2, 3].map((count) => `started ${day(count)}`),
    )
    expect(told.filter((text) => text.startsWith('finished'))).toEqual([
      `finished ${TODAY}`,
      `finished ${day(1)}`,
    ])
  })

  it('[L7] with another interval its runs are others, of which nothing was told', async () => {
    const setup = await withBoard({ status: 'inactive', ...DAILY })
    const hook = await subscribe(setup.tenant, ...ALL)
    await activate(setup)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 20)
    news(hook, NOON)
    await patch(setup, { status: 'inactive' }, { runInterval: 2 }, { status: 'active' })
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 started ${TODAY}`,
      `20 changed ${TODAY}: ada 1 5`,
      `20 rank_changed ${TODAY}: ada null→1 null→5`,
    ])
  })

  it('[L8] a run that was told to be over is not over again, though all is counted anew by other groups', async () => {
    const setup = await withBoard(DAILY)
    const hook = await subscribe(setup.tenant, 'leaderboard.finished')
    await events(setup.tenant, ['ada', 5, { team: 'x' }])
    await minutes(NOON, FINAL + 30)
    expect(news(hook, NOON)).toEqual([`${FINAL} finished ${TODAY}: ada 1 5`])
    const groups = { breakdownAttributes: [setup.team] }
    await patch(setup, { status: 'inactive' }, groups, { status: 'active' })
    await minutes(NOON, FINAL + 120)
    expect(news(hook, NOON)).toEqual([])
    await minutes(NOON, FINAL + DAY / 60_000)
    expect(news(hook, NOON)).toEqual([`${FINAL + DAY / 60_000} finished ${day(1)}`])
  })

  it('[L7] while it is hidden nothing is told; on return what is other then', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, ...ALL)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 20)
    news(hook, NOON)
    await patch(setup, { status: 'inactive' })
    await events(setup.tenant, ['bob', 2])
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([])
    await activate(setup)
    await minutes(NOON, 121)
    expect(news(hook, NOON)).toEqual([
      `120 changed ${TODAY}: bob 1 6, ada 2 5`,
      `120 rank_changed ${TODAY}: bob 2→1 4→6`,
      `120 rank_changed ${TODAY}: ada 1→2 5→5`,
    ])
  })
})

describe('when something fails', () => {
  /** Moves the clock, and doesn't mind that something keeps it from all that is due. */
  async function tryMove(ms: number): Promise<number> {
    const { id, send } = await newTenant()
    const request = new Request('http://laurel.test/admin/v1/test-clock', {
      method: 'PUT',
      headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': id },
      body: JSON.stringify({ now: new Date(ms).toISOString() }),
    })
    return (await send(request)).status
  }

  it.each(['before', 'after'] as const)(
    '[W2, W4] it stops %s the couriers have it: they get it again, with the same ids, and nothing is lost',
    async (when) => {
      const setup = await withBoard()
      const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
      await events(setup.tenant, ['ada', 5])
      await minutes(NOON, 20)
      news(hook, NOON)
      losing[when] = 1
      await events(setup.tenant, ['bob', 6])
      expect(await tryMove(NOON + 21 * 60_000)).toBe(500)
      const first = sent.splice(0).map(({ id }) => id)
      expect(first).toHaveLength(when === 'before' ? 0 : 3)
      await events(setup.tenant, ['ada', 9])
      await minutes(NOON, 60)
      const ids = sent.map(({ id }) => id)
      if (when === 'after') expect(ids.slice(0, 3)).toEqual(first)
      expect(news(hook, NOON)).toEqual([
        `20 changed ${TODAY}: bob 1 6, ada 2 5`,
        `20 rank_changed ${TODAY}: bob null→1 null→6`,
        `20 rank_changed ${TODAY}: ada 1→2 5→5`,
        `35 changed ${TODAY}: ada 1 14, bob 2 6`,
        `35 rank_changed ${TODAY}: ada 2→1 5→14`,
        `35 rank_changed ${TODAY}: bob 1→2 6→6`,
      ])
    },
  )

  it('[C2] the wake is lost: the hourly upkeep tells it', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['ada', 5])
    const hour = NOON - (NOON % HOUR) + HOUR
    const due = 'UPDATE due_work SET due_at = ?2 WHERE tenant_id = ?1 AND due_at = ?3'
    const { meta } = await env.DB.prepare(due).bind(setup.tenant.id, hour, NOON).run()
    expect(meta.changes).toBe(1)
    await moveTo(hour - 1)
    expect(news(hook, NOON)).toEqual([])
    await moveTo(hour)
    expect(news(hook, NOON)).toEqual([`40 changed ${TODAY}: ada 1 5`])
  })

  it('[L12] a change that was lost is told once it is found', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 1)
    news(hook, NOON)
    await events(through(setup.tenant).tenant, ['bob', 6])
    await hours(NOON, 2)
    expect(news(hook, NOON)).toEqual([`40 changed ${TODAY}: bob 1 6, ada 2 5`])
  })

  it('[C1] the clock goes back: what comes then is told, and not days later', async () => {
    hearing()
    const setup = await withBoard({ start: dateAt(Date.now() - DAY) })
    await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 1)
    await events(setup.tenant, ['bob', 4])
    sent.length = 0
    expect((await setup.tenant.admin('DELETE', '/test-clock')).status).toBe(200)
    await events(setup.tenant, ['cai', 6])
    await untilHeld(() => expect(sent.map(({ body }) => at(body, 'user', 'id'))).toContain('cai'))
  })
})

describe('[U8] a user who is erased', () => {
  it('the others are told that they moved up; nothing of the user is left', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5], ['bob', 4], ['cai', 3])
    await minutes(NOON, 20)
    news(hook, NOON)
    await erase(setup, 'ada')
    await minutes(NOON, 30)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY}: bob 1 4, cai 2 3`,
      `20 rank_changed ${TODAY}: bob 2→1 4→4`,
      `20 rank_changed ${TODAY}: cai 3→2 3→3`,
    ])
    expect(JSON.stringify(await kept(setup.board))).not.toMatch(/\bada\b/)
  })

  it('what waits in the outbox goes on without the user', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    const object = env.LEADERBOARD.getByName(setup.board)
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['zoe', 1])
    const definition = calls[0]?.definition
    if (definition === undefined) throw new Error('no message')
    const runRequest = { definition, now: NOON, until: NOON, grace: 0 }
    expect((await object.runDue(runRequest)).events).toHaveLength(1)
    expect(JSON.stringify((await kept(setup.board)).outbox)).toMatch(/\bada\b/)
    await object.erase({ userId: 'ada', iid: await iidOf(setup, 'ada'), now: NOON })
    expect(JSON.stringify(await kept(setup.board))).not.toMatch(/\bada\b/)
    await minutes(NOON, 1)
    expect(news(hook, NOON)).toEqual([
      `0 changed ${TODAY}: bob 2 4`,
      `0 rank_changed ${TODAY}: bob null→2 null→4`,
    ])
  })

  it('is left out of what is told between the erasure and the visit of the leaderboard', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await env.DB.prepare("DELETE FROM users WHERE tenant_id = ?1 AND id = 'ada'").bind(setup.tenant.id).run()
    await minutes(NOON, 1)
    expect(news(hook, NOON)).toEqual([
      `0 changed ${TODAY}: bob 2 4`,
      `0 rank_changed ${TODAY}: bob null→2 null→4`,
    ])
  })
})

async function iidOf({ tenant }: Setup, id: string): Promise<string> {
  const sql = 'SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2'
  return (await env.DB.prepare(sql).bind(tenant.id, id).first<string>('iid')) ?? ''
}

/** Asks for the ranking of a group, as lines have it. */
async function groupOf(setup: Setup, team: string): Promise<string> {
  const ranked = await ranking(setup, { userAttributes: `team:${team}`, limit: '10' })
  return ranked.map(({ userId, rank, value }) => `${userId} ${rank} ${value}`).join(', ')
}

describe('[L6] a board with breakdown', () => {
  const [x, y] = [{ team: 'x' }, { team: 'y' }]
  const [X, Y] = ['[team:x]', '[team:y]']

  it('[W5] each group that has changed is told, with the ranks that the group shows', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x], ['dov', 9])
    await minutes(NOON, 16)
    expect(news(hook, NOON)).toEqual([
      `0 changed ${TODAY} ${X}: ${await groupOf(setup, 'x')}`,
      `0 changed ${TODAY} ${Y}: bob 1 4`,
      `0 rank_changed ${TODAY} ${X}: ada null→1 null→5`,
      `0 rank_changed ${TODAY} ${X}: cai null→2 null→3`,
      `0 rank_changed ${TODAY} ${Y}: bob null→1 null→4`,
    ])
    expect(await groupOf(setup, 'x')).toBe('ada 1 5, cai 2 3')
    await events(setup.tenant, ['eve', 1, y])
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `16 changed ${TODAY} ${Y}: bob 1 4, eve 2 1`,
      `16 rank_changed ${TODAY} ${Y}: eve null→2 null→1`,
    ])
  })

  it('[W5] several attributes name a group together, in the order of the breakdown', async () => {
    const setup = await withBoard({ breakdown: ['plan', 'team'] })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5, { ...x, plan: 'a, "b": c' }], ['bob', 4, y])
    await minutes(NOON, 16)
    expect(news(hook, NOON)).toEqual([
      `0 changed ${TODAY} [plan:a, "b": c, team:x]: ada 1 5`,
      `0 rank_changed ${TODAY} [plan:a, "b": c, team:x]: ada null→1 null→5`,
    ])
  })

  it('[W5] who moves to another group is told once, in the new one; the old one is told without', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x])
    await minutes(NOON, 20)
    news(hook, NOON)
    await events(setup.tenant, ['cai', 3, y])
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY} ${X}: ada 1 5`,
      `20 changed ${TODAY} ${Y}: cai 1 6, bob 2 4`,
      `20 rank_changed ${TODAY} ${Y}: cai 2→1 3→6`,
      `20 rank_changed ${TODAY} ${Y}: bob 1→2 4→4`,
    ])
    // First there as here; and x is empty then.
    await events(setup.tenant, ['ada', 4, y])
    await minutes(NOON, 60)
    expect(news(hook, NOON)).toEqual([
      `40 changed ${TODAY} ${X}`,
      `40 changed ${TODAY} ${Y}: ada 1 9, cai 2 6, bob 3 4`,
      `40 rank_changed ${TODAY} ${Y}: ada 1→1 5→9`,
      `40 rank_changed ${TODAY} ${Y}: cai 1→2 6→6`,
      `40 rank_changed ${TODAY} ${Y}: bob 2→3 4→4`,
    ])
    await setup.tenant.app('PATCH', '/users/bob', { attributes: { team: null } })
    await minutes(NOON, 80)
    expect(news(hook, NOON)).toEqual([
      `60 changed ${TODAY} ${Y}: ada 1 9, cai 2 6`,
      `60 rank_changed ${TODAY} ${Y}: bob 3→null 4→null`,
    ])
  })

  it('[W5, L5] a smaller maximum is told of each group that it shortens', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x])
    await minutes(NOON, 20)
    news(hook, NOON)
    await patch(setup, { maxParticipants: 1 })
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY} ${X}: ada 1 5`,
      `20 rank_changed ${TODAY} ${X}: cai 2→null 3→null`,
    ])
  })

  it('[W6] a run ends once in each group with ranks; one without any ranks ends once', async () => {
    const setup = await withBoard({ breakdown: ['team'], ...DAILY })
    const hook = await subscribe(setup.tenant, 'leaderboard.started', 'leaderboard.finished')
    await events(
      setup.tenant,
      ['ada', 5, x],
      ['bob', 4, y],
      ['cai', 6, x],
      ['dov', 9],
      ['eve', 1, { team: 'z' }],
    )
    await events(setup.tenant, ['eve', -1])
    await minutes(NOON, FINAL + DAY / 60_000)
    expect(news(hook, NOON)).toEqual([
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY} ${X}: cai 1 6, ada 2 5`,
      `${FINAL} finished ${TODAY} ${Y}: bob 1 4`,
      `${begins(3)} started ${day(3)}`,
      `${FINAL + DAY / 60_000} finished ${day(1)}`,
    ])
  })

  it('[L6] with other breakdown attributes its groups are others, and nothing is told of the old ones', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5, { ...x, plan: 'pro' }])
    await minutes(NOON, 20)
    news(hook, NOON)
    await patch(setup, { status: 'inactive' }, { breakdownAttributes: [setup.plan] }, { status: 'active' })
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY} [plan:pro]: ada 1 5`,
      `20 rank_changed ${TODAY} [plan:pro]: ada null→1 null→5`,
    ])
  })

  it('[U8] an erased user leaves the group, and an empty one is told', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x])
    await minutes(NOON, 20)
    news(hook, NOON)
    await erase(setup, 'ada')
    await minutes(NOON, 40)
    expect(news(hook, NOON)).toEqual([
      `20 changed ${TODAY} ${X}: cai 1 3`,
      `20 rank_changed ${TODAY} ${X}: cai 2→1 3→3`,
    ])
    await erase(setup, 'bob')
    await minutes(NOON, 60)
    expect(news(hook, NOON)).toEqual([`40 changed ${TODAY} ${Y}`])
    expect(JSON.stringify(await kept(setup.board))).not.toMatch(/\b(ada|bob|y)\b/)
  })

  it('a flush writes a row for the first places and one for the ranks of each group that has changed, and none for others', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    await subscribe(setup.tenant, ...ALL)
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, { team: 'z' }])
    await minutes(NOON, 30)
    const written: string[] = []
    const { rows } = Sql.prototype
    vi.spyOn(Sql.prototype, 'rows').mockImplementation(function (this: Sql, statement, ...values) {
      const before = this.rowsWritten
      const found = rows.call(this, statement, ...values)
      const [, table = ''] = /(sent_lists|outbox)/.exec(statement) ?? []
      if (table !== '') written.push(...Array.from({ length: this.rowsWritten - before }, () => table))
      return found
    })
    await events(setup.tenant, ['dov', 1, x], ['eve', 1, y])
    await minutes(NOON, 59)
    expect(written.toSorted()).toEqual([
      'outbox',
      'outbox',
      'sent_lists',
      'sent_lists',
      'sent_lists',
      'sent_lists',
    ])
  })
})

describe('a board that an earlier version has kept', () => {
  /** Has its object keep what it told as that version did, by all groups together, and forget all that is in memory. */
  async function asBefore({ board }: Setup): Promise<void> {
    const object = env.LEADERBOARD.getByName(board)
    await runInDurableObject(object, (_, { storage: { sql } }) => {
      const [top] = sql.exec("SELECT run, list FROM sent_lists WHERE grp LIKE 'top:%' ORDER BY grp").toArray()
      sql.exec("DELETE FROM sent_lists WHERE grp LIKE 'top:%'")
      sql.exec("INSERT INTO sent_lists (run, grp, list) VALUES (?, '', ?)", top?.run ?? 0, top?.list ?? '[]')
      sql.exec("UPDATE notes SET value = json_remove(value, '$.isByGroup') WHERE name = 'events'")
    })
    await evictDurableObject(object)
  }
  const tops = async ({ board }: Setup) =>
    (await kept(board)).told
      .filter((row) => !row.includes('"grp":"['))
      .map((row) => at(JSON.parse(row), 'grp'))

  it('goes on as it was', async () => {
    const setup = await withBoard()
    const hook = await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 20)
    news(hook, NOON)
    await asBefore(setup)
    expect(await tops(setup)).toEqual([''])
    await minutes(NOON, 100)
    expect(await tops(setup)).toEqual(['top:[]'])
    await events(setup.tenant, ['bob', 2])
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([
      `100 changed ${TODAY}: bob 1 6, ada 2 5`,
      `100 rank_changed ${TODAY}: bob 2→1 4→6`,
      `100 rank_changed ${TODAY}: ada 1→2 5→5`,
    ])
  })

  it('[L6] tells groups that change from then on, and those alone', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['ada', 5, { team: 'x' }], ['bob', 4, { team: 'y' }])
    await minutes(NOON, 20)
    news(hook, NOON)
    await asBefore(setup)
    await minutes(NOON, 100)
    expect(news(hook, NOON)).toEqual([])
    expect(await tops(setup)).toEqual(['top:["x"]', 'top:["y"]'])
    await events(setup.tenant, ['bob', 2])
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([`100 changed ${TODAY} [team:y]: bob 1 6`])
  })

  it('[L6] tells all groups once if one of them may have changed before', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['ada', 5, { team: 'x' }], ['bob', 4, { team: 'y' }])
    await minutes(NOON, 10)
    news(hook, NOON)
    await events(setup.tenant, ['bob', 2])
    await asBefore(setup)
    await minutes(NOON, 120)
    expect(news(hook, NOON)).toEqual([
      `15 changed ${TODAY} [team:x]: ada 1 5`,
      `15 changed ${TODAY} [team:y]: bob 1 6`,
    ])
  })

  it('sends what waits in its outbox as it was made', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const hook = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['ada', 5, { team: 'x' }])
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['zoe', 1])
    const definition = calls[0]?.definition
    if (definition === undefined) throw new Error('no message')
    const object = env.LEADERBOARD.getByName(setup.board)
    await object.runDue({ definition, now: NOON, until: NOON, grace: 0 })
    await runInDurableObject(object, (_, { storage: { sql } }) =>
      sql.exec("UPDATE outbox SET facts = json_remove(facts, '$[0].group')"),
    )
    await minutes(NOON, 1)
    expect(news(hook, NOON)).toEqual([`0 changed ${TODAY}: ada 1 5`])
  })
})

describe('whoever believes all that is told', () => {
  it.each([
    ['one ranking', [undefined]],
    ['groups', ['x', 'y', 'z']],
  ])(
    '[W5] knows %s in the end, hears of each user and group once in fifteen minutes, and of no gap',
    async (_what, teams) => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      let state = seed
      const random = (below: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
        return Math.floor((state / 0x8000_0000) * below)
      }
      const breakdown = teams.length > 1 ? ['team'] : []
      const setup = await withBoard({ maxParticipants: 6, breakdown })
      await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
      for (let minute = 0; minute < 150; minute += 1 + random(9)) {
        await minutes(NOON, minute)
        const team = random(3) === 0 ? teams[random(teams.length)] : undefined
        await events(setup.tenant, [
          `u${random(9)}`,
          random(9) - 3,
          team === undefined ? undefined : { team },
        ])
        if (random(12) === 0) await evictDurableObject(env.LEADERBOARD.getByName(setup.board))
      }
      await hours(NOON, 3)
      const told = new Map<unknown, { rank: unknown; group: unknown; at: number }>()
      const tops = new Map<unknown, { at: number; rankings: unknown }>()
      for (const { at: when, event, body } of sent) {
        const board = at(body, 'leaderboard')
        const group = at(board, 'userAttributes', '0', 'value')
        if (event === CHANGED) {
          const before = tops.get(group)
          if (before !== undefined)
            expect(when - before.at, `seed ${seed}`).toBeGreaterThanOrEqual(15 * 60_000)
          tops.set(group, { at: when, rankings: at(board, 'rankings') })
          continue
        }
        const user = at(body, 'user', 'id')
        const before = told.get(user)
        expect([user, before?.rank ?? null], `seed ${seed}`).toEqual([user, at(board, 'previousRank')])
        if (before !== undefined) expect(when - before.at, `seed ${seed}`).toBeGreaterThanOrEqual(15 * 60_000)
        told.set(user, { rank: at(board, 'rank'), group, at: when })
      }
      for (const team of teams) {
        const query = team === undefined ? {} : { userAttributes: `team:${team}` }
        const served = await ranking(setup, { limit: '6', ...query })
        expect(tops.get(team)?.rankings ?? [], `seed ${seed}`).toMatchObject(served)
        expect(tops.get(team)?.rankings ?? [], `seed ${seed}`).toHaveLength(served.length)
        const ranked = [...told].filter(([, { rank, group }]) => rank !== null && group === team)
        expect(Object.fromEntries(ranked.map(([user, { rank }]) => [user, rank])), `seed ${seed}`).toEqual(
          Object.fromEntries(served.map(({ userId, rank }) => [userId, rank])),
        )
      }
    },
  )
})
