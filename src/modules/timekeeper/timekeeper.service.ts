import type { Context, Scope } from '../../context'
import { type Instant, instant, systemNow } from '../../shared/clock'
import { readTestClock } from '../clock/clock.repository'
import { tenantsWithDueWork } from './timekeeper.repository'

/** Steps that a change of the configuration waits for; the rest is done in the background (L3). */
const STEPS_AT_ONCE = 20
/** How far ahead the cron trigger looks: it comes every five minutes, and an alarm may have been lost (C2). */
const AHEAD = 5 * 60_000

const timekeeperOf = ({ env }: Pick<Context, 'env'>, tenantId: string) => env.TIMEKEEPER.getByName(tenantId)

/**
 * Has the tenant's Timekeeper look at what is due, do a part of what is due by now, and see to the rest by alarm. Never throws:
 * what is due stands in D1, and the cron trigger finds it.
 */
export async function wake(scope: Scope): Promise<void> {
  await wakeTenant(scope, scope.tenant.id, STEPS_AT_ONCE)
}

async function wakeTenant(context: Pick<Context, 'env'>, tenantId: string, steps: number): Promise<void> {
  try {
    await timekeeperOf(context, tenantId).wake(tenantId, steps)
  } catch (error) {
    console.warn(JSON.stringify({ level: 'warn', tenantId, error: `not woken: ${String(error)}` }))
  }
}

/** Has the tenant's Timekeeper do everything that is due by a moment, and waits for it. */
export async function catchUp(scope: Scope, to: Instant): Promise<void> {
  await timekeeperOf(scope, scope.tenant.id).catchUp(scope.tenant.id, to)
}

/** Does everything that is due by a moment, of all tenants: the test clock has been moved there (C1). */
export async function catchUpAll(context: Context, to: Instant): Promise<void> {
  for (const tenantId of await tenantsWithDueWork(context.db, to)) {
    await timekeeperOf(context, tenantId).catchUp(tenantId, to)
  }
}

/** Wakes the Timekeepers that have, or will soon have, something to do: what the cron trigger does (C2). */
export async function wakeAll(context: Context): Promise<void> {
  const now = (await readTestClock(context.db)) ?? systemNow()
  for (const tenantId of await tenantsWithDueWork(context.db, instant(now + AHEAD))) {
    await wakeTenant(context, tenantId, STEPS_AT_ONCE)
  }
}
