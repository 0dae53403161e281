import { env } from 'cloudflare:workers'
import type * as z from 'zod'
import { newInstance } from '../../../src/configuration/configuration'
import { type Instant, instant } from '../../../src/lib/clock'
import { systemNow } from '../../../src/lib/system-clock'
import { type Context, newContext, type TenantContext } from '../../../src/platform/context'
import type { Bindings } from '../../../src/platform/env'
import { type DueWork, readProgress, Work } from '../../../src/time/due-work.sql.ts'
import type { When, Workplace } from '../../../src/time/job'
import { nextWork, workOff, workplacesOf } from '../../../src/time/run'
import { JOBS } from '../../../src/worker/jobs'
import { lastDatabase, type TestTenant } from './harness'

/** The context of work on the whole account, in an isolate without memory. */
export const contextOfAccount = (bindings: Partial<Bindings> = {}): Context =>
  newContext(newInstance(), { ...env, ...bindings }, () => undefined)

/** The context of a tenant's background work, in an isolate without cached data. */
export const contextOf = (tenantId: string, DB: D1Database = env.DB): TenantContext =>
  contextWith(tenantId, { DB })

/** The same with other bindings, such as all databases `behind` a fault. */
export function contextWith(tenantId: string, bindings: Partial<Bindings>): TenantContext {
  const context = contextOfAccount(bindings)
  return { ...context, db: context.db.of(tenantId) }
}

/**
 * The same for work on users who are all in the last database (`newTenantInLast`). `d1` replaces that
 * database.
 */
export function contextOfUsers(tenantId: string, d1: D1Database = lastDatabase().d1): TenantContext {
  return ofUsers(contextWith(tenantId, { [lastDatabase().name]: d1 }))
}

/** The same context for work on users, who are all in the last database. */
export const ofUsers = (context: TenantContext): TenantContext => ({
  ...context,
  db: context.databases.usersOf(context.db.tenantId).of(''),
})

/** All databases in which a tenant may have due work. `bindings` replace others. */
export function everyPlace(tenantId: string, bindings: Partial<Bindings> = {}): Promise<Workplace[]> {
  const context = contextOfAccount(bindings)
  return workplacesOf(context, tenantId, JOBS)
}

/** Does a tenant's work that is due by a moment, in all its databases. `bindings` replace others. */
export async function workUntil(
  { id }: Pick<TestTenant, 'id'>,
  to: number,
  { bindings = {}, ...more }: Partial<Parameters<typeof workOff>[2]> & { bindings?: Partial<Bindings> } = {},
): Promise<void> {
  const run = { to: instant(to), steps: 100, mustAll: true, grace: { first: 0, finals: 0 }, ...more }
  await workOff(JOBS, await everyPlace(id, bindings), run)
}

/** The only database with due work, in tests with one database. */
export const placesOf = (context: TenantContext): Workplace[] => [{ context, list: JOBS.list }]

/** The work that is due first, of a tenant in one database. */
export const worksOf = async (context: TenantContext): Promise<DueWork[]> =>
  (await nextWork(placesOf(context), JOBS, true)).found.map(({ work }) => work)

/** The times of a step that does what is due by a moment under a test clock. */
export const whenBy = (until: Instant = systemNow()): When => ({
  until,
  by: until,
  next: null,
  grace: 0,
  mustAll: true,
  isClockSet: true,
})

/** Work as its job sees it. `progress` is the schema of the job. */
export const workWith = <P>({ db }: TenantContext, row: DueWork, progress: z.ZodType<P>): Work<P> =>
  new Work(db, row, readProgress(progress, row.progress))
