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
  flushOfGroups,
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
const BOUNDS = ['leaderboard.started', 'leaderboard.finished']
const DAILY = { runUnit: 'day', runInterval: 1 }
/**
 * Minutes after NOON (12:20 UTC) at which the run of `count` days later begins, and at which today's run
 * becomes final (L7, L8).
 */
const begins = (count: number) => (count * DAY - 14 * HOUR - (NOON % DAY)) / 60_000
const FINAL = (DAY + 12 * HOUR - (NOON % DAY)) / 60_000

/** The lines that a flush of a board without groups sends. `ranks` has only those about users whose rank changed. */
const flush = (minute: number, before: string, after: string, run?: string) =>
  flushOfGroups(minute, { '': [before, after] }, run)
const ranks = (...args: Parameters<typeof flush>) => flush(...args).filter((line) => line.includes(' rank_'))

type Score = Parameters<typeof events>[1]
/** Scores of users, perhaps with their teams, which are written as `ada 5, bob 4 x`. */
const scoresOf = (text: string): Score[] =>
  text.split(', ').map((one) => {
    const [user = '', value, team] = one.split(' ')
    return [user, Number(value), team === undefined ? undefined : { team }]
  })

/**
 * A webhook that gets changes of a board, or other types of events. `step` adds scores, or does something else,
 * moves the clock to a minute, and expects that the webhook has got these messages since the last step.
 */
async function listening(setup: Setup, ...types: string[]) {
  const hook = await subscribe(setup.tenant, ...(types.length === 0 ? [CHANGED, RANK_CHANGED] : types))
  const step = async (act: string | ((setup: Setup) => Promise<unknown>), minute: number, told: string[]) => {
    await (typeof act === 'string' ? events(setup.tenant, ...scoresOf(act)) : act(setup))
    expect(await newsBy(hook, minute)).toEqual(told)
  }
  return { setup, hook, step }
}
const heard = async (board: Record<string, unknown> = {}, ...types: string[]) =>
  listening(await withBoard(board), ...types)

/** Moves the clock to that many minutes after NOON. Returns what the webhook got since the last call. */
async function newsBy(hook: string, count: number): Promise<string[]> {
  await minutes(NOON, count)
  return news(hook, NOON)
}

const nothing = async () => {}
const hide = (setup: Setup) => patch(setup, { status: 'inactive' })
const show = (setup: Setup) => patch(setup, { status: 'active' })
const erase = async ({ tenant }: Setup, id: string) =>
  expect((await tenant.admin('DELETE', `/users/${id}`)).status).toBe(200)
const keepsNothing = async ({ board }: Setup) =>
  expect(await kept(board)).toMatchObject({ sent: [], outbox: [] })

describe('[W5] changes', () => {
  it('the first change is sent at once; later changes are sent once, after fifteen minutes, with the values of then', async () => {
    const { step } = await heard()
    await step('ada 5', 5, flush(0, '', 'ada 5'))
    await step('bob 3', 10, [])
    await step('bob 4, ada 1', 14.9, [])
    await step(nothing, 120, flush(15, 'ada 5', 'bob 7, ada 6'))
    // No change for fifteen minutes: the next one is sent at once.
    await step('ada 2', 121, flush(120, 'bob 7, ada 6', 'ada 8, bob 7'))
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
    const others = await subscribe(setup.tenant, RANK_CHANGED)
    const idle = await subscribe(setup.tenant, 'leaderboard.started', 'streak.lost')
    for (let n = 1; n <= 10; n += 1) await events(setup.tenant, [`u${n}`, 100 - n])
    await minutes(NOON, 16)
    for (const hook of [tops, others]) expect(news(hook, NOON)).not.toEqual([])
    await minutes(NOON, 40)
    await events(setup.tenant, ['u3', 0.5])
    await minutes(NOON, 60)
    expect([...news(tops, NOON), ...news(others, NOON)]).toEqual([])
    await events(setup.tenant, ['u10', 0.25], ['u10', 0.75])
    await minutes(NOON, 80)
    expect([news(tops, NOON).length, news(others, NOON)]).toEqual([1, []])
    await events(setup.tenant, ['late', 1])
    await minutes(NOON, 100)
    const late = `80 rank_changed ${TODAY}: late null→11 null→1`
    expect([tops, others, idle].map((hook) => news(hook, NOON))).toEqual([[], [late], []])
  })

  it('by points and by streak', async () => {
    const points = await withBoard({ rankBy: 'points' })
    const streak = { key: 'flames', name: 'Flames', status: 'active', rankBy: 'streak' }
    await points.tenant.create('/leaderboards', streak)
    const hook = await subscribe(points.tenant, RANK_CHANGED)
    await events(points.tenant, ['ada', 2], ['bob', 3])
    await minutes(NOON, 20)
    const both = [...ranks(0, '', 'bob 30, ada 20'), ...ranks(0, '', 'ada 1, bob 1')]
    expect(news(hook, NOON).toSorted()).toEqual(both.toSorted())
    // Bob's streak continues. Ada's is lost at the midnight after tomorrow.
    await moveTo(NOON + DAY)
    await events(points.tenant, ['bob', 0.5])
    await moveTo(NOON + 2 * DAY)
    const midnight = (2 * DAY - (NOON % DAY)) / 60_000
    expect(news(hook, NOON)).toEqual([
      ...ranks(DAY / 60_000, 'ada 1, bob 1', 'bob 2, ada 1'),
      ...ranks(midnight, 'bob 2, ada 1', 'bob 2'),
    ])
  })

  it('[S10] all users leave a streak board when the tenant’s streaks are switched off, and return when they are on', async () => {
    const { setup, step } = await heard({ rankBy: 'streak' })
    const streaks = (enabled: boolean) => setup.tenant.admin('PATCH', '/streaks/settings', { enabled })
    await step('ada 1, bob 1', 20, flush(0, '', 'ada 1, bob 1'))
    await step(() => streaks(false), 40, flush(20, 'ada 1, bob 1', ''))
    await step(() => streaks(true), 60, flush(40, '', 'ada 1, bob 1'))
  })

  it('[L7] a hidden board sends nothing; when it is back, it sends the differences', async () => {
    const { setup, step } = await heard({}, ...ALL)
    await step('ada 5, bob 4', 20, flush(0, '', 'ada 5, bob 4'))
    await hide(setup)
    await step('bob 2', 120, [])
    await step(show, 121, flush(120, 'ada 5, bob 4', 'bob 6, ada 5'))
  })

  it('[L12] a lost change is sent once the repair finds it', async () => {
    const { step } = await heard()
    await step('ada 5', 1, flush(0, '', 'ada 5'))
    await step(({ tenant }) => events(through(tenant).tenant, ['bob', 6]), 39, [])
    await step(nothing, 120, flush(40, 'ada 5', 'bob 6, ada 5'))
  })

  it('more events than the object hands out at once', async () => {
    const { setup, hook } = await heard({}, RANK_CHANGED)
    const users = Array.from({ length: 700 }, (_, n) => `u${n}`)
    const batch = users.map((id, n) => ({ key: 'steps', user: { id }, value: 1_000 - n }))
    const { status } = await setup.tenant.admin('POST', '/metrics/events', batch)
    expect(status).toBe(202)
    const told = await newsBy(hook, 30)
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
    const { step } = await listening(setup, ...ALL)
    await step(nothing, 100, [])
    await step('bob 3', 101, flush(100, 'ada 5, bob 4', 'bob 7, ada 5'))
  })

  it('[C1] changes that wait or come while no webhook is active are not sent, and no move of the clock waits for them', async () => {
    const { setup, hook, step } = await heard()
    const set = (status: string) => setup.tenant.admin('PATCH', '/webhooks', [{ id: hook, status }])
    await step('ada 5, bob 3', 5, flush(0, '', 'ada 5, bob 3'))
    await events(setup.tenant, ['bob', 1])
    await set('inactive')
    await events(setup.tenant, ['bob', 3])
    await step(keepsNothing, 40, [])
    await step(() => set('active'), 120, [])
    await step('ada 3', 130, flush(120, 'bob 7, ada 5', 'ada 8, bob 7'))
  })

  it('a new type is sent from its subscription on, and the other types as before', async () => {
    const setup = await withBoard()
    const others = await subscribe(setup.tenant, RANK_CHANGED)
    await events(setup.tenant, ['ada', 5])
    await minutes(NOON, 20)
    const tops = await subscribe(setup.tenant, CHANGED)
    await events(setup.tenant, ['bob', 6])
    await evictDurableObject(env.LEADERBOARD.getByName(setup.board))
    await minutes(NOON, 40)
    expect(news(tops, NOON)).toEqual([`20 changed ${TODAY}: bob 1 6, ada 2 5`])
    expect(news(others, NOON)).toEqual([...ranks(0, '', 'ada 5'), ...ranks(20, 'ada 5', 'bob 6, ada 5')])
  })

  it('a late call with an older configuration stops no events, also after the object was evicted', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 5])
    const { step } = await listening(setup, RANK_CHANGED)
    await step('bob 6', 10, ranks(0, '', 'bob 6'))
    await events(setup.tenant, ['bob', -3])
    const object = env.LEADERBOARD.getByName(setup.board)
    await evictDurableObject(object)
    const [late] = calls
    if (late === undefined) throw new Error('no message')
    await object.deliver(late)
    await step(nothing, 90, ranks(15, 'bob 6', 'ada 5, bob 3'))
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

describe('[W2] the rows that a flush writes in the object', () => {
  const many = Array.from({ length: 40 }, (_, n) => `u${n} ${n + 1}`).join(', ')

  it.each([
    ['are six, for any number of events and users', [], 'ada 5', many, 2],
    [
      'are two for each changed group, and none for other groups',
      ['team'],
      'ada 5 x, bob 4 y, cai 3 z',
      'dov 1 x, eve 1 y',
      4,
    ],
  ])('%s', async (_what, breakdown, before, after, lists) => {
    const { setup, hook } = await heard({ breakdown }, ...ALL)
    await events(setup.tenant, ...scoresOf(before))
    await newsBy(hook, 30)
    const written = writtenRows()
    await events(setup.tenant, ...scoresOf(after))
    // It says that a flush is due.
    expect(written).toEqual(['note'])
    expect((await newsBy(hook, 59)).length).toBeGreaterThan(scoresOf(after).length)
    // The note of the finished flush, a row of the outbox, which is written and deleted, and the first ten and the
    // ranks of each group.
    const flushed = [...words`note note outbox outbox`, ...Array(lists).fill('sent_lists')]
    expect(written.toSorted()).toEqual(flushed)
  })
})

describe('[W6] runs that begin and end', () => {
  it('an activated run begins at once, empty; the next ones begin at their first midnight on Earth', async () => {
    const { step } = await heard({ status: 'inactive', ...DAILY }, ...ALL)
    await step(nothing, 1, [])
    await step(show, 2, [`1 started ${TODAY}`, `1 started ${day(1)}`])
    await step(nothing, 46 * 60, [
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY}`,
      `${begins(3)} started ${day(3)}`,
    ])
  })

  it('runs that are over at the activation begin and end then, in order', async () => {
    const start = dateAt(NOON - 3 * DAY)
    const { step } = await heard({ status: 'inactive', start, ...DAILY, runInterval: 2 }, ...BOUNDS)
    const begun = [-3, -1, 1].map((count) => `0 started ${day(count)}`)
    await step(show, 2, [...begun, `0 finished ${day(-3)}`])
  })

  it('[L7] a run that is finished by hand: pending changes are sent first, then the end, once', async () => {
    const { setup, step } = await heard(DAILY, ...ALL)
    await step('ada 5', 5, flush(0, '', 'ada 5'))
    await events(setup.tenant, ['bob', 6])
    await patch(setup, { status: 'finished' })
    const ends = [`5 finished ${TODAY}: bob 1 6, ada 2 5`, `5 finished ${day(1)}`]
    await step(nothing, 6, [...flush(5, 'ada 5', 'bob 6, ada 5'), ...ends])
    await step(keepsNothing, 100 * 60, [])
  })

  it('[L7] another interval makes other runs, of which nothing was sent', async () => {
    const { setup, step } = await heard({ status: 'inactive', ...DAILY }, ...ALL)
    await step(show, 0, [`0 started ${TODAY}`, `0 started ${day(1)}`])
    await step('ada 5', 20, flush(0, '', 'ada 5'))
    await patch(setup, { status: 'inactive' }, { runInterval: 2 }, { status: 'active' })
    await step(nothing, 40, [`20 started ${TODAY}`, ...flush(20, '', 'ada 5')])
  })

  it('[L8] a run that was finished is not finished again, though a new breakdown counts all users again', async () => {
    const { setup, step } = await heard(DAILY, 'leaderboard.finished')
    await step('ada 5 x', FINAL + 30, [`${FINAL} finished ${TODAY}: ada 1 5`])
    await patch(setup, { status: 'inactive' }, { breakdownAttributes: [setup.team] }, { status: 'active' })
    await step(nothing, FINAL + 120, [])
    await step(nothing, FINAL + DAY / 60_000, [`${FINAL + DAY / 60_000} finished ${day(1)}`])
  })

  it('a scheduled board begins by itself; the event has the configured leaderboard with the days of the run', async () => {
    const [start, end] = [dateAt(NOON + 2 * DAY), dateAt(NOON + 4 * DAY)]
    const { setup, step } = await heard({ status: 'scheduled', start, ...DAILY, runInterval: 3 }, '*')
    await hours(NOON, 24)
    const leaderboard = { id: setup.board, key: 'board', status: 'active', start, end, rankings: [] }
    const body = { type: 'leaderboard.started', leaderboard }
    expect(sent).toMatchObject([{ event: 'leaderboard.started', subject: `board:${setup.board}`, body }])
    await step(nothing, 24 * 60, [`${begins(2)} started ${day(2)}`])
  })

  it('a new subscription gets the next run, not earlier ones', async () => {
    const setup = await withBoard(DAILY)
    await events(setup.tenant, ['ada', 1])
    await minutes(NOON, begins(2) - 30)
    const { step } = await listening(setup, ...BOUNDS)
    await step(nothing, 47 * 60, [
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY}: ada 1 1`,
      `${begins(3)} started ${day(3)}`,
    ])
  })

  it('[L8] each run takes the changes of its own dates; a pending flush comes before the end, and none after it', async () => {
    const { setup, step } = await heard(DAILY, 'leaderboard.finished', CHANGED, RANK_CHANGED)
    const west = (id: string, value: number) => setup.tenant.event('steps', { id, tz: 'Etc/GMT+12' }, value)
    await west('sam', 4)
    await setup.tenant.event('steps', { id: 'kai', tz: 'Pacific/Kiritimati' }, 7)
    await step(nothing, 20, [...flush(0, '', 'sam 4'), ...flush(0, '', 'kai 7', day(1))])
    // Twelve hours west of Greenwich it is still today.
    await step(nothing, FINAL - 5, [])
    await step(() => west('sam', 1), FINAL - 4, [`${FINAL - 5} changed ${TODAY}: sam 1 5`])
    await step(() => west('tui', 9), FINAL - 3, [])
    // Sam's rank was last sent with the value 4.
    const last = flush(FINAL, 'sam 4', 'tui 9, sam 5')
    await step(nothing, FINAL + 30, [...last, `${FINAL} finished ${TODAY}: tui 1 9, sam 2 5`])
    await step('ada 8', FINAL + 60, flush(FINAL + 30, 'kai 7', 'ada 8, kai 7', day(1)))
  })

  it('an end is sent once, despite repeated upkeep, an evicted object and a hidden leaderboard', async () => {
    const { setup, hook } = await heard(DAILY, ...BOUNDS)
    for (let hour = 6; hour <= 48; hour += 6) {
      await evictDurableObject(env.LEADERBOARD.getByName(setup.board))
      await patch(setup, { status: 'inactive' }, { status: 'active' }, { description: `${hour}` })
      await hours(NOON, hour)
    }
    const told = news(hook, NOON).map((text) => text.slice(text.indexOf(' ') + 1))
    expect(told).toEqual([
      `started ${day(2)}`,
      `finished ${TODAY}`,
      `started ${day(3)}`,
      `finished ${day(1)}`,
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
      const { setup, step } = await heard()
      await step('ada 5', 20, flush(0, '', 'ada 5'))
      losing[when] = 1
      await events(setup.tenant, ['bob', 6])
      expect(await tryMove(NOON + 21 * 60_000)).toBe(500)
      const first = sent.splice(0).map(({ id }) => id)
      expect(first).toHaveLength(when === 'before' ? 0 : 3)
      await events(setup.tenant, ['ada', 9])
      await minutes(NOON, 60)
      const ids = sent.map(({ id }) => id)
      if (when === 'after') expect(ids.slice(0, 3)).toEqual(first)
      const second = flush(35, 'bob 6, ada 5', 'ada 14, bob 6')
      await step(nothing, 60, [...flush(20, 'ada 5', 'bob 6, ada 5'), ...second])
    },
  )

  it('[C2] the wake is lost: the hourly upkeep sends the events', async () => {
    const { setup, step } = await heard()
    await events(setup.tenant, ['ada', 5])
    const due = { tenant: setup.tenant, kind: 'leaderboard' }
    expect(await dueWork(due)).toMatchObject([{ dueAt: NOON }])
    await makeDueAt(due, NOON + 40 * 60_000)
    await step(nothing, 40 - 1 / 60_000, [])
    await step(nothing, 40, flush(40, '', 'ada 5'))
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
  const withoutAda = [`0 changed ${TODAY}: bob 2 4`, `0 rank_changed ${TODAY}: bob null→2 null→4`]

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
    expect(await newsBy(hook, 1)).toEqual(withoutAda)
  })

  it('is left out of events between the erasure and the update of the leaderboard', async () => {
    const { setup, hook } = await heard()
    await events(setup.tenant, ['ada', 5], ['bob', 4])
    await removeUsers(setup.tenant, 'ada')
    expect(await newsBy(hook, 1)).toEqual(withoutAda)
  })
})

describe('[L6] a board with breakdown', () => {
  const [X, Y] = ['team:x', 'team:y']
  const THREE = 'ada 5 x, bob 4 y, cai 3 x'
  const first = flushOfGroups(0, { [X]: ['', 'ada 5, cai 3'], [Y]: ['', 'bob 4'] })

  it('[W5] several attributes name a group together, in the order of the breakdown', async () => {
    const { setup, step } = await heard({ breakdown: ['plan', 'team'] })
    await events(setup.tenant, ['ada', 5, { team: 'x', plan: 'a, "b": c' }])
    await step('bob 4 y', 16, flushOfGroups(0, { 'plan:a, "b": c, team:x': ['', 'ada 5'] }))
  })

  it('[W5] a user who moves to another group has one event, in the new group; the old group is sent without the user', async () => {
    const { setup, step } = await heard({ breakdown: ['team'] })
    await step(THREE, 20, first)
    const [two, three] = ['cai 6, bob 4', 'ada 9, cai 6, bob 4']
    await step('cai 3 y', 40, flushOfGroups(20, { [X]: ['ada 5, cai 3', 'ada 5'], [Y]: ['bob 4', two] }))
    // Ada is first in y too, and x is empty then.
    await step('ada 4 y', 60, flushOfGroups(40, { [X]: ['ada 5', ''], [Y]: [two, three] }))
    // The new group may also come before the old one.
    await step('ada 1 x', 80, flushOfGroups(60, { [X]: ['', 'ada 10'], [Y]: [three, two] }))
    await setup.tenant.app('PATCH', '/users/bob', { attributes: { team: null } })
    await step(nothing, 100, flushOfGroups(80, { [Y]: [two, 'cai 6'] }))
  })

  it('[W5, L5] a smaller maximum changes each group that it shortens', async () => {
    const { setup, step } = await heard({ breakdown: ['team'] })
    await step(THREE, 20, first)
    await patch(setup, { maxParticipants: 1 })
    await step(nothing, 40, flushOfGroups(20, { [X]: ['ada 5, cai 3', 'ada 5'] }))
  })

  it('[W6] a run ends once in each group with ranks; a run without ranks ends once', async () => {
    const { step } = await heard({ breakdown: ['team'], ...DAILY }, ...BOUNDS)
    await step('ada 5 x, bob 4 y, cai 6 x, dov 9, eve 1 z', 0, [])
    await step('eve -1', FINAL + DAY / 60_000, [
      `${begins(2)} started ${day(2)}`,
      `${FINAL} finished ${TODAY} [${X}]: cai 1 6, ada 2 5`,
      `${FINAL} finished ${TODAY} [${Y}]: bob 1 4`,
      `${begins(3)} started ${day(3)}`,
      `${FINAL + DAY / 60_000} finished ${day(1)}`,
    ])
  })

  it('other breakdown attributes make other groups, and nothing is sent of the old groups', async () => {
    const { setup, step } = await heard({ breakdown: ['team'] })
    await events(setup.tenant, ['ada', 5, { team: 'x', plan: 'pro' }])
    await step(nothing, 20, flushOfGroups(0, { [X]: ['', 'ada 5'] }))
    await patch(setup, { status: 'inactive' }, { breakdownAttributes: [setup.plan] }, { status: 'active' })
    await step(nothing, 40, flushOfGroups(20, { 'plan:pro': ['', 'ada 5'] }))
  })

  it('[U8] an erased user leaves the group, and the then empty group is sent', async () => {
    const { setup, step } = await heard({ breakdown: ['team'] })
    await step(THREE, 20, first)
    await erase(setup, 'ada')
    const rest = [`20 changed ${TODAY} [${X}]: cai 1 3`, `20 rank_changed ${TODAY} [${X}]: cai 2→1 3→3`]
    await step(nothing, 40, rest)
    await erase(setup, 'bob')
    await step(nothing, 60, [`40 changed ${TODAY} [${Y}]`])
    expect(JSON.stringify(await kept(setup.board))).not.toMatch(/\b(ada|bob|y)\b/)
  })

  it('[L13, W5] a user who matches the filters no longer leaves, and comes back with the whole score', async () => {
    const team = [{ attributeKey: 'team', attributeValue: 'x' }]
    const { setup, step } = await heard({ userAttributes: team })
    await step('ada 5 x, bob 9 y, cai 3 x', 20, flush(0, '', 'ada 5, cai 3'))
    await step('ada 2 y, bob 1 x', 40, flush(20, 'ada 5, cai 3', 'bob 10, cai 3'))
    await events(setup.tenant, ['ada', 0, { team: 'x' }])
    await minutes(NOON, 60)
    expect(sent[0]?.body).toMatchObject({ leaderboard: { userAttributes: [{ key: 'team', value: 'x' }] } })
    await step(nothing, 60, flush(40, 'bob 10, cai 3', 'bob 10, ada 7, cai 3'))
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
