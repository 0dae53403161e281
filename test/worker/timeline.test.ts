import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { bytes } from '../helpers/readable'
import { casesOf } from '../helpers/runs'
import { DAY, dateAt, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { faulty } from '../helpers/worker/faulty'
import {
  at,
  databases,
  newApp,
  newTenant,
  nextPath,
  pagesFrom,
  rowsEverywhere,
  type TestTenant,
  until,
} from '../helpers/worker/harness'
import { manyAwards, manyEvents } from '../helpers/worker/stored-events'

afterEach(forgetTime)

const Entry = z.looseObject({ id: z.string(), at: z.string().nullable(), type: z.string() })
type Entry = z.output<typeof Entry>

let tenant: TestTenant
beforeEach(async () => {
  await moveTo(NOON)
  tenant = await newTenant()
})

/** One page of a timeline, and the path of the next one. */
async function page(path: string, of = tenant): Promise<{ entries: Entry[]; next: string | null }> {
  const { status, body, headers } = await of.admin('GET', path)
  expect(status).toBe(200)
  return { entries: z.array(Entry).parse(body), next: nextPath(headers) }
}

/** The whole timeline, page by page. */
async function whole(query: Record<string, string> = { limit: '100' }, user = 'ada'): Promise<Entry[]> {
  const pages = await pagesFrom(tenant, `/users/${user}/timeline?${new URLSearchParams(query)}`)
  for (const page of pages) expect(page.length).toBeLessThanOrEqual(Number(query.limit ?? 10))
  return z.array(Entry).parse(pages.flat())
}

const said = (entries: readonly Entry[]) =>
  entries.map((entry) => (entry.type === 'streak' ? `streak ${String(entry.change)}` : entry.type))

const words = (value: number, user: string | Record<string, unknown> = 'ada') =>
  tenant.event('words', user, value)

/** A story in which everything happens. It ends at `NOON` and 12 days. */
async function story(): Promise<void> {
  const metricId = await tenant.metric('words')
  await tenant.metric('pages')
  await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const achieve = (key: string, name: string, metricValue: number) =>
    tenant.create('/achievements', { key, name, trigger: 'metric', status: 'active', metricId, metricValue })
  await achieve('writer', 'Writer', 5)
  const achievementId = await achieve('reader', 'Reader', 6)
  const metric = { type: 'metric', metricId, metricThreshold: 1, status: 'active' }
  const levels = [
    { key: 'low', name: 'Low', points: 5 },
    { key: 'high', name: 'High', points: 30 },
  ]
  await tenant.create('/points', {
    ...{ key: 'xp', name: 'XP', maxPoints: 40, levels },
    boosts: [{ name: 'Twice', start: dateAt(NOON), multiplier: 2 }],
    triggers: [
      { ...metric, points: 2 },
      { type: 'streak', streakLength: 2, points: 3, status: 'active' },
      { type: 'achievement', achievementId, points: 5, status: 'active' },
      { type: 'time', timeUnit: 'days', timeInterval: 1, points: 1, status: 'active' },
    ],
  })
  await tenant.create('/points', { key: 'gems', name: 'Gems', triggers: [{ ...metric, points: 1 }] })
  const email = { type: 'achievement_completed', channel: 'email', subject: 'Well done', body: 'Yes' }
  await tenant.create('/notifications/templates', { ...email, status: 'active' })
  const freezes = { startCount: 0, maxCount: 3, autoEarnInterval: 4, autoEarnAmount: 1 }
  await tenant.admin('PATCH', '/streaks/settings', { freezes })
  await tenant.app('PUT', '/users/ada', { name: 'Ada', email: 'ada@example.com' })
  // Several changes at one moment.
  await words(1)
  await words(2, { id: 'ada', attributes: { plan: 'pro' } })
  await tenant.event('pages', 'ada', 1)
  await moveTo(NOON + DAY)
  await words(3)
  await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ada' }] })
  await tenant.app('PATCH', '/users/ada/preferences', { notifications: { recap: ['push'] } })
  // The granted freeze and the next earned one save a day each, and the day after them loses the streak.
  await moveTo(NOON + 6 * DAY)
  await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] })
  const pause = { userId: 'ada', start: dateAt(NOON + 8 * DAY), end: dateAt(NOON + 9 * DAY) }
  const { body } = await tenant.admin('POST', '/streaks/pauses', { pauses: [pause] })
  await tenant.admin('DELETE', `/streaks/pauses?ids=${String(at(body, 'created', 0, 'id'))}`)
  const batch = await tenant.admin('POST', '/metrics/events', [
    { key: 'words', user: { id: 'ada' }, value: 1 },
    { key: 'pages', user: { id: 'ada', name: 'Ada L.' }, value: 1 },
    { key: 'words', user: { id: 'ada' }, value: -1 },
  ])
  const batchId = String(batch.headers.get('x-batch-id'))
  await until(async () => {
    const { body } = await tenant.admin('GET', `/metrics/events/batches/${batchId}`)
    return at(body, 'status') === 'done'
  })
  // Corrections, of now and of long ago: some of them change the level.
  const [first, , last] = Exported.parse((await tenant.admin('GET', '/users/ada/export')).body).events
  await tenant.admin('POST', `/users/ada/events/${first?.id}/void`, { reason: 'Sent twice' })
  await tenant.admin('POST', '/points/xp/adjustments', [
    { userId: 'ada', amount: -100, reason: 'Cheated' },
    { userId: 'ada', amount: 8 },
  ])
  await tenant.admin('DELETE', '/users/ada/achievements/reader?points=revoke')
  await moveTo(NOON + 7 * DAY)
  await tenant.admin('POST', `/users/ada/events/${last?.id}/void`, {})
  await moveTo(NOON + 12 * DAY)
}

const ExportedEvent = z.looseObject({ id: z.string(), date: z.string(), streak: z.array(z.unknown()) })
const Exported = z.object({
  events: z.array(ExportedEvent),
  voidedEvents: z.array(ExportedEvent.extend({ voided: z.string(), reason: z.string().nullable() })),
  awards: z.array(
    z.looseObject({
      ...{ id: z.string(), date: z.string(), level: z.unknown(), type: z.string().optional() },
      ...{ awarded: z.number(), reverses: z.string().nullish() },
    }),
  ),
  achievements: z.array(z.looseObject({ id: z.string(), date: z.string() })),
  notifications: z.array(z.looseObject({ id: z.string() })),
  changes: z.array(
    z.looseObject({ date: z.string(), fields: z.array(z.unknown()), streak: z.array(z.unknown()) }),
  ),
  streak: z.looseObject({
    past: z.array(z.looseObject({ length: z.number(), lost: z.string().nullable() })),
  }),
})

describe('GET /admin/v1/users/{id}/timeline', () => {
  it('[X2] holds everything that the export holds, whatever the size of the page', async () => {
    await story()
    const all = await whole()
    const data = Exported.parse((await tenant.admin('GET', '/users/ada/export')).body)
    const of = (type: string) => all.filter((one) => one.type === type)
    const places = (list: readonly Entry[]) => list.map(({ id, at }) => `${id} ${at}`).sort()
    const dated = (list: readonly { id: string; date: string }[]) =>
      list.map(({ id, date }) => `${id} ${date}`)
    expect(places(of('event'))).toEqual(dated([...data.events, ...data.voidedEvents]).sort())
    const typed = (type?: string) => data.awards.filter((one) => one.type === type)
    expect(places(of('award'))).toEqual(dated(typed()).sort())
    // A reversal is in its void, or beside the completion that was taken back.
    const reversals = of('void').flatMap((one) => z.array(z.unknown()).parse(one.reversals))
    const adjustments = of('adjustment')
    const plain = adjustments.filter(({ reverses }) => reverses === null)
    expect(places(plain)).toEqual(dated(typed('adjustment')).sort())
    expect(reversals).not.toEqual([])
    expect(adjustments.map(({ reverses }) => reverses === null)).toContain(false)
    const back = [...reversals, ...adjustments.filter(({ reverses }) => reverses !== null)]
    const applied = (one: unknown) => `${at(one, 'id')} ${at(one, 'awarded')} ${at(one, 'reverses')}`
    expect(back.map(applied).sort()).toEqual(typed('reversal').map(applied).sort())
    const voids = data.voidedEvents.map(({ id, voided, reason }) => `${voided} ${id} ${reason}`)
    const shownVoids = of('void').map((one) => `${one.at} ${one.eventId} ${one.reason}`)
    expect(shownVoids).toEqual(voids.toSorted().toReversed())
    expect(of('event').filter(({ voided }) => voided !== null)).toHaveLength(data.voidedEvents.length)
    expect(places(of('achievement'))).toEqual(dated(data.achievements).sort())
    const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id).sort()
    expect(idsOf(of('notification'))).toEqual(idsOf(data.notifications))
    expect(of('level_changed')).toHaveLength(data.awards.filter(({ level }) => level !== null).length)
    const dates = data.changes.flatMap(({ fields, date }) => (fields.length === 0 ? [] : [date]))
    expect(of('change').map(({ at }) => at)).toEqual(dates.toReversed())
    const streaks = [...data.events, ...data.voidedEvents, ...data.changes].flatMap(({ streak }) => streak)
    expect(of('streak')).toHaveLength(streaks.length + data.streak.past.length)
    expect(of('streak').filter(({ change }) => change === 'lost')).toMatchObject(
      data.streak.past.toReversed().map(({ length, lost }) => ({ length, at: lost })),
    )
    // The story has every type of entry.
    const kinds = ['started', 'extended', 'lost', 'freeze_earned', 'freeze_consumed', 'paused']
    const types = ['event', 'award', 'level_changed', 'achievement', 'notification', 'change', 'void']
    types.push('adjustment')
    const wanted = [...types, ...[...kinds, 'pause_deleted', 'restored'].map((kind) => `streak ${kind}`)]
    expect(wanted.filter((one) => !said(all).includes(one))).toEqual([])

    // Newest first, each entry once.
    const moments = all.map(({ at }) => at ?? '')
    expect(moments).toEqual(moments.toSorted().toReversed())
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    for (const limit of casesOf(2, ['1', '7', '2'])) expect(await whole({ limit })).toEqual(all)
    expect((await page('/users/ada/timeline')).entries).toEqual(all.slice(0, 10))
  })

  it('[X2] selects types, one page after another', async () => {
    await story()
    const all = await whole()
    const sets = ['event', 'award', 'level_changed', 'streak', 'change,notification', 'achievement, streak']
    sets.push('adjustment', 'void', 'void,level_changed', 'adjustment,change')
    for (const types of sets) {
      const names = types.split(',').map((one) => one.trim())
      const expected = all.filter(({ type }) => names.includes(type))
      for (const limit of casesOf(2, ['3', '100', '1'])) {
        expect([types, limit, await whole({ types, limit })]).toEqual([types, limit, expected])
      }
    }
  })

  it('[X2] says what happened, with the moment of each midnight', async () => {
    await story()
    const all = await whole()
    const first = (type: string, more: object = {}) =>
      all.findLast(
        (one) => one.type === type && Object.entries(more).every(([key, value]) => one[key] === value),
      )
    const midnight = (days: number) => new Date(Math.floor(NOON / DAY) * DAY + days * DAY).toISOString()
    expect(first('event')).toMatchObject({
      ...{ metricKey: 'words', value: 1, attributes: {}, localDate: dateAt(NOON), utcOffsetMinutes: 0 },
    })
    expect(first('award', { systemKey: 'xp' })).toMatchObject({
      ...{ awarded: 4, total: 4, trigger: { type: 'metric', points: 2 }, boosts: [{ multiplier: 2 }] },
    })
    expect(first('level_changed')).toMatchObject({
      ...{ systemKey: 'xp', before: null, after: { key: 'low', points: 5 } },
    })
    expect(first('achievement')).toMatchObject({ achievementKey: 'writer', achievementName: 'Writer' })
    expect(first('notification')).toMatchObject({
      ...{ channel: 'email', notification: 'achievement_completed', title: 'Well done' },
      status: 'unsent: no provider',
    })
    expect(first('change')).toMatchObject({
      fields: { name: { before: null, after: 'Ada' }, email: { before: null, after: 'ada@example.com' } },
    })
    const completion = { completionId: expect.any(String), achievedAt: expect.any(String) }
    expect(all.filter(({ type }) => type === 'change').slice(0, -1)).toMatchObject([
      { fields: { 'achievements.reader': { before: completion, after: null } } },
      { fields: { name: { before: 'Ada', after: 'Ada L.' } } },
      { fields: { 'preferences.notifications.recap': { before: null, after: ['push'] } } },
      { fields: { 'attributes.plan': { before: null, after: 'pro' } } },
    ])
    const xp = { systemKey: 'xp', reverses: null }
    const gift = first('adjustment', { reason: null, reverses: null })
    expect(gift).toMatchObject({ ...xp, awarded: 8, total: 8 })
    expect(first('adjustment', { reason: 'Cheated' })).toMatchObject({ ...xp, total: 0 })
    const voided = { at: new Date(NOON + 6 * DAY).toISOString(), metricKey: 'words', value: 1 }
    expect(first('void')).toMatchObject({
      ...voided,
      ...{ reason: 'Sent twice', eventId: first('event')?.id },
      reversals: [
        { systemKey: 'xp', awarded: -4 },
        { systemKey: 'gems', awarded: -1 },
      ],
    })
    expect(first('event')).toMatchObject({ voided: voided.at })
    const pause = { start: dateAt(NOON + 8 * DAY), end: dateAt(NOON + 9 * DAY) }
    const period = { started: dateAt(NOON), lastPeriod: dateAt(NOON + 3 * DAY) }
    for (const [change, told] of Object.entries({
      started: { length: 1, at: new Date(NOON).toISOString() },
      extended: { length: 2 },
      freeze_earned: { earned: 1, freezes: 1 },
      freeze_consumed: { freezes: 0, at: midnight(3) },
      lost: { length: 2, at: midnight(5), ...period },
      restored: { length: 2 },
      paused: { pause },
      pause_deleted: { pause },
    }))
      expect(first('streak', { change }), change).toMatchObject(told)
  })

  // It counts the rows of the only database.
  it.skipIf(databases().length > 1)(
    '[X2] writes a row for a change of the profile, and none for other events',
    async () => {
      await tenant.metric('words')
      const rows = async () => {
        const changes = `SELECT c.at FROM users u JOIN user_changes c ON c.user_iid = ${bytes('u.iid')}
          WHERE u.tenant_id = ?1`
        return (await rowsEverywhere(changes, tenant.id)).length
      }
      const written = async (user: string | Record<string, unknown>) => {
        const { DB, seen } = faulty(({ run }) => run())
        const through = tenant.through(newApp({ DB }))
        expect((await through.event('words', user, 1)).status).toBe(201)
        return seen.rowsWritten
      }
      await words(1)
      expect(await rows()).toBe(0)
      const plain = await written('ada')
      expect(await written({ id: 'ada', name: 'Ada' })).toBe(plain + 1)
      expect(await rows()).toBe(1)
      // The same name again changes nothing.
      expect(await written({ id: 'ada', name: 'Ada' })).toBe(plain)
    },
  )

  it('[X2] puts losses whose moment is not known at the end', async () => {
    await tenant.metric('words')
    for (const days of [0, 1, 4, 8]) {
      await moveTo(NOON + days * DAY)
      await words(1)
    }
    const lost = { types: 'streak' }
    expect(said(await whole(lost)).filter((one) => one === 'streak lost')).toHaveLength(2)
    const ofTenant = 'user_iid IN (SELECT iid FROM users WHERE tenant_id = ?1)'
    await rowsEverywhere(`UPDATE streak_runs SET lost = NULL WHERE ${ofTenant}`, tenant.id)
    const all = await whole()
    expect(all.slice(-2)).toMatchObject([
      { change: 'lost', at: null, length: 1, started: dateAt(NOON + 4 * DAY) },
      { change: 'lost', at: null, length: 2, started: dateAt(NOON) },
    ])
    expect(await whole({ limit: '1' })).toEqual(all)
  })

  it('[X2] lists each entry once and in order, also if rows without the wanted types are in between', async () => {
    const metric = await tenant.metric('words')
    await words(1, { id: 'ada', name: 'Ada' })
    await manyEvents(tenant, { metric, count: 1_200, after: NOON })
    await moveTo(NOON + DAY)
    await words(1, { id: 'ada', name: 'Ada L.' })
    const types = 'change,streak'
    const expected = ['streak extended', 'change', 'streak started', 'change']
    for (const limit of ['1', '100']) expect(said(await whole({ types, limit }))).toEqual(expected)
  })

  // It counts the rows of the only database.
  it.skipIf(databases().length > 1)(
    '[X2] reads in proportion to the page, also of a user with 100,000 events',
    async () => {
      const metric = await tenant.metric('words')
      const trigger = { type: 'metric', metricId: metric, metricThreshold: 1, points: 1, status: 'active' }
      const system = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
      await words(1)
      await manyEvents(tenant, { metric, count: 100_000, after: 0 })
      await manyAwards(tenant, { system, count: 100_000, after: 0 })
      const read = async (path: string) => {
        const { DB, seen } = faulty(({ run }) => run())
        const found = await page(path, tenant.through(newApp({ DB })))
        return { ...found, rowsRead: seen.rowsRead }
      }
      const first = await read('/users/ada/timeline?limit=20')
      expect(first.entries).toHaveLength(20)
      const second = await read(first.next ?? '')
      expect(second.entries).toHaveLength(20)
      const sparse = await read('/users/ada/timeline?limit=20&types=level_changed')
      // Each row is found once to see where the page ends, and read once. Ids of resources are rows, too.
      expect(Math.max(first.rowsRead, second.rowsRead)).toBeLessThan(600)
      expect(sparse.rowsRead).toBeLessThan(2_500)
      expect(sparse.entries).toEqual([])
      expect(sparse.next).not.toBeNull()
    },
  )

  it('[X2, G3] refuses unknown types, bad limits and cursors, and unknown users', async () => {
    await tenant.metric('words')
    await words(1)
    const status = async (path: string) => (await tenant.admin('GET', path)).status
    expect(await status('/users/bob/timeline')).toBe(404)
    const types = ['types=none', 'types=event,', 'types=event&types=award']
    for (const query of [...types, 'limit=0', 'limit=101', 'after=x'])
      expect(await status(`/users/ada/timeline?${query}`), query).toBe(422)
    const { body } = await tenant.admin('GET', '/users/ada/timeline?types=none')
    expect(at(body, 'error')).toContain('level_changed')
  })
})
