import type { Context, TenantContext } from '../../context'
import type { Cost } from '../../db/database'
import { type Instant, systemNow } from '../../shared/clock'
import type { Configuration } from '../configuration/configuration'
import { configurationAt } from '../configuration/configuration.repository'
import { parseStanding, standingStatement } from '../tenants/tenants.repository'
import { arm } from '../timekeeper/timekeeper.service'
import { handOver } from './hand-over.service'
import { Outgoing } from './outbox'
import { nextParcels, parseParcels, removeParcels } from './outbox.repository'
import { announcePoints } from './points-told.repository'
import { flushPoints } from './points-told.service'
import { wakeOutbox } from './wakes'

/** Rounds of a drain before the queue is asked for another one: D1 takes a thousand queries of one. */
const MOST_ROUNDS = 20

/**
 * Hands everything over to the couriers that a tenant has to tell (W2): first what is due of points, then the outbox, oldest first. A row goes only
 * after its couriers have it, and they know a message that they have already: wherever this stops, or however many do it at once, nothing is
 * lost and nothing is told twice. By a moment of the service's clock; null: by now. Answers whether something is due before the Timekeeper
 * knew, which only its own work may leave to itself.
 */
export async function drain(context: TenantContext, by: Instant | null = null): Promise<boolean> {
  const { db } = context
  const before = { ...context.cost }
  let handedOver = 0
  let isDrained = false
  for (let round = 0; !isDrained && (by !== null || round < MOST_ROUNDS); round += 1) {
    const [standing, rows] = await db.batch([standingStatement(db, db.tenantId, []), nextParcels(db)])
    const { tenant, clock } = parseStanding(standing)
    if (tenant === null) return false
    const config = await configurationAt(
      { db, configurations: context.instance.configurations },
      tenant.configVersion,
    )
    const now = by ?? clock ?? systemNow()
    const parcels = parseParcels(rows)
    await deliverParcels(context, config, parcels, now)
    handedOver += parcels.length
    isDrained = parcels.length === 0 && !(await flushPoints(context, config, now))
  }
  if (!isDrained) wakeOutbox(context, context.instance.wakes, db.tenantId)
  const [announced] = await db.batch([announcePoints(db)])
  if (handedOver > 0) console.log(drainLine(context, before, handedOver))
  return (announced?.meta.changes ?? 0) > 0
}

/** The log line of a drain, as JSON: how many parcels it handed over, and what that cost in D1. Nothing of a user. */
function drainLine({ db, cost }: TenantContext, before: Cost, parcels: number): string {
  return JSON.stringify({
    level: 'info',
    work: 'outbox',
    tenant: db.tenantId,
    parcels,
    d1: {
      roundTrips: cost.roundTrips - before.roundTrips,
      rowsRead: cost.rowsRead - before.rowsRead,
      rowsWritten: cost.rowsWritten - before.rowsWritten,
    },
  })
}

async function deliverParcels(
  context: TenantContext,
  config: Configuration,
  parcels: ReturnType<typeof parseParcels>,
  now: Instant,
): Promise<void> {
  if (parcels.length === 0) return
  await handOver(context, config, parcels, now)
  await context.db.batch(removeParcels(context.db, parcels))
}

/** Drains the outboxes of the tenants that messages of the queue name, each once; those that fail are brought again. */
export async function drainAll(context: Context, messages: readonly Message[]): Promise<void> {
  const byTenant = Map.groupBy(messages, ({ body }) => Outgoing.parse(body).tenantId)
  await Promise.all(
    [...byTenant].map(async ([tenantId, theirs]) => {
      try {
        if (await drain({ ...context, db: context.db.of(tenantId) })) await arm(context, tenantId)
        for (const message of theirs) message.ack()
      } catch (error) {
        console.warn(JSON.stringify({ level: 'warn', tenantId, error: `not drained: ${String(error)}` }))
        for (const message of theirs) message.retry()
      }
    }),
  )
}
