import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { distributionsJob } from '../../src/features/analytics/wrapped/distributions'
import { type DueWork, workOf } from '../../src/time/due-work.sql.ts'
import { bytes, number } from '../helpers/readable'
import { casesOf, runs } from '../helpers/runs'
import { contextOf, whenBy } from '../helpers/worker/contexts'
import { newTenant } from '../helpers/worker/harness'

const DAY = 86_400_000
/** A year that is over. It begins on a Monday, and ends on a Tuesday. */
const YEAR = 2024
const dateOf = (at: number, utcOffset: number) => new Date(at + utcOffset * 60_000).toISOString().slice(0, 10)

/**
 * One change of a user: an event's metric or an award's system, the time, its UTC offset in minutes, and the
 * amount.
 */
type Doing = { user: number; subject: string; at: number; utcOffset: number; amount: number }

/** A tenant with a number of users, their events and awards, and distributions of the year that are due. */
async function setup(
  users: number,
  events: readonly Doing[],
  awards: readonly Doing[] = [],
): Promise<string> {
  const { id } = await newTenant()
  const rows = Array.from({ length: users }, (_, user) => [`user-${user}`, crypto.randomUUID()])
  const log = (list: readonly Doing[]) =>
    JSON.stringify(
      list.map(({ user, subject, at, amount, utcOffset }, seq) => {
        return [rows[user]?.[1], subject, at, seq, amount, utcOffset]
      }),
    )
  const from = 'FROM json_each(?1)'
  await env.DB.batch([
    // All tests share these metrics and systems. Their tenant does not matter here.
    env.DB.prepare(
      `INSERT OR IGNORE INTO metrics (id, tenant_id, created, updated, key, name, unit_type, units)
       SELECT DISTINCT value ->> 1, 'any', 0, 0, value ->> 1, '', 'number', '' ${from}`,
    ).bind(log(events)),
    env.DB.prepare(
      `INSERT OR IGNORE INTO points_systems (id, tenant_id, created, updated, key, name, description)
       SELECT DISTINCT value ->> 1, 'any', 0, 0, value ->> 1, '', '' ${from}`,
    ).bind(log(awards)),
    env.DB.prepare(
      `INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
        updated, metrics, points, counters)
       SELECT ?2, value ->> 0, value ->> 1, 100, 0, 0, '{}', 0, 0, 0, '[]', '{}', '[]' ${from}`,
    ).bind(JSON.stringify(rows), id),
    env.DB.prepare(
      `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
       SELECT ${bytes('value ->> 0')}, ${number('metrics', 'value ->> 1')}, value ->> 2, value ->> 3, x'00',
         value ->> 4, value ->> 5 ${from}`,
    ).bind(log(events)),
    env.DB.prepare(
      `INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset, trigger_no,
        trigger_version)
       SELECT ${bytes('value ->> 0')}, ${number('points_systems', 'value ->> 1')}, value ->> 2, value ->> 3,
         0, x'00', value ->> 4, 0,
         value ->> 5, 1, 0 ${from}`,
    ).bind(log(awards)),
    env.DB.prepare(
      "INSERT INTO due_work (tenant_id, kind, subject, due_at) VALUES (?1, 'distributions', ?2, 0)",
    ).bind(id, String(YEAR)),
  ])
  return id
}

/** Builds the distributions, each step several times. Returns the number of steps. */
async function build(tenantId: string): Promise<number> {
  for (let steps = 0; ; steps += 1) {
    const work = await workOf(contextOf(tenantId).db, 'distributions')
    if (work === undefined) return steps
    const step = (one: DueWork) => distributionsJob.run(contextOf(tenantId), one, whenBy())
    await Promise.all([step(work), step(work)])
    await step(work)
  }
}

const Document = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.object({ users: z.number(), distribution: z.array(z.tuple([z.number(), z.number()])) }))

/** The stored distributions, by period and subject. */
async function distributions(tenantId: string) {
  const named = `SELECT period || ' ' || subject AS name, document FROM change_distributions
    WHERE tenant_id = ?1 AND subject <> ''`
  const { results } = await env.DB.prepare(named).bind(tenantId).all()
  const rows = z.array(z.object({ name: z.string(), document: Document })).parse(results)
  return new Map(rows.map(({ name, document }) => [name, document]))
}

/** The periods of the year that a date is in, named by their first days. */
function periodsOf(date: string): string[] {
  const day = new Date(`${date}T00:00:00Z`)
  const monday = new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY).toISOString().slice(0, 10)
  const week = monday < `${YEAR}-01-01` ? `${YEAR}-01-01` : monday
  const names = [`week ${week}`, `month ${date.slice(0, 7)}-01`, `year ${YEAR}-01-01`]
  return names.map((name) => `${YEAR} ${name}`)
}

/** A short form of R2: all active users of a period, by their changes in a subject. */
function counted(events: readonly Doing[], awards: readonly Doing[]) {
  const active = new Map<string, Set<number>>()
  const changes = new Map<string, Map<number, number>>()
  const each = (list: readonly Doing[], tell: (period: string, one: Doing) => void) => {
    for (const one of list) {
      const date = dateOf(one.at, one.utcOffset)
      if (date.startsWith(`${YEAR}`)) for (const period of periodsOf(date)) tell(period, one)
    }
  }
  each(events, (period, { user }) => active.set(period, (active.get(period) ?? new Set()).add(user)))
  for (const list of [events, awards])
    each(list, (period, { subject, user, amount }) => {
      if (!active.get(period)?.has(user)) return
      const name = `${period} ${subject}`
      const users = changes.get(name) ?? new Map<number, number>()
      changes.set(name, users.set(user, (users.get(user) ?? 0) + amount))
    })
  return new Map(
    [...changes].map(([name, users]) => {
      const there = active.get(name.slice(0, name.lastIndexOf(' '))) ?? []
      const all = [...there].map((user) => users.get(user) ?? 0)
      const distribution = [...new Set(all)]
        .sort((a, b) => a - b)
        .map((change) => [change, all.filter((one) => one < change).length])
      return [name, { users: all.length, distribution }]
    }),
  )
}

/** Pseudo-random numbers from a seed. */
function random(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('[R2] the distributions of a year', () => {
  it.each(casesOf(1, [1, 2, 3]))(
    '[R2] they equal a count over all users, and each step has effect once (seed %i)',
    async (seed) => {
      const any = random(seed)
      const doing = (subjects: readonly string[]): Doing => ({
        user: any(1_100),
        subject: subjects[any(subjects.length)] ?? '',
        // Also around the borders of the year, and of days.
        at:
          Date.UTC(YEAR, 0, 1) +
          (any(4) === 0 ? any(3) * 183 * DAY + (any(49) - 24) * 3_600_000 : any(400) * DAY),
        utcOffset: (any(105) - 48) * 15,
        amount: any(9) - 3,
      })
      const events = Array.from({ length: 3_000 }, () => doing(['m', 'n', 'o']))
      const awards = Array.from({ length: 2_000 }, () => doing(['x', 'y']))
      const tenant = await setup(1_100, events, awards)
      expect(await build(tenant)).toBe(5)
      expect(await distributions(tenant)).toEqual(counted(events, awards))
    },
  )

  it('[R2] without users, or without activity in that year, only a record of the build is left', async () => {
    const tenant = await setup(0, [])
    expect(await build(tenant)).toBe(1)
    const left = env.DB.prepare('SELECT period, subject FROM change_distributions WHERE tenant_id = ?1')
    const { results } = await left.bind(tenant).all()
    expect(results).toEqual([{ period: '2024 built', subject: '' }])
  })

  it('[R2] with very many different changes, neighbours count as one, which misplaces few users', async () => {
    const users = runs(6_000, 12_000)
    const events = Array.from({ length: users }, (_, user) => ({
      ...{ user, subject: 'm', at: Date.UTC(YEAR, 5, 1), utcOffset: 0 },
      // Each user has another amount, in no order of the users.
      amount: ((user * 7_919) % users) ** 2,
    }))
    const tenant = await setup(users, events)
    expect(await build(tenant)).toBe(runs(21, 41))
    const found = (await distributions(tenant)).get(`${YEAR} year ${YEAR}-01-01 m`)
    expect(found?.users).toBe(users)
    expect(found?.distribution.length).toBeGreaterThan(2_000)
    expect(found?.distribution.length).toBeLessThanOrEqual(5_000)
    const errors = found?.distribution.map(([change, less]) => Math.abs(Math.sqrt(change) - less) / users)
    expect(Math.max(...(errors ?? []))).toBeLessThan(0.01)
  })
})
