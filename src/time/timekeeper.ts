import { readTestClock } from '../access/clock.sql.ts'
import { type Instant, instant, MINUTE } from '../lib/clock'
import { systemNow, within } from '../lib/system-clock'
import type { Context, Scope } from '../platform/context'
import type { WakeMover } from '../platform/databases/databases'
import { type Bindings, variables } from '../platform/env'
import { logProblem } from '../platform/log'
import type { DueKind, WorkKind } from './due-work.sql.ts'
import type { Jobs } from './job'
import { tenantsWithDueWork } from './timekeeper.sql.ts'

/** Steps of work that a change of the configuration starts at once (L3), and its wait for them, in ms. */
const STEPS_AT_ONCE = 20
const PATIENCE = 5_000
const STEPS_OF_PURGE = 40
/** Between two cron runs, in ms, as in wrangler.toml. Each looks that far ahead: alarms may be lost (C2). */
const CRON_INTERVAL = 5 * MINUTE
const GROUP = 20

const timekeeperOf = ({ env }: Pick<Context, 'env'>, tenantId: string) => env.TIMEKEEPER.getByName(tenantId)

/**
 * Wakes the tenant's Timekeeper: it does a part of the work that is due by now, and sets an alarm for the
 * rest. Never throws, and waits some seconds at most: due work is stored in D1, and the cron trigger finds
 * it.
 */
export async function wakeTimekeeper(scope: Scope): Promise<void> {
  const { id } = scope.tenant
  await callTimekeeper(id, within(PATIENCE, timekeeperOf(scope, id).wake(id, STEPS_AT_ONCE)))
}

/** The same for a tenant that is being erased: it does the first steps of that. */
export async function wakeForPurge(context: Pick<Context, 'env'>, tenantId: string): Promise<void> {
  await callTimekeeper(
    tenantId,
    within(PATIENCE, timekeeperOf(context, tenantId).purge(tenantId, STEPS_OF_PURGE)),
  )
}

/** Makes the Timekeeper set its alarm for the first due work. Never throws: cron does the same (C2). */
export function ensureAlarm(context: Pick<Context, 'env'>, tenantId: string): Promise<void> {
  return callTimekeeper(tenantId, timekeeperOf(context, tenantId).wake(tenantId, 0))
}

/** Wakes the mover of users (B3) for a request: it waits, or the only tenant was never spread. */
export const wakeMoverOf =
  (env: Bindings, waitUntil: Context['waitUntil']): WakeMover =>
  (tenantId, why) => {
    // One of several tenants stays whole until it is asked to be spread.
    if (why === 'unspread' && variables(env).MULTI_TENANCY === 'on') return
    waitUntil(callTimekeeper(tenantId, timekeeperOf({ env }, tenantId).wake(tenantId, 1)))
  }

async function callTimekeeper(tenantId: string, waking: Promise<void>): Promise<void> {
  try {
    await waking
  } catch (error) {
    logProblem('warn', { tenant: tenantId, error: `the Timekeeper was not woken: ${String(error)}` })
  }
}

/** Makes the tenant's Timekeeper do all work of a kind that is due by a moment, and waits for it. */
export async function catchUpKind(scope: Scope, kind: DueKind, to: Instant): Promise<void> {
  await timekeeperOf(scope, scope.tenant.id).catchUpKind(scope.tenant.id, kind, to)
}

/**
 * Does all work of all tenants that is due while the test clock moves from one moment to another, and sends
 * all messages in their outboxes (C1). Throws if this fails for a tenant.
 */
export async function catchUpAll(context: Context, jobs: Jobs, from: Instant, to: Instant): Promise<void> {
  const results = await ofEachTenant(context, jobs, to, (tenantId) =>
    timekeeperOf(context, tenantId).catchUp(tenantId, from, to),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Wakes the Timekeepers with work now or soon, for the cron trigger (C2). Their alarms do the work. */
export async function wakeAll(context: Context, jobs: Jobs): Promise<void> {
  const now = (await readTestClock(context.db)) ?? systemNow()
  await ofEachTenant(
    context,
    jobs,
    instant(now + CRON_INTERVAL),
    (tenantId) => ensureAlarm(context, tenantId),
    await jobs.moves.tenants(context),
  )
}

/**
 * The tenants with work that is due by a moment, each with the time at which the first of it was due. Databases
 * that can't be reached are left out; throws if that is the first one.
 */
export async function dueTenants(
  { databases }: Pick<Context, 'databases'>,
  kinds: readonly WorkKind[],
  by: Instant,
): Promise<ReadonlyMap<string, Instant>> {
  const answers = await Promise.allSettled(
    databases.names.map((name) => tenantsWithDueWork(databases.named(name), kinds, by)),
  )
  const [first] = answers
  if (first?.status === 'rejected') throw first.reason
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  // Of several databases, the first due time counts.
  const latestFirst = found.toSorted((a, b) => b.dueAt - a.dueAt)
  return new Map(latestFirst.map(({ tenantId, dueAt }) => [tenantId, dueAt]))
}

/** Calls `work` for each tenant with work that is due by a moment, and for `more`, for several at once. */
async function ofEachTenant(
  context: Context,
  { list, moves }: Jobs,
  by: Instant,
  work: (tenantId: string) => Promise<void>,
  more: readonly string[] = [],
): Promise<PromiseSettledResult<void>[]> {
  const due = await dueTenants(context, [...list, moves.work], by)
  const tenantIds = [...new Set([...due.keys(), ...more])]
  const results: PromiseSettledResult<void>[] = []
  for (let from = 0; from < tenantIds.length; from += GROUP) {
    results.push(...(await Promise.allSettled(tenantIds.slice(from, from + GROUP).map(work))))
  }
  return results
}
