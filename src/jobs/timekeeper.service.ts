import { readTestClock } from '../access/clock.repository'
import { type Instant, instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { within } from '../lib/timeout'
import { MINUTE } from '../lib/units'
import type { Context, Scope } from '../runtime/context'
import type { DueKind } from './due-kinds.types'
import { tenantsWithDueWork } from './due-work.repository'
import type { Jobs } from './job.types'

/** Steps that a change of the configuration has done at once (L3), and how long it waits for them, in milliseconds. */
const STEPS_AT_ONCE = 20
const PATIENCE = 5_000
/** Steps that are done at once of the erasure of a tenant. */
const STEPS_OF_PURGE = 40
/** How far ahead the cron trigger looks, in milliseconds: it comes every five minutes, and an alarm may have been lost (C2). */
const AHEAD = 5 * MINUTE
/** Timekeepers that are called at once. */
const GROUP = 20

const timekeeperOf = ({ env }: Pick<Context, 'env'>, tenantId: string) => env.TIMEKEEPER.getByName(tenantId)

/**
 * Has the tenant's Timekeeper look at what is due, do a part of what is due by now, and see to the rest by alarm. Never throws, and
 * waits some seconds at most: what is due stands in D1, and the cron trigger finds it.
 */
export async function wakeTimekeeper(scope: Scope): Promise<void> {
  const { id } = scope.tenant
  await callTimekeeper(id, within(PATIENCE, timekeeperOf(scope, id).wake(id, STEPS_AT_ONCE)))
}

/** Has the Timekeeper of a tenant that is erased do the first steps of that, and see to the rest by alarm. Never throws, and waits some seconds at most. */
export async function wakeForPurge(context: Pick<Context, 'env'>, tenantId: string): Promise<void> {
  await callTimekeeper(
    tenantId,
    within(PATIENCE, timekeeperOf(context, tenantId).purge(tenantId, STEPS_OF_PURGE)),
  )
}

/** Has the tenant's Timekeeper set its alarm by what is due first. Never throws: the cron trigger does the same (C2). */
export function ensureAlarm(context: Pick<Context, 'env'>, tenantId: string): Promise<void> {
  return callTimekeeper(tenantId, timekeeperOf(context, tenantId).wake(tenantId, 0))
}

async function callTimekeeper(tenantId: string, waking: Promise<void>): Promise<void> {
  try {
    await waking
  } catch (error) {
    console.warn(JSON.stringify({ level: 'warn', tenantId, error: `not woken: ${String(error)}` }))
  }
}

/** Has the tenant's Timekeeper do all work of a kind that is due by a moment, and waits for it. */
export async function catchUpKind(scope: Scope, kind: DueKind, to: Instant): Promise<void> {
  await timekeeperOf(scope, scope.tenant.id).catchUpKind(scope.tenant.id, kind, to)
}

/**
 * Does everything that falls due while the test clock is moved from a moment to another, of all tenants, and has all told that is in their outboxes
 * (C1). Throws what kept one from it.
 */
export async function catchUpAll(context: Context, jobs: Jobs, from: Instant, to: Instant): Promise<void> {
  const results = await ofEachTenant(context, jobs, to, (tenantId) =>
    timekeeperOf(context, tenantId).catchUp(tenantId, from, to),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Wakes the Timekeepers that have, or will soon have, something to do: what the cron trigger does (C2). Their alarms do it. */
export async function wakeAll(context: Context, jobs: Jobs): Promise<void> {
  const now = (await readTestClock(context.db)) ?? systemNow()
  await ofEachTenant(context, jobs, instant(now + AHEAD), (tenantId) => ensureAlarm(context, tenantId))
}

/** Does something for each tenant who has something due by a moment, some of them at once. */
async function ofEachTenant(
  context: Context,
  { list }: Jobs,
  by: Instant,
  work: (tenantId: string) => Promise<void>,
): Promise<PromiseSettledResult<void>[]> {
  const tenantIds = await tenantsWithDueWork(context.db, list, by)
  const results: PromiseSettledResult<void>[] = []
  for (let from = 0; from < tenantIds.length; from += GROUP) {
    results.push(...(await Promise.allSettled(tenantIds.slice(from, from + GROUP).map(work))))
  }
  return results
}
