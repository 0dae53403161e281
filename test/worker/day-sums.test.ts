import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { instant } from '../../src/lib/clock'
import { civilDateOfDay } from '../../src/lib/zone'
import { readDaySums, type Subject } from '../../src/store/day-sums/day-sums.sql'
import { often, step } from '../helpers/arbitraries'
import { bytes, number, numbered, readable } from '../helpers/readable'
import { runs } from '../helpers/runs'
import { present, TODAY } from '../helpers/time'
import { moveUnseen } from '../helpers/worker/boards'
import { contextOfUsers } from '../helpers/worker/contexts'
import { addDueWork, forgetDueWork, makeDueAt } from '../helpers/worker/due-work'
import { intercepted } from '../helpers/worker/faulty'
import { lastDatabase, newApp, newTenantInLast } from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { iidOf } from '../helpers/worker/stored-users'
import { type Entry, plainSums, withoutZeros } from '../oracle/day-sums.oracle'

/** The database of all users. */
const { name: NAME, d1: D1 } = lastDatabase()

const HOUR = 3_600_000
const DAY = 24 * HOUR

const Days = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.tuple([z.number(), z.number()])))
const KeptRows = z.array(z.object({ log: z.string(), through: z.number(), days: Days }))

/** The stored sums of a user. */
async function keptOf(iid: string) {
  const sums = `SELECT log, through, days FROM ${readable.day_sums} WHERE user_iid = ?1 ORDER BY log`
  return KeptRows.parse((await D1.prepare(sums).bind(iid).all()).results)
}

/** A tenant with a metric and a points system, and no triggers. */
async function scene() {
  const tenant = await newTenantInLast()
  const metric = await tenant.metric('words')
  const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  return { tenant, metric, system }
}

/**
 * Puts entries into a user's log and the total into the user's row. The result is the same as if each entry
 * came with its own change.
 */
async function log(
  { tenant, metric, system }: Awaited<ReturnType<typeof scene>>,
  of: Subject['log'],
  iid: string,
  entries: readonly (Entry & { seq: number })[],
  total: number,
): Promise<void> {
  const rows = entries.map(({ seq, at, change, utcOffset }) => [at, seq, change, utcOffset])
  const insert =
    of === 'events'
      ? `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
         SELECT ${bytes('?1')}, ${number('metrics', '?2')}, value ->> 0, value ->> 1,
           ${numbered('value ->> 1')}, value ->> 2, value ->> 3
         FROM json_each(?3)`
      : `INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset,
        trigger_no, trigger_version)
         SELECT ${bytes('?1')}, ${number('points_systems', '?2')}, value ->> 0, value ->> 1, 0,
           ${numbered('value ->> 1')}, value ->> 2, 0,
           value ->> 3, 1, 1 FROM json_each(?3)`
  const [column, value] =
    of === 'events'
      ? ['metrics', JSON.stringify([[metric, total, total]])]
      : ['points', JSON.stringify({ [system]: total })]
  const raise = `UPDATE users SET seq = max(seq, ?3), ${column} = ?4 WHERE tenant_id = ?1 AND iid = ?2`
  await D1.batch([
    D1.prepare(insert).bind(iid, of === 'events' ? metric : system, JSON.stringify(rows)),
    D1.prepare(raise).bind(tenant.id, iid, entries.at(-1)?.seq ?? 0, value),
  ])
}

/** The kinds of work that log entries of the past. */
const LATE = ['ticks', 'inbox', 'anniversaries', 'streaks', 'recount'] as const

describe('[P12] sums of closed days equal a plain sum over the log', () => {
  const offset = fc.integer({ min: -48, max: 56 }).map((quarters) => 15 * quarters)
  const change = fc.integer({ min: -3, max: 5 })
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const steps = fc.oneof(
    often(2, step('pass', { quarters: fc.integer({ min: 1, max: 240 }) })),
    often(4, step('happen', { offset, change, before: fc.nat({ max: 5_000 }) })),
    often(1, step('fall behind', { kind: fc.constantFrom(...LATE) })),
    often(2, step('catch up', { offset, change, share })),
    often(4, step('read', { days: fc.nat({ max: 60 }) })),
  )
  const world = fc.record({
    log: fc.constantFrom('events', 'awards'),
    atOnce: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(steps, { minLength: 5, maxLength: 30 }),
  })

  type World = typeof world extends fc.Arbitrary<infer One> ? One : never
  type Step = World['steps'][number]
  const happen = (offset: number, change: number): Step => ({ do: 'happen', offset, change, before: 0 })
  const pass = (quarters: number): Step => ({ do: 'pass', quarters })
  const catchUp = (offset: number, change: number, share: number): Step => {
    return { do: 'catch up', offset, change, share }
  }
  const read: Step = { do: 'read', days: 30 }
  /**
   * Sums are stored. Then work is overdue while days end, and it logs points after these days were read.
   */
  const late = (kind: (typeof LATE)[number]): World => ({
    log: 'awards',
    atOnce: 1,
    steps: [
      ...[happen(0, 2), happen(0, 3), pass(240), happen(0, 1), pass(240), happen(0, 4), pass(240), read],
      ...[
        { do: 'fall behind', kind } as const,
        pass(240),
        happen(0, 1),
        pass(240),
        read,
        catchUp(-720, 5, 0),
        read,
      ],
      ...[catchUp(840, -2, 1), read, pass(240), read],
    ],
  })
  /**
   * The same moments in the first and the last zone on Earth, with reads every few hours while days end in
   * each zone.
   */
  const ends: World = {
    log: 'events',
    atOnce: 1,
    steps: Array.from({ length: 24 }, () => [pass(11), happen(840, 1), happen(-720, 2), read]).flat(),
  }

  it('with entries in any zone, in time or late, and reads at any time', async () => {
    const set = await scene()
    const { tenant, metric, system } = set
    const warn = vi.spyOn(console, 'warn')
    let users = 0
    await fc.assert(
      fc.asyncProperty(world, async ({ log: of, atOnce, steps }) => {
        users += 1
        const user = { id: `user-${users}`, iid: crypto.randomUUID() }
        const subject = { log: of, id: of === 'events' ? metric : system }
        await forgetDueWork({ tenant })
        await manyUsers(tenant, 1, { id: `'${user.id}'`, iid: `'${user.iid}'`, seq: '0' })
        let now = (TODAY - 200) * DAY
        const entries: (Entry & { seq: number })[] = []
        const add = (entry: Entry) => {
          entries.push({ ...entry, seq: entries.length + 1 })
          const total = entries.reduce((sum, one) => sum + one.change, 0)
          return log(set, of, user.iid, entries.slice(-1), total)
        }
        /** The time from which due work is not done; null if all is done. */
        let late: number | null = null
        const seen: Awaited<ReturnType<typeof keptOf>> = []
        for (const one of steps) {
          if (one.do === 'pass') now += one.quarters * 15 * 60_000
          if (one.do === 'happen')
            await add({ at: now - one.before, utcOffset: one.offset, change: one.change })
          if (one.do === 'fall behind' && late === null) {
            late = now
            await addDueWork(tenant, one.kind, { dueAt: now, d1: D1 })
          }
          if (one.do === 'catch up' && late !== null) {
            late = Math.floor(late + one.share * (now - late))
            await add({ at: late, utcOffset: one.offset, change: one.change })
            const isAllDone = one.share > 0.9
            if (isAllDone) await forgetDueWork({ tenant })
            else await makeDueAt({ tenant }, late)
            if (isAllDone) late = null
          }
          if (one.do !== 'read') continue
          const first = Math.floor(now / DAY) - one.days
          const dates = { startDate: civilDateOfDay(first), endDate: civilDateOfDay(first + 1) }
          const range = { aggregation: 'daily' as const, ...dates }
          const scope = { ...contextOfUsers(tenant.id), now: instant(now) }
          const found = await readDaySums(scope, user, subject, range, { atOnce, part: 3 })
          const from = <T>(sums: ReadonlyMap<number, T>) => [...sums].filter(([day]) => day >= first)
          const days = withoutZeros(new Map(found.days.map(({ day, change }) => [day, change])))
          expect(from(days)).toEqual(from(plainSums(entries)))
          // The stored sums are correct, so the log is not read again.
          expect(warn.mock.calls).toEqual([])
          expect(found.total).toBe(entries.reduce((sum, { change }) => sum + change, 0))
          seen.push(...(await keptOf(user.iid)))
        }
        // A stored day never gets another entry.
        const all = plainSums(entries)
        for (const { through, days } of seen) {
          expect([...withoutZeros(new Map(days))]).toEqual([...all].filter(([day]) => day <= through))
        }
      }),
      { numRuns: runs(10, 50), examples: [...LATE.map((kind): [World] => [late(kind)]), [ends]] },
    )
  })
})

/** D1 with counters of its rows. */
function counting() {
  const seen = { read: 0, written: 0, statements: 0 }
  const DB = intercepted(D1, async ({ run }) => {
    const results = await run()
    for (const { meta } of results) {
      seen.read += meta.rows_read
      seen.written += meta.rows_written
      seen.statements = Math.max(seen.statements, meta.rows_read)
    }
    return results
  })
  const cost = async <T>(work: () => Promise<T>) => {
    Object.assign(seen, { read: 0, written: 0, statements: 0 })
    const result = await work()
    return { result, ...seen }
  }
  return { DB, cost }
}

const date = (day: number) => civilDateOfDay(day)
const summaryPath = (of: 'metrics/words' | 'points/xp', from: number, to: number) =>
  `/users/ada/${of}/event-summary?aggregation=daily&startDate=${date(from)}&endDate=${date(to)}`

/** The expected event summary, from all entries. */
function plainSummary(entries: readonly Entry[], from: number, to: number) {
  const sums = plainSums(entries)
  return Array.from({ length: to - from + 1 }, (_, n) => {
    const day = from + n
    const total = [...sums].reduce((sum, [one, change]) => (one <= day ? sum + change : sum), 0)
    return { date: date(day), total, change: sums.get(day) ?? 0 }
  })
}

/**
 * A user with `perDay` events or awards on each of `days` days up to the day before yesterday, and one of
 * now.
 */
async function busy(of: Subject['log'], perDay: number, days: number) {
  const set = await scene()
  await set.tenant.app('PUT', '/users/ada', {})
  const iid = await iidOf(set.tenant)
  const old = Array.from({ length: perDay * days }, (_, n) => ({
    at: (TODAY - 2 - Math.floor(n / perDay)) * DAY + (n % perDay) * 1_000,
    utcOffset: 0,
    change: of === 'events' ? 2_000_000 : 2,
  })).sort((a, b) => a.at - b.at)
  const entries = [...old, { at: present(), utcOffset: 0, change: of === 'events' ? 1_000_000 : 1 }]
  const ordered = entries.map((entry, n) => ({ ...entry, seq: n + 2 }))
  const total = entries.reduce((sum, { change }) => sum + change, 0)
  await log(set, of, iid, ordered, total)
  const unit = of === 'events' ? 1_000_000 : 1
  const shown = entries.map((entry) => ({ ...entry, change: entry.change / unit }))
  return { ...set, iid, entries: shown, path: of === 'events' ? 'metrics/words' : 'points/xp' } as const
}

describe('[P12] an event summary of a long log', () => {
  it.each(['events', 'awards'] as const)(
    'of %s: the first call stores sums of closed days in one row, the second reads only later entries',
    async (of) => {
      const { tenant, iid, entries, path } = await busy(of, 60, 400)
      const { DB, cost } = counting()
      const own = tenant.through(newApp({ [NAME]: DB }))
      const read = async (from: number, to: number) => {
        const { status, body } = await own.app('GET', summaryPath(path, from, to))
        expect([status, body]).toEqual([200, plainSummary(entries, from, to)])
      }
      const first = await cost(() => read(TODAY - 399, TODAY))
      expect(first.written).toBe(1)
      expect(first.read).toBeGreaterThan(24_000)
      // A statement reads at most 5,000 rows of the log. D1 counts them again when it sorts them.
      expect(first.statements).toBeLessThan(2 * 5_000 + 1_000)
      const second = await cost(() => read(TODAY - 399, TODAY))
      expect(second.written).toBe(0)
      expect(second.read).toBeLessThan(600)
      for (const [from, to] of [
        [TODAY - 300, TODAY - 200],
        [TODAY - 900, TODAY - 600],
        [TODAY - 3, TODAY + 3],
      ] as const) {
        const { read: rows, written } = await cost(() => read(from, to))
        expect([written, rows < 600]).toEqual([0, true])
      }
      expect(await keptOf(iid)).toMatchObject([{ log: of, days: expect.any(Array) }])
    },
  )

  it('reads a short log, and the last days of a long one, without sums, and writes nothing', async () => {
    const { tenant, iid, entries, path } = await busy('events', 20, 49)
    const { DB, cost } = counting()
    const own = tenant.through(newApp({ [NAME]: DB }))
    for (const from of [TODAY - 60, TODAY - 10]) {
      const { result, written } = await cost(() => own.app('GET', summaryPath(path, from, TODAY)))
      expect([written, result.body]).toEqual([0, plainSummary(entries, from, TODAY)])
    }
    expect(await keptOf(iid)).toEqual([])
  })

  it('does not change the cost of an event of a user with stored sums', async () => {
    const { tenant } = await busy('events', 60, 20)
    const { DB, cost } = counting()
    const own = tenant.through(newApp({ [NAME]: DB }))
    const event = () => cost(() => own.event('words', 'ada', 1))
    await event()
    const before = await event()
    await own.app('GET', summaryPath('metrics/words', TODAY - 30, TODAY))
    const after = await event()
    expect([after.read, after.written]).toEqual([before.read, before.written])
  })

  it('shares the read between requests at the same time', async () => {
    const { tenant, entries } = await busy('events', 60, 100)
    const { DB, cost } = counting()
    const own = tenant.through(newApp({ [NAME]: DB }))
    const days = Array.from({ length: 10 }, (_, n) => TODAY - 100 - n)
    const ask = (from: number) => own.app('GET', summaryPath('metrics/words', from, TODAY))
    const { result, written, read } = await cost(() => Promise.all(days.map(ask)))
    expect(result.map(({ body }) => body)).toEqual(days.map((from) => plainSummary(entries, from, TODAY)))
    // The first request reads the log. The others share at most one more read, which finds the stored sums.
    expect(written).toBe(1)
    expect(read).toBeLessThan(60_000)
  })

  it('deletes stored sums that do not add up to the total, and reads the log again', async () => {
    const { tenant, iid, entries, path } = await busy('awards', 60, 30)
    const read = async () => (await tenant.app('GET', summaryPath(path, TODAY - 40, TODAY))).body
    await read()
    const right = await keptOf(iid)
    const damage = `UPDATE day_sums SET days = json_remove(days, '$[3]') WHERE user_iid = ${bytes('?1')}`
    await D1.prepare(damage).bind(iid).run()
    expect(await read()).toEqual(plainSummary(entries, TODAY - 40, TODAY))
    expect(await keptOf(iid)).toEqual(right)
  })

  it('[U8] stores nothing of an erased user, also if the erasure comes during the read', async () => {
    const { tenant, iid, path } = await busy('events', 60, 30)
    await tenant.app('GET', summaryPath(path, TODAY - 40, TODAY))
    expect(await keptOf(iid)).toHaveLength(1)
    await tenant.admin('DELETE', '/users/ada')
    expect(await keptOf(iid)).toEqual([])

    const other = await busy('events', 60, 30)
    const reading = Promise.withResolvers<void>()
    const erased = Promise.withResolvers<void>()
    const held = intercepted(D1, async ({ texts, run }) => {
      if (texts.some((sql) => sql.includes('INSERT INTO day_sums'))) {
        reading.resolve()
        await erased.promise
      }
      return run()
    })
    const own = other.tenant.through(newApp({ [NAME]: held }))
    const answer = own.app('GET', summaryPath(path, TODAY - 40, TODAY))
    await reading.promise
    await other.tenant.admin('DELETE', '/users/ada')
    erased.resolve()
    expect((await answer).status).toBe(200)
    expect(await keptOf(other.iid)).toEqual([])
  })
})

describe('[P12] an event summary under a test clock', () => {
  it('is correct with late ticks, in zones at both ends of the Earth, and after a return to real time', async () => {
    const tenant = await newTenantInLast()
    const start = (TODAY + 3) * DAY
    const move = (to: number) => tenant.admin('PUT', '/test-clock', { now: new Date(to).toISOString() })
    await move(start)
    const trigger = { type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1 }
    const system = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
    await tenant.app('PUT', '/users/ada', { tz: 'Pacific/Kiritimati' })
    const seen: Awaited<ReturnType<typeof keptOf>> = []
    const holds = async (now: number) => {
      const awards = `SELECT at, utc_offset AS utcOffset, awarded AS change FROM ${readable.awards}
        WHERE system_id = ?1 AND user_iid = ?2`
      const iid = await iidOf(tenant)
      const { results } = await D1.prepare(awards).bind(system, iid).all<Entry>()
      const today = Math.floor(now / DAY)
      const from = today - 70
      const { body } = await tenant.app('GET', summaryPath('points/xp', from, today + 1))
      expect(body).toEqual(plainSummary(results, from, today + 1))
      seen.push(...(await keptOf(iid)))
      // A stored day never gets another entry.
      const all = [...plainSums(results)]
      for (const { through, days } of seen)
        expect([...withoutZeros(new Map(days))]).toEqual(all.filter(([day]) => day <= through))
      return results.length
    }
    await move(start + 45 * DAY)
    // Time passes without a run of due work. Then the ticks are granted, with their earlier dates.
    await tenant.app('PUT', '/users/ada', { tz: 'Etc/GMT+12' })
    const late = start + 51 * DAY
    await moveUnseen(late)
    expect(await holds(late)).toBe(45 * 24)
    await move(late + HOUR)
    expect(await holds(late + HOUR)).toBe(51 * 24 + 1)
    const kept = async () => (await keptOf(await iidOf(tenant))).length
    expect(await kept()).toBe(1)
    // In real time, these days are in the future.
    await tenant.admin('DELETE', '/test-clock')
    expect(await kept()).toBe(0)
  })
})
