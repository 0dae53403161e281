import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { instant } from '../../src/lib/clock'
import { runs } from '../helpers/runs'
import { present, START } from '../helpers/time'
import { words } from '../helpers/words'
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
  writtenRows,
} from '../helpers/worker/board-events'
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
} from '../helpers/worker/boards'
import { dueWork, makeDueAt } from '../helpers/worker/due-work'
import { ADMIN_KEY, at, newTenant, untilHeld } from '../helpers/worker/harness'
import { iidOf, removeUsers } from '../helpers/worker/stored-users'

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

/** Lets alarms run that changes set. */
function hearing(): void {
  vi.restoreAllMocks()
  recordDeliveryQueues()
}

/** The date of a day after today, as in the lines. */
const day = (count: number) => dateAt(NOON + count * DAY).slice(5)
const TODAY = day(0)
const [CHANGED, RANK_CHANGED] = ['leaderboard.changed', 'leaderboard.rank_changed'] as const
const DAILY = { runUnit: 'day', runInterval: 1 }
/**
 * Minutes after NOON (12:20 UTC) at which the run of `count` days later begins, and at which today's run
 * becomes final (L7, L8).
 */
const begins = (count: number) => (count * DAY - 14 * HOUR - (NOON % DAY)) / 60_000
const FINAL = (DAY + 12 * HOUR - (NOON % DAY)) / 60_000

/** A board and a webhook that gets its changes, or other types of events. */
async function heard(board: Record<string, unknown> = {}, ...types: string[]) {
  const setup = await withBoard(board)
  const hook = await subscribe(setup.tenant, ...(types.length === 0 ? [CHANGED, RANK_CHANGED] : types))
  return { setup, hook }
}

/** Moves the clock to that many minutes after NOON. Returns what the webhook got since the last call. */
async function newsBy(hook: string, count: number): Promise<string[]> {
  await minutes(NOON, count)
  return news(hook, NOON)
}

const activate = (setup: Setup) => patch(setup, { status: 'active' })
const erase = async ({ tenant }: Setup, id: string) =>
  expect((await tenant.admin('DELETE', `/users/${id}`)).status).toBe(200)

describe('[W5] changes', () => {
  it('the first change is sent at once; later changes are sent once, after fifteen minutes, with the values of then', async () => {
    const { setup, hook } = await heard()
    await events(setup.tenant, ['ada', 5])
    expect(await newsBy(hook, 5)).toEqual([
      `0 changed ${TODAY}: ada 1 5`,
      `0 rank_changed ${TODAY}: ada null→1 null→5`,
    ])
    await events(setup.tenant, ['bob', 3])
    await minutes(NOON, 10)
    await events(setup.tenant, ['bob', 4], ['ada', 1])
    expect(await newsBy(hook, 14.9)).toEqual([])
    expect(await newsBy(hook, 120)).toEqual([
      `15 changed ${TODAY}: bob 1 7, ada 2 6`,
      `15 rank_changed ${TODAY}: bob null→1 null→7`,
      `15 rank_changed ${TODAY}: ada 1→2 5→6`,
    ])
    // No change for fifteen minutes: the next one is sent at once.
    await events(setup.tenant, ['ada', 2])
    expect(await newsBy(hook, 121)).toEqual([
      `120 changed ${TODAY}: ada 1 8, bob 2 7`,
      `120 rank_changed ${TODAY}: ada 2→1 6→8`,
      `120 rank_changed ${TODAY}: bob 1→2 7→7`,
    ])
  })

  it('in real time: events are sent at once, with the current time', async () => {
    hearing()
    await forgetTime()
    const setup = await withBoard()
    await subscribe(setup.tenant, CHANGED)
    const began = present()
    await events(setup.tenant, ['ada', 5])
    await untilHeld(() => expect(sent).toHaveLength(1))
    expect(sent[0]?.at).toBeGreaterThanOrEqual(began)
    expect(sent[0]?.at).toBeLessThanOrEqual(present())
  })

  it('each webhook gets the subscribed types: `changed` for values only, `rank_changed` for ranks beyond the tenth', async () => {
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
    // Bob's streak continues. Ada's is lost at the midnight after tomorrow.
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

  it('[S10] all users leave a streak board when the tenant’s streaks are switched off, and return when they are on', async () => {
    const { setup, hook } = await heard({ rankBy: 'streak' })
    const streaks = (enabled: boolean) => setup.tenant.admin('PATCH', '/streaks/settings', { enabled })
    await events(setup.tenant, ['ada', 1], ['bob', 1])
    await newsBy(hook, 20)
    await streaks(false)
    expect(await newsBy(hook, 40)).toEqual([
      `20 changed ${TODAY}`,
      `20 rank_changed ${TODAY}: ada 1→null 1→null`,
      `20 rank_changed ${TODAY}: bob 2→null 1→null`,
    ])
    await streaks(true)
    expect(await newsBy(hook, 60)).toEqual([
      `40 changed ${TODAY}: ada 1 1, bob 2 1`,
      `40 rank_changed ${TODAY}: ada null→1 null→1`,
      `40 rank_changed ${TODAY}: bob null→2 null→1`,
    ])
  })

  it('more events than the object hands out at once', async () => {
    const { setup, hook } = await heard({}, RANK_CHANGED)
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

describe('subscriptions that begin or end', () => {
  it('earlier changes are not sent; the previous values are those at the time of the subscription', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await minutes(NOON, 30)
    const hook = await subscribe(setup.tenant, ...ALL)
    expect(await newsBy(hook, 100)).toEqual([])
    await events(setup.tenant, ['bob', 3])
    expect(await newsBy(hook, 101)).toEqual([
      `100 changed ${TODAY}: bob 1 7, ada 2 5`,
      `100 rank_changed ${TODAY}: bob 2→1 4→7`,
      `100 rank_changed ${TODAY}: ada 1→2 5→5`,
    ])
  })

  it('[C1] changes that wait or come while no webhook is active are not sent, and no move of the clock waits for them', async () => {
    const { setup, hook } = await heard()
    const set = (status: string) => setup.tenant.admin('PATCH', '/webhooks', [{ id: hook, status }])
    await events(setup.tenant, ['ada', 5], ['bob', 3])
    expect(await newsBy(hook, 5)).toHaveLength(3)
    await events(setup.tenant, ['bob', 1])
    await set('inactive')
    await events(setup.tenant, ['bob', 3])
    expect(await kept(setup.board)).toMatchObject({ sent: [], outbox: [] })
    expect(await newsBy(hook, 40)).toEqual([])
    await set('active')
    expect(await newsBy(hook, 120)).toEqual([])
    await events(setup.tenant, ['ada', 3])
    expect(await newsBy(hook, 130)).toEqual([
      `120 changed ${TODAY}: ada 1 8, bob 2 7`,
      `120 rank_changed ${TODAY}: ada 2→1 5→8`,
      `120 rank_changed ${TODAY}: bob 1→2 7→7`,
    ])
  })

  it('a new type is sent from its subscription on, and the other types as before', async () => {
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

  it('a late call with an older configuration stops no events, also after the object was evicted', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 5])
    const hook = await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['bob', 6])
    await newsBy(hook, 20)
    await events(setup.tenant, ['bob', -3])
    const object = env.LEADERBOARD.getByName(setup.board)
    await evictDurableObject(object)
    const [late] = calls
    if (late === undefined) throw new Error('no message')
    await object.deliver(late)
    expect(await newsBy(hook, 90)).toEqual([
      `15 rank_changed ${TODAY}: ada null→1 null→5`,
      `15 rank_changed ${TODAY}: bob 1→2 6→3`,
    ])
  })

  it('[W2] without a subscription, nothing is stored that would not be without webhooks', async () => {
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
      if (kind !== 'listening') expect(await kept(setup.board)).toEqual({ sent: [], outbox: [], notes: [] })
    }
    expect(rows.other).toBe(rows.none)
    // The subscribed types, and the time of the flush: one row each, for all six events.
    expect(rows.listening).toBe((rows.none ?? 0) + 2)
  })
})

describe('the cost', () => {
  it('[W2] a flush writes six rows in the object, for any number of events and users', async () => {
    const setup = await withBoard()
    await subscribe(setup.tenant, ...ALL)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 30)
    const written = writtenRows()
    for (let n = 0; n < 40; n += 1) await events(setup.tenant, [`u${n}`, n + 1])
    // It says that a flush is due.
    expect(written).toEqual(['note'])
    await minutes(NOON, 59)
    expect(sent.length).toBeGreaterThan(40)
    // The note of the finished flush, the first ten, the ranks, and a row of the outbox, which is written and
    // deleted.
    expect(written.toSorted()).toEqual(words`note note outbox outbox sent_lists sent_lists`)
  })
})

describe('[W6] runs that begin and end', () => {
  it('an activated run begins at once, empty; the next ones begin at their first midnight on Earth', async () => {
    const { setup, hook } = await heard({ status: 'inactive', ...DAILY }, ...ALL)
    expect(await newsBy(hook, 1)).toEqual([])
    await activate(setup)
    expect(await newsBy(hook, 2)).toEqual([`1 started ${TODAY}`, `1 started ${day(1)}`])
    expect(await newsBy(hook, 46 * 60)).toEqual([
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY}`,
      `${begins(3)} started ${day(3)}`,
    ])
  })

  it('a scheduled board begins by itself; the event has the configured leaderboard with the days of the run', async () => {
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

  it('a new subscription gets the next run, not earlier ones', async () => {
    const setup = await withBoard(DAILY)
    await events(setup.tenant, ['ada', 1])
    await minutes(NOON, begins(2) - 30)
    const hook = await subscribe(setup.tenant, 'leaderboard.started', 'leaderboard.finished')
    expect(await newsBy(hook, 47 * 60)).toEqual([
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY}: ada 1 1`,
      `${begins(3)} started ${day(3)}`,
    ])
  })

  it('runs that are over at the activation begin and end then, in order', async () => {
    const start = dateAt(NOON - 3 * DAY)
    const { setup, hook } = await heard(
      { status: 'inactive', start, ...DAILY, runInterval: 2 },
      'leaderboard.started',
      'leaderboard.finished',
    )
    await activate(setup)
    expect(await newsBy(hook, 2)).toEqual([
      `0 started ${day(-3)}`,
      `0 started ${day(-1)}`,
      `0 started ${day(1)}`,
      `0 finished ${day(-3)}`,
    ])
  })

  it('[L8] each run takes the changes of its own dates; a pending flush comes before the end, and none after it', async () => {
    const { setup, hook } = await heard(DAILY, 'leaderboard.finished', CHANGED, RANK_CHANGED)
    const east = { id: 'kai', tz: 'Pacific/Kiritimati' }
    const west = { id: 'sam', tz: 'Etc/GMT+12' }
    await setup.tenant.event('steps', west, 4)
    await setup.tenant.event('steps', east, 7)
    expect(await newsBy(hook, 20)).toEqual([
      `0 changed ${TODAY}: sam 1 4`,
      `0 rank_changed ${TODAY}: sam null→1 null→4`,
      `0 changed ${day(1)}: kai 1 7`,
      `0 rank_changed ${day(1)}: kai null→1 null→7`,
    ])
    // Twelve hours west of Greenwich it is still today.
    await minutes(NOON, FINAL - 5)
    await setup.tenant.event('steps', west, 1)
    expect(await newsBy(hook, FINAL - 4)).toEqual([`${FINAL - 5} changed ${TODAY}: sam 1 5`])
    await setup.tenant.event('steps', { id: 'tui', tz: 'Etc/GMT+12' }, 9)
    expect(await newsBy(hook, FINAL - 3)).toEqual([])
    expect(await newsBy(hook, FINAL + 30)).toEqual([
      `${FINAL} changed ${TODAY}: tui 1 9, sam 2 5`,
      `${FINAL} rank_changed ${TODAY}: tui null→1 null→9`,
      `${FINAL} rank_changed ${TODAY}: sam 1→2 4→5`,
      `${FINAL} finished ${TODAY}: tui 1 9, sam 2 5`,
    ])
    await events(setup.tenant, ['ada', 8])
    await minutes(NOON, FINAL + 60)
    expect(news(hook, NOON).map((text) => text.split(' ')[2]?.slice(0, 5))).toEqual([day(1), day(1), day(1)])
  })

  it('[L7] a run that is finished by hand: pending changes are sent first, then the end, once', async () => {
    const { setup, hook } = await heard(DAILY, ...ALL)
    await events(setup.tenant, ['ada', 5])
    await newsBy(hook, 5)
    await events(setup.tenant, ['bob', 6])
    await patch(setup, { status: 'finished' })
    expect(await newsBy(hook, 6)).toEqual([
      `5 changed ${TODAY}: bob 1 6, ada 2 5`,
      `5 rank_changed ${TODAY}: bob null→1 null→6`,
      `5 rank_changed ${TODAY}: ada 1→2 5→5`,
      `5 finished ${TODAY}: bob 1 6, ada 2 5`,
      `5 finished ${day(1)}`,
    ])
    expect(await kept(setup.board)).toMatchObject({ sent: [], outbox: [] })
    expect(await newsBy(hook, 100 * 60)).toEqual([])
  })

  it('an end is sent once, despite repeated upkeep, an evicted object and a hidden leaderboard', async () => {
    const { setup, hook } = await heard(DAILY, 'leaderboard.started', 'leaderboard.finished')
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

  it('[L7] another interval makes other runs, of which nothing was sent', async () => {
    const { setup, hook } = await heard({ status: 'inactive', ...DAILY }, ...ALL)
    await activate(setup)
    await events(setup.tenant, ['ada', 5])
    await newsBy(hook, 20)
    await patch(setup, { status: 'inactive' }, { runInterval: 2 }, { status: 'active' })
    expect(await newsBy(hook, 40)).toEqual([
      `20 started ${TODAY}`,
      `20 changed ${TODAY}: ada 1 5`,
      `20 rank_changed ${TODAY}: ada null→1 null→5`,
    ])
  })

  it('[L8] a run that was finished is not finished again, though a new breakdown counts all users again', async () => {
    const { setup, hook } = await heard(DAILY, 'leaderboard.finished')
    await events(setup.tenant, ['ada', 5, { team: 'x' }])
    expect(await newsBy(hook, FINAL + 30)).toEqual([`${FINAL} finished ${TODAY}: ada 1 5`])
    const groups = { breakdownAttributes: [setup.team] }
    await patch(setup, { status: 'inactive' }, groups, { status: 'active' })
    expect(await newsBy(hook, FINAL + 120)).toEqual([])
    expect(await newsBy(hook, FINAL + DAY / 60_000)).toEqual([`${FINAL + DAY / 60_000} finished ${day(1)}`])
  })

  it('[L7] a hidden board sends nothing; when it is back, it sends the differences', async () => {
    const { setup, hook } = await heard({}, ...ALL)
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await newsBy(hook, 20)
    await patch(setup, { status: 'inactive' })
    await events(setup.tenant, ['bob', 2])
    expect(await newsBy(hook, 120)).toEqual([])
    await activate(setup)
    expect(await newsBy(hook, 121)).toEqual([
      `120 changed ${TODAY}: bob 1 6, ada 2 5`,
      `120 rank_changed ${TODAY}: bob 2→1 4→6`,
      `120 rank_changed ${TODAY}: ada 1→2 5→5`,
    ])
  })
})

describe('if something fails', () => {
  /** Moves the clock. Returns the status, which is 500 if a fault prevents due work. */
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
    '[W2, W4] a call fails %s the delivery queue has the events: it gets them again, same ids, nothing lost',
    async (when) => {
      const { setup, hook } = await heard()
      await events(setup.tenant, ['ada', 5])
      await newsBy(hook, 20)
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

  it('[C2] the wake is lost: the hourly upkeep sends the events', async () => {
    const { setup, hook } = await heard({}, CHANGED)
    await events(setup.tenant, ['ada', 5])
    const hour = NOON - (NOON % HOUR) + HOUR
    const due = { tenant: setup.tenant, kind: 'leaderboard' }
    expect(await dueWork(due)).toMatchObject([{ dueAt: NOON }])
    await makeDueAt(due, hour)
    await moveTo(hour - 1)
    expect(news(hook, NOON)).toEqual([])
    await moveTo(hour)
    expect(news(hook, NOON)).toEqual([`40 changed ${TODAY}: ada 1 5`])
  })

  it('[L12] a lost change is sent once the repair finds it', async () => {
    const { setup, hook } = await heard({}, CHANGED)
    await events(setup.tenant, ['ada', 5])
    await newsBy(hook, 1)
    await events(through(setup.tenant).tenant, ['bob', 6])
    expect(await newsBy(hook, 2 * 60)).toEqual([`40 changed ${TODAY}: bob 1 6, ada 2 5`])
  })

  it('[C1] the clock goes back: later changes are sent at once, not days later', async () => {
    const setup = await withBoard({ start: dateAt(START - DAY) })
    await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 1)
    await events(setup.tenant, ['bob', 4])
    sent.length = 0
    expect((await setup.tenant.admin('DELETE', '/test-clock')).status).toBe(200)
    // From now on only: otherwise bob's change may be sent alone, and the next one a quarter of an hour later.
    hearing()
    await events(setup.tenant, ['cai', 6])
    await untilHeld(() => expect(sent.map(({ body }) => at(body, 'user', 'id'))).toContain('cai'))
  })
})

describe('[U8] an erased user', () => {
  it('waiting events in the outbox are sent without the erased user', async () => {
    const { setup, hook } = await heard()
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    const object = env.LEADERBOARD.getByName(setup.board)
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['zoe', 1])
    const definition = calls[0]?.definition
    if (definition === undefined) throw new Error('no message')
    const runRequest = { definition, now: instant(NOON), until: instant(NOON), grace: 0 }
    expect((await object.runDue(runRequest)).events).toHaveLength(1)
    expect(JSON.stringify((await kept(setup.board)).outbox)).toMatch(/\bada\b/)
    await object.erase({ userId: 'ada', iid: await iidOf(setup.tenant), now: instant(NOON) })
    expect(JSON.stringify(await kept(setup.board))).not.toMatch(/\bada\b/)
    expect(await newsBy(hook, 1)).toEqual([
      `0 changed ${TODAY}: bob 2 4`,
      `0 rank_changed ${TODAY}: bob null→2 null→4`,
    ])
  })

  it('is left out of events between the erasure and the update of the leaderboard', async () => {
    const { setup, hook } = await heard()
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await removeUsers(setup.tenant, 'ada')
    expect(await newsBy(hook, 1)).toEqual([
      `0 changed ${TODAY}: bob 2 4`,
      `0 rank_changed ${TODAY}: bob null→2 null→4`,
    ])
  })
})

describe('[L6] a board with breakdown', () => {
  const [x, y] = [{ team: 'x' }, { team: 'y' }]
  const [X, Y] = ['[team:x]', '[team:y]']

  it('[W5] several attributes name a group together, in the order of the breakdown', async () => {
    const { setup, hook } = await heard({ breakdown: ['plan', 'team'] })
    await events(setup.tenant, ['ada', 5, { ...x, plan: 'a, "b": c' }], ['bob', 4, y])
    expect(await newsBy(hook, 16)).toEqual([
      `0 changed ${TODAY} [plan:a, "b": c, team:x]: ada 1 5`,
      `0 rank_changed ${TODAY} [plan:a, "b": c, team:x]: ada null→1 null→5`,
    ])
  })

  it('[W5] a user who moves to another group has one event, in the new group; the old group is sent without the user', async () => {
    const { setup, hook } = await heard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x])
    await newsBy(hook, 20)
    await events(setup.tenant, ['cai', 3, y])
    expect(await newsBy(hook, 40)).toEqual([
      `20 changed ${TODAY} ${X}: ada 1 5`,
      `20 changed ${TODAY} ${Y}: cai 1 6, bob 2 4`,
      `20 rank_changed ${TODAY} ${Y}: cai 2→1 3→6`,
      `20 rank_changed ${TODAY} ${Y}: bob 1→2 4→4`,
    ])
    // Ada is first in y too, and x is empty then.
    await events(setup.tenant, ['ada', 4, y])
    expect(await newsBy(hook, 60)).toEqual([
      `40 changed ${TODAY} ${X}`,
      `40 changed ${TODAY} ${Y}: ada 1 9, cai 2 6, bob 3 4`,
      `40 rank_changed ${TODAY} ${Y}: ada 1→1 5→9`,
      `40 rank_changed ${TODAY} ${Y}: cai 1→2 6→6`,
      `40 rank_changed ${TODAY} ${Y}: bob 2→3 4→4`,
    ])
    // The new group may also come before the old one.
    await events(setup.tenant, ['ada', 1, x])
    expect(await newsBy(hook, 80)).toEqual([
      `60 changed ${TODAY} ${X}: ada 1 10`,
      `60 changed ${TODAY} ${Y}: cai 1 6, bob 2 4`,
      `60 rank_changed ${TODAY} ${X}: ada 1→1 9→10`,
      `60 rank_changed ${TODAY} ${Y}: cai 2→1 6→6`,
      `60 rank_changed ${TODAY} ${Y}: bob 3→2 4→4`,
    ])
    await setup.tenant.app('PATCH', '/users/bob', { attributes: { team: null } })
    expect(await newsBy(hook, 100)).toEqual([
      `80 changed ${TODAY} ${Y}: cai 1 6`,
      `80 rank_changed ${TODAY} ${Y}: bob 2→null 4→null`,
    ])
  })

  it('[L13, W5] a user who matches the filters no longer leaves, and comes back with the whole score', async () => {
    const { setup, hook } = await heard({ userAttributes: [{ attributeKey: 'team', attributeValue: 'x' }] })
    await events(setup.tenant, ['ada', 5, x], ['bob', 9, y], ['cai', 3, x])
    await newsBy(hook, 20)
    await events(setup.tenant, ['ada', 2, y], ['bob', 1, x])
    expect(await newsBy(hook, 40)).toEqual([
      `20 changed ${TODAY}: bob 1 10, cai 2 3`,
      `20 rank_changed ${TODAY}: bob null→1 null→10`,
      `20 rank_changed ${TODAY}: ada 1→null 5→null`,
    ])
    await events(setup.tenant, ['ada', 0, x])
    await minutes(NOON, 60)
    const filters = [{ key: 'team', value: 'x' }]
    expect(sent).toContainEqual(
      expect.objectContaining({
        body: expect.objectContaining({ leaderboard: expect.objectContaining({ userAttributes: filters }) }),
      }),
    )
    expect(news(hook, NOON)).toContain(`40 rank_changed ${TODAY}: ada null→2 null→7`)
  })

  it('[W5, L5] a smaller maximum changes each group that it shortens', async () => {
    const { setup, hook } = await heard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x])
    await newsBy(hook, 20)
    await patch(setup, { maxParticipants: 1 })
    expect(await newsBy(hook, 40)).toEqual([
      `20 changed ${TODAY} ${X}: ada 1 5`,
      `20 rank_changed ${TODAY} ${X}: cai 2→null 3→null`,
    ])
  })

  it('[W6] a run ends once in each group with ranks; a run without ranks ends once', async () => {
    const { setup, hook } = await heard(
      { breakdown: ['team'], ...DAILY },
      'leaderboard.started',
      'leaderboard.finished',
    )
    await events(
      setup.tenant,
      ['ada', 5, x],
      ['bob', 4, y],
      ['cai', 6, x],
      ['dov', 9],
      ['eve', 1, { team: 'z' }],
    )
    await events(setup.tenant, ['eve', -1])
    expect(await newsBy(hook, FINAL + DAY / 60_000)).toEqual([
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY} ${X}: cai 1 6, ada 2 5`,
      `${FINAL} finished ${TODAY} ${Y}: bob 1 4`,
      `${begins(3)} started ${day(3)}`,
      `${FINAL + DAY / 60_000} finished ${day(1)}`,
    ])
  })

  it('[L6] other breakdown attributes make other groups, and nothing is sent of the old groups', async () => {
    const { setup, hook } = await heard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 5, { ...x, plan: 'pro' }])
    await newsBy(hook, 20)
    await patch(setup, { status: 'inactive' }, { breakdownAttributes: [setup.plan] }, { status: 'active' })
    expect(await newsBy(hook, 40)).toEqual([
      `20 changed ${TODAY} [plan:pro]: ada 1 5`,
      `20 rank_changed ${TODAY} [plan:pro]: ada null→1 null→5`,
    ])
  })

  it('[U8] an erased user leaves the group, and the then empty group is sent', async () => {
    const { setup, hook } = await heard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, x])
    await newsBy(hook, 20)
    await erase(setup, 'ada')
    expect(await newsBy(hook, 40)).toEqual([
      `20 changed ${TODAY} ${X}: cai 1 3`,
      `20 rank_changed ${TODAY} ${X}: cai 2→1 3→3`,
    ])
    await erase(setup, 'bob')
    expect(await newsBy(hook, 60)).toEqual([`40 changed ${TODAY} ${Y}`])
    expect(JSON.stringify(await kept(setup.board))).not.toMatch(/\b(ada|bob|y)\b/)
  })

  it('a flush writes two rows for each changed group, its first places and its ranks, and none for other groups', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    await subscribe(setup.tenant, ...ALL)
    await events(setup.tenant, ['ada', 5, x], ['bob', 4, y], ['cai', 3, { team: 'z' }])
    await minutes(NOON, 30)
    const written = writtenRows()
    await events(setup.tenant, ['dov', 1, x], ['eve', 1, y])
    await minutes(NOON, 59)
    expect(written.filter((row) => row !== 'note').toSorted()).toEqual(
      words`outbox outbox sent_lists sent_lists sent_lists sent_lists`,
    )
  })
})

describe('a receiver that trusts all events', () => {
  it.each([
    ['one ranking', [undefined]],
    ['groups', ['x', 'y', 'z']],
  ])(
    '[W5] knows %s in the end, gets one event of each user and group in fifteen minutes, and misses none',
    async (_what, teams) => {
      const step = fc.record({
        pause: fc.integer({ min: 1, max: 9 }),
        user: fc.constantFrom(...words`u0 u1 u2 u3 u4 u5 u6 u7 u8`),
        value: fc.integer({ min: -3, max: 5 }),
        team: fc.constantFrom(undefined, undefined, ...teams),
        evicted: fc.constantFrom(true, ...Array<boolean>(11).fill(false)),
      })
      const breakdown = teams.length > 1 ? ['team'] : []
      const setup = await withBoard({ maxParticipants: 3, breakdown })
      await subscribe(setup.tenant, CHANGED, RANK_CHANGED)
      let minute = 0
      for (const { pause, user, value, team, evicted } of fc.sample(step, runs(15, 30))) {
        await minutes(NOON, minute)
        await events(setup.tenant, [user, value, team === undefined ? undefined : { team }])
        if (evicted) await evictDurableObject(env.LEADERBOARD.getByName(setup.board))
        minute += pause
      }
      await hours(NOON, 3)
      const told = new Map<unknown, { rank: unknown; group: unknown; at: number }>()
      const tops = new Map<unknown, { at: number; rankings: unknown }>()
      for (const { at: when, event, body } of sent) {
        const board = at(body, 'leaderboard')
        const group = at(board, 'group', '0', 'value')
        if (event === CHANGED) {
          const before = tops.get(group)
          if (before !== undefined) expect(when - before.at).toBeGreaterThanOrEqual(15 * 60_000)
          tops.set(group, { at: when, rankings: at(board, 'rankings') })
          continue
        }
        const user = at(body, 'user', 'id')
        const before = told.get(user)
        expect([user, before?.rank ?? null]).toEqual([user, at(board, 'previousRank')])
        if (before !== undefined) expect(when - before.at).toBeGreaterThanOrEqual(15 * 60_000)
        told.set(user, { rank: at(board, 'rank'), group, at: when })
      }
      for (const team of teams) {
        const query = team === undefined ? {} : { userAttributes: `team:${team}` }
        const served = await ranking(setup, { limit: '3', ...query })
        expect(tops.get(team)?.rankings ?? []).toMatchObject(served)
        expect(tops.get(team)?.rankings ?? []).toHaveLength(served.length)
        const ranked = [...told].filter(([, { rank, group }]) => rank !== null && group === team)
        expect(Object.fromEntries(ranked.map(([user, { rank }]) => [user, rank]))).toEqual(
          Object.fromEntries(served.map(({ userId, rank }) => [userId, rank])),
        )
      }
    },
  )
})
