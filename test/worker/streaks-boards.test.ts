import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import { queueWith } from '../helpers/worker/boards'
import { forgetDueWork } from '../helpers/worker/due-work'
import { lost } from '../helpers/worker/faulty'
import { at, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'
import { ASLEEP, stubbed } from '../helpers/worker/objects'
import { ownDays } from '../helpers/worker/own-days'

const { begin, date, move } = ownDays()
let tenant: TestTenant

beforeEach(async () => {
  await begin()
  tenant = await newTenant()
  await tenant.metric('steps')
  await move(0, 9)
})

/** Sends an event of each user, one after another. */
async function act(...users: string[]): Promise<void> {
  for (const user of users) await tenant.event('steps', user, 1)
}
/** The same at 9:00 of a day. */
async function onDay(day: number, ...users: string[]): Promise<void> {
  await move(day, 9)
  await act(...users)
}
const FLAMES = { key: 'flames', name: 'Flames', rankBy: 'streak', status: 'active' }
const create = (more: object = {}) => tenant.create('/leaderboards', { ...FLAMES, ...more })

async function page(query = ''): Promise<string[]> {
  const { body } = await tenant.app('GET', `/leaderboards/flames${query}`)
  const rankings = at(body, 'rankings')
  return Array.isArray(rankings) ? rankings.map((one) => `${at(one, 'userId')} ${at(one, 'value')}`) : []
}

/** An app that can reach no leaderboard, and not the queue of repairs either. */
const cut = () =>
  newApp({
    LEADERBOARD: stubbed(env.LEADERBOARD, () => {
      throw lost()
    }),
    REPAIRS: queueWith(() => Promise.reject(lost())),
  })

describe('[L3] boards by streak', () => {
  it('[L3] a board that is activated later has the lengths of that moment, for runs that began at any time', async () => {
    await act('ada')
    await onDay(1, 'ada', 'bob')
    await create({ start: date(1) })
    expect(await page()).toEqual(['ada 2', 'bob 1'])
  })

  it('[L12] the next change corrects a lost change, or the upkeep does within the hour', async () => {
    await create()
    await tenant.through(cut()).event('steps', 'ada', 1)
    await tenant.through(cut()).event('steps', 'bob', 1)
    expect(await page()).toEqual([])
    await move(0, 10.1)
    expect(await page()).toEqual(['ada 1', 'bob 1'])
    await move(1, 9)
    await tenant.through(cut()).event('steps', 'ada', 1)
    await move(1, 9.5)
    await act('bob')
    expect(await page()).toEqual(['bob 2', 'ada 1'])
    await move(2, 8)
    await act('ada')
    expect(await page()).toEqual(['ada 3', 'bob 2'])
  })

  it('[L3, L8] after the end of a board nothing counts any more, also after a later recount', async () => {
    await create({ end: date(1) })
    await act('ada', 'bob')
    await onDay(1, 'ada')
    await move(2, 1)
    await act('ada')
    // Bob's streak was lost at the end of the last day. That is after the board's end, like Ada's third day.
    const lengths = ['ada 2', 'bob 1']
    expect(await page()).toEqual(lengths)
    await move(2, 13)
    expect(await page()).toEqual(lengths)
    const { body } = await tenant.app('GET', '/leaderboards/flames')
    expect(at(body, 'status')).toBe('finished')
  })

  it('[L4, L8] the first user at the end stays first, also if a recount finds that the streak was extended since', async () => {
    await create({ end: date(1) })
    await act('bob', 'ada')
    await move(1, 8)
    await act('bob')
    await onDay(1, 'ada')
    await move(2, 1)
    await tenant.through(cut()).event('steps', 'bob', 1)
    const lengths = ['bob 2', 'ada 2']
    expect(await page()).toEqual(lengths)
    await move(2, 13)
    expect(await page()).toEqual(lengths)
  })

  it('[L3, L8] an extension of a week’s streak after the end does not count, although the week began before it', async () => {
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    await create({ end: date(1) })
    await act('bob')
    await move(2, 1)
    await act('ada')
    expect(await page()).toEqual(['bob 1'])
    await move(2, 13)
    expect(await page()).toEqual(['bob 1'])
  })

  it('[L12, S9] a recount that an event has made reaches the board within the hour', async () => {
    await create()
    // Three days of one month.
    const first = [0, 3].find((day) => date(day).slice(0, 7) === date(day + 2).slice(0, 7)) ?? 0
    for (const day of [0, 1, 2]) await onDay(first + day, 'ada', 'bob')
    expect(await page()).toEqual(['ada 3', 'bob 3'])
    await move(first + 2, 12.5)
    const asleep = tenant.through(newApp({ TIMEKEEPER: ASLEEP }))
    await asleep.admin('PATCH', '/streaks/settings', { frequency: 'monthly' })
    // As if the walk over the users had not run yet.
    await forgetDueWork({ tenant, kind: 'recount' })
    await tenant.app('PUT', '/users/ada', {})
    expect(await page()).toEqual(['ada 3', 'bob 3'])
    await move(first + 2, 13.5)
    expect(await page()).toEqual(['bob 3', 'ada 1'])
  })

  it('[L4, L12, S8] a restored length counts as reached at the restore, also after a later recount', async () => {
    const board = await create({ end: date(9) })
    for (const day of [0, 1]) await onDay(day, 'bob')
    for (const day of [3, 4]) await onDay(day, 'ada')
    await move(4, 10)
    expect((await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'bob' }] })).status).toBe(201)
    expect(await page()).toEqual(['ada 2', 'bob 2'])
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(10) }])
    expect(await page()).toEqual(['ada 2', 'bob 2'])
  })

  it('[L4, L12] a streak that one event ends and begins again counts as reached at that event', async () => {
    const board = await create({ end: date(9) })
    await act('ada')
    // The event comes before the Timekeeper, which would have removed the length at midnight.
    await forgetDueWork()
    await move(2, 8)
    await act('bob')
    await onDay(2, 'ada')
    expect(await page()).toEqual(['bob 1', 'ada 1'])
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(10) }])
    expect(await page()).toEqual(['bob 1', 'ada 1'])
  })

  it('[L4, L12, S10] a disabled streak is not ranked; enabled again, it was reached then, also after a recount', async () => {
    const board = await create({ end: date(9) })
    const turn = (enabled: boolean) => tenant.app('PATCH', '/users/ada/preferences', { streak: { enabled } })
    await act('ada', 'bob')
    expect(await page()).toEqual(['ada 1', 'bob 1'])
    await turn(false)
    await act('ada')
    expect(await page()).toEqual(['bob 1'])
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(10) }])
    expect(await page()).toEqual(['bob 1'])
    await move(0, 10)
    await turn(true)
    expect(await page()).toEqual(['bob 1', 'ada 1'])
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(9) }])
    expect(await page()).toEqual(['bob 1', 'ada 1'])
    await onDay(1, 'ada')
    expect(await page()).toEqual(['ada 2', 'bob 1'])
  })

  it('[L8, S10] a streak that is switched off after the end stays ranked, also after a later recount', async () => {
    await create({ end: date(1) })
    await act('ada', 'bob')
    await onDay(1, 'ada')
    await move(2, 1)
    await tenant.through(cut()).app('PATCH', '/users/ada/preferences', { streak: { enabled: false } })
    await move(2, 13)
    expect(await page()).toEqual(['ada 2', 'bob 1'])
  })

  it.each([
    ['on the last day', 1, ['bob 1']],
    ['after the end', 2, ['ada 1', 'bob 1']],
  ] as const)(
    '[L8, S13] knows a streak that was reset %s, also after a later recount',
    async (_, day, ranked) => {
      await create({ end: date(1) })
      await act('ada', 'bob')
      await move(day, 9)
      await tenant.through(cut()).admin('POST', '/streaks/reset', { users: [{ id: 'ada' }] })
      await move(2, 13)
      expect(await page()).toEqual(ranked)
    },
  )

  it('[L4, L12, S11] a journey to the next week and back does not change when a length was reached, also after a later recount', async () => {
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    const board = await create({ end: date(30) })
    const sunday = 6
    await move(sunday, 12)
    await tenant.event('steps', { id: 'ada', tz: 'America/New_York' }, 1)
    await act('bob')
    await move(sunday + 6, 12)
    await act('bob')
    expect(await page()).toEqual(['bob 2', 'ada 1'])
    await move(sunday + 7, 23)
    // In Tokyo it is Monday.
    await tenant.app('PATCH', '/users/ada', { tz: 'Asia/Tokyo' })
    expect(await page()).toEqual(['bob 2', 'ada 1'])
    await act('cid')
    await move(sunday + 7, 23.5)
    await tenant.app('PATCH', '/users/ada', { tz: 'America/New_York' })
    const ranked = ['bob 2', 'ada 1', 'cid 1']
    expect(await page()).toEqual(ranked)
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(31) }])
    expect(await page()).toEqual(ranked)
  })

  it('[L3, L12, S11] a week whose end is skipped counts until the next midnight, also after a later recount', async () => {
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    const sunday = 6
    await create({ end: date(sunday + 8) })
    await move(sunday, 12)
    for (const id of ['ada', 'bob']) await tenant.event('steps', { id, tz: 'America/New_York' }, 1)
    await move(sunday + 7, 23)
    // In Tokyo it is Monday, the last day of the board. The streaks are lost at midnight, which is after it.
    for (const id of ['ada', 'bob']) await tenant.app('PATCH', `/users/${id}`, { tz: 'Asia/Tokyo' })
    await forgetDueWork({ kind: 'streaks' })
    await move(sunday + 8, 16)
    await tenant.through(cut()).app('PATCH', '/users/ada', { name: 'Ada' })
    await tenant.through(cut()).event('steps', 'bob', 1)
    expect((await tenant.app('GET', '/streaks?userIds=ada&userIds=bob')).body).toMatchObject([
      { userId: 'bob', streakLength: 1 },
      { userId: 'ada', streakLength: 0 },
    ])
    const ranked = ['ada 1', 'bob 1']
    expect(await page()).toEqual(ranked)
    await move(sunday + 9, 13)
    expect(at((await tenant.app('GET', '/leaderboards/flames')).body, 'status')).toBe('finished')
    expect(await page()).toEqual(ranked)
  })

  it('[L4, L12, S9] a recounted length was reached at the moment in the log, also after a later recount', async () => {
    const board = await create({ end: date(9) })
    await onDay(0, 'zoe')
    await move(0, 9.5)
    await act('abe')
    await move(1, 8)
    await act('abe')
    await onDay(1, 'zoe')
    expect(await page()).toEqual(['abe 2', 'zoe 2'])
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    await move(1, 9.1)
    const inTheirWeek = ['zoe 1', 'abe 1']
    expect(await page()).toEqual(inTheirWeek)
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(10) }])
    expect(await page()).toEqual(inTheirWeek)
  })

  it('[L6] with a breakdown by an attribute; a user who moves keeps the length', async () => {
    const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    await create({ breakdownAttributes: [plan] })
    await tenant.event('steps', { id: 'ada', attributes: { plan: 'free' } }, 1)
    await tenant.event('steps', { id: 'bob', attributes: { plan: 'pro' } }, 1)
    expect(await page('?userAttributes=plan:free')).toEqual(['ada 1'])
    await tenant.app('PATCH', '/users/ada', { attributes: { plan: 'pro' } })
    expect(await page('?userAttributes=plan:free')).toEqual([])
    expect(await page('?userAttributes=plan:pro')).toEqual(['ada 1', 'bob 1'])
  })

  it('[L13] only for users who match; one who comes back has the present length', async () => {
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    await create({ userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }] })
    for (const [id, plan] of Object.entries({ ada: 'pro', bob: 'free' }))
      await tenant.event('steps', { id, attributes: { plan } }, 1)
    expect(await page()).toEqual(['ada 1'])
    for (const [id, plan] of Object.entries({ ada: 'free', bob: 'pro' }))
      await tenant.app('PATCH', `/users/${id}`, { attributes: { plan } })
    await onDay(1, 'ada', 'bob')
    expect(await page()).toEqual(['bob 2'])
    await tenant.app('PATCH', '/users/ada', { attributes: { plan: 'pro' } })
    expect(await page()).toEqual(['ada 2', 'bob 2'])
  })

  it('[L10] the history of a rank has the day of the loss', async () => {
    await create()
    await act('ada')
    await onDay(1, 'ada')
    await onDay(5, 'ada')
    const { body } = await tenant.app('GET', '/users/ada/leaderboards/flames')
    expect(at(body, 'history')).toMatchObject([
      { date: date(0), value: 1 },
      { date: date(1), value: 2 },
      { date: date(3), value: null, previousValue: 2 },
      { date: date(5), value: 1 },
    ])
  })
})

describe('[S10] while streaks are off for the tenant', () => {
  const streaks = async (enabled: boolean) =>
    expect((await tenant.admin('PATCH', '/streaks/settings', { enabled })).status).toBe(200)
  const place = async (user: string, key = 'flames') =>
    (await tenant.app('GET', `/users/${user}/leaderboards/${key}`)).body
  const ALL = ['bob 2', 'ada 2', 'cai 1']

  /** A board on which bob was first to reach a length of 2, then ada; cai has 1. */
  async function ranked(more: object = {}): Promise<string> {
    const board = await create(more)
    await act('ada', 'bob')
    await move(1, 8)
    await act('bob')
    await onDay(1, 'ada', 'cai')
    expect(await page()).toEqual(ALL)
    return board
  }

  it('streak boards rank no users, and all users again when streaks are on', async () => {
    await ranked()
    await streaks(false)
    expect(await page()).toEqual([])
    expect(await page('?userId=ada')).toEqual([])
    expect(await place('ada')).toMatchObject({ rank: null, value: null })
    await streaks(true)
    expect(await page()).toEqual(ALL)
    expect(await place('ada')).toMatchObject({ rank: 2, value: 2 })
  })

  it('comparisons, recounts, another maximum and an activation bring no user back', async () => {
    const board = await ranked({ end: date(9) })
    await streaks(false)
    await move(1, 12.5)
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, end: date(10), maxParticipants: 2 }])
    await create({ key: 'later' })
    await move(1, 13)
    expect(await page()).toEqual([])
    expect(await place('ada', 'later')).toMatchObject({ rank: null, value: null })
    await streaks(true)
    expect(await page()).toEqual(ALL.slice(0, 2))
    expect(await place('ada', 'later')).toMatchObject({ rank: 2, value: 2 })
  })

  it('groups are empty, and other boards continue', async () => {
    const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const groups = [plan, await tenant.create('/attributes', { key: 'team', name: 'Team', type: 'user' })]
    const metricId = at((await tenant.admin('GET', '/metrics')).body, '0', 'id')
    await create({ breakdownAttributes: groups })
    await create({ key: 'steps', rankBy: 'metric', metricId })
    const user = { id: 'ada', attributes: { plan: 'pro', team: 'x' } }
    await tenant.event('steps', user, 1)
    await streaks(false)
    const [group, several] = ['?userAttributes=plan:pro,team:x', '?userAttributes=plan:pro']
    expect([await page(group), await page(several)]).toEqual([[], []])
    expect(await place('ada', 'steps')).toMatchObject({ rank: 1 })
    await streaks(true)
    expect([await page(group), await page(several)]).toEqual([['ada 1'], ['ada 1']])
  })

  it('[L10] the history of a rank has the times of its loss and its return', async () => {
    await ranked()
    await streaks(false)
    await move(3, 9)
    expect(at(await place('ada'), 'history')).toMatchObject([
      { date: date(0), rank: 1, value: 1 },
      { date: date(1), rank: null, value: null, previousRank: 1, previousValue: 1 },
    ])
    await streaks(true)
    await move(3, 10)
    expect(at(await place('ada'), 'history')).toMatchObject([
      { date: date(0) },
      { date: date(1), rank: null },
      { date: date(3), rank: 2, value: 2, previousRank: null, previousValue: null },
    ])
  })

  it('[L8] the same on boards that are final, or become final meanwhile', async () => {
    await ranked({ end: date(1) })
    await create({ key: 'longer', end: date(3) })
    await move(2, 13)
    await streaks(false)
    await move(4, 13)
    expect([await page(), await page('?userId=ada')]).toEqual([[], []])
    for (const key of ['flames', 'longer'])
      expect(await place('ada', key)).toMatchObject({ rank: null, value: null, status: 'finished' })
    await streaks(true)
    await move(4, 14)
    expect(await page()).toEqual(ALL)
    expect(await place('ada')).toMatchObject({ rank: 2, value: 2 })
    expect(await place('ada', 'longer')).toMatchObject({ rank: 2, value: 2 })
  })
})
