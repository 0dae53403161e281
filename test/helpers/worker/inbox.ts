import { expect } from 'vitest'
import * as z from 'zod'
import { inboxStep } from '../../../src/features/events/batches/process'
import { systemNow } from '../../../src/lib/system-clock'
import type { Bindings } from '../../../src/platform/env'
import type { DueWork } from '../../../src/time/due-work.sql.ts'
import { PATIENCE } from '../patience'
import { readable } from '../readable'
import { contextOf, contextWith, worksOf } from './contexts'
import { type Answer, at, newApp, rowsEverywhere, type TestTenant } from './harness'
import { ASLEEP } from './objects'

export const post = (tenant: TestTenant, events: unknown) => tenant.admin('POST', '/metrics/events', events)
export const idOf = ({ headers }: Answer) => String(headers.get('x-batch-id'))
export const read = (tenant: TestTenant, id: string) => tenant.admin('GET', `/metrics/events/batches/${id}`)

/** Sends a valid batch. Returns its id. */
export async function send(tenant: TestTenant, events: readonly unknown[]): Promise<string> {
  const answer = await post(tenant, events)
  expect([answer.status, answer.body]).toEqual([202, { accepted: events.length }])
  return idOf(answer)
}

/** Waits until a batch is done. Returns its counts. */
export async function done(tenant: TestTenant, id: string): Promise<unknown> {
  await expect
    .poll(async () => at((await read(tenant, id)).body, 'status'), { timeout: PATIENCE, interval: 20 })
    .toBe('done')
  const { id: own, status, ...counts } = z.looseObject({}).parse((await read(tenant, id)).body)
  expect([own, status]).toEqual([id, 'done'])
  return counts
}

export const processed = (count: number) => ({ accepted: count, processed: count, dropped: 0, parked: 0 })

/** The tenant through a Worker whose Timekeepers can't be woken, so that its events stay in the inbox. */
export const muted = (tenant: TestTenant, more: Partial<Bindings> = {}) =>
  tenant.through(newApp({ TIMEKEEPER: ASLEEP, ...more }))

export const Rows = z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()])))
export const rowsOf = async ({ id }: TestTenant, sql: string) => Rows.parse(await rowsEverywhere(sql, id))

type Row = z.output<typeof Rows>[number]
/** The rows by user, each user's in the order in which they were read from the user's database. */
export const byId = (rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : String(a.id) > String(b.id) ? 1 : 0))

/** The events of a tenant's log, each user's in order: user, value in units, moment. */
export const logOf = async (tenant: TestTenant) =>
  byId(
    await rowsOf(
      tenant,
      `SELECT u.id, e.value / 1e6 AS value, e.at FROM users u JOIN ${readable.events} e ON e.user_iid = u.iid
     WHERE u.tenant_id = ?1 ORDER BY u.id, e.seq`,
    ),
  )

export const inboxOf = (tenant: TestTenant) =>
  rowsOf(tenant, 'SELECT count, "offset", done FROM inbox WHERE tenant_id = ?1 ORDER BY no')

export const inboxWork = async ({ id }: TestTenant): Promise<DueWork | undefined> =>
  (await worksOf(contextOf(id))).find(({ kind }) => kind === 'inbox')

/** Does one step of a tenant's inbox. Returns the number of users' changes, or -1 if nothing is due. */
export async function step(tenant: TestTenant, bindings: Partial<Bindings> = {}): Promise<number> {
  const work = await inboxWork(tenant)
  if (work === undefined) return -1
  return (await inboxStep(contextWith(tenant.id, bindings), work, systemNow()))?.changes.length ?? 0
}

export const event = (user: string, value: number, more: object = {}) => ({
  key: 'words',
  user: { id: user },
  value,
  ...more,
})
