import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { configurationAt } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { BoundedMap } from '../../lib/bounded'
import { type Instant, instant } from '../../lib/clock'
import { isNotFound } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import { type Context, perInstance, type TenantContext } from '../../platform/context'
import { logProblem, logWork } from '../../platform/log'
import type { Work } from '../../time/due-work.sql.ts'
import { defineJob, type When } from '../../time/job'
import { ensureAlarm } from '../../time/timekeeper'
import { DrainRequest } from '../outbox/outbox'
import {
  nextOutboxEntries,
  type OutboxPosition,
  outboxEntriesFrom,
  removeOutboxEntries,
} from '../outbox/outbox.sql.ts'
import { schedulePointsNotification } from '../outbox/points-changed.sql.ts'
import { handOver } from './queue'
import { FURTHEST_DELIVERY } from './retries.rules'

/** The delay of a queue message, in seconds. Its drain finds everything that is stored in that time. */
const DELAY = 1
/** For how long after a message no other one is needed, in milliseconds. Well below the delay. */
const COVERED = 800
const TENANTS = 10_000

/** When this isolate last sent a message to the queue for a tenant. At most 10,000 tenants, by id. */
export class DrainDebouncer {
  readonly #sent = new BoundedMap<string, Instant>(TENANTS)

  /** True if a requested drain will see the rows written so far. Otherwise one counts as requested now. */
  isCovered(tenantId: string): boolean {
    const now = systemNow()
    const last = this.#sent.get(tenantId)
    if (last !== undefined && now >= last && now - last < COVERED) return true
    this.#sent.set(tenantId, now)
    return false
  }

  forget(tenantId: string): void {
    this.#sent.delete(tenantId)
  }
}

const debouncerOf = perInstance(() => new DrainDebouncer())

/**
 * Requests a drain of a tenant's outbox. Call it once the entries are stored. Never throws, and waits for
 * nothing. If the message is lost, the cron trigger finds the rest (C2).
 */
export function requestDrain(
  context: Pick<Context, 'env' | 'instance' | 'waitUntil'> & Partial<Pick<Context, 'notes'>>,
  tenantId: string,
): void {
  const { env, instance, waitUntil, notes = {} } = context
  const debouncer = debouncerOf(instance)
  if (debouncer.isCovered(tenantId)) return
  notes.queued = 1
  const send = async () => env.OUTBOX.send({ tenantId }, { delaySeconds: DELAY })
  waitUntil(
    send().catch((error: unknown) => {
      debouncer.forget(tenantId)
      logProblem('warn', { tenant: tenantId, error: `outbox not drained yet: ${String(error)}` })
    }),
  )
}

/** Writes what is due from one moment to another to the outbox. A drain calls it until nothing was due: false. */
type MessageSource = (
  context: TenantContext,
  config: Configuration,
  due: { from: Instant; now: Instant },
) => Promise<boolean>

const MOST_ROUNDS = 20
/** Databases of all tenants that are drained at once. Each round sends about three batches to each. */
const TENANTS_AT_ONCE = 30

/**
 * Hands over everything that a tenant has to send to the delivery queues (W2): the outbox, oldest first, and
 * what `source` writes when it is due. A row is deleted only after its delivery queues have its messages, and
 * they ignore a message that they have already. So nothing is lost or sent twice, even if a drain stops
 * halfway or several run at the same time. `by` is a moment of the service's clock; null is now. With
 * `mustAll`, it hands over everything. Otherwise it does a bounded part, and requests a drain for the rest.
 * Returns true if a points notification is due earlier than the Timekeeper knew. Throws if a delivery queue
 * cannot be reached, after all others have received their messages.
 */
export async function drain(
  context: TenantContext,
  source: MessageSource,
  { by, mustAll }: { by: Instant | null; mustAll: boolean } = { by: null, mustAll: false },
): Promise<boolean> {
  const { db } = context
  const before = { ...context.cost }
  const unreachable = new Map<string, unknown>()
  let handedOver = 0
  let after: OutboxPosition | null = null
  let isDrained = false
  const mayGoOn = (round: number) => mustAll || (round < MOST_ROUNDS && context.databases.hasRoom())
  for (let round = 0; !isDrained && mayGoOn(round); round += 1) {
    const { snapshot, rows } = await db.batchOf({
      snapshot: requestSnapshotStatement(db, db.tenantId, []),
      rows: nextOutboxEntries(db, after),
    })
    const { tenant, clock } = parseRequestSnapshot(snapshot)
    if (tenant === null) return false
    const config = await configurationAt(context, tenant.configVersion)
    const now = by ?? clock ?? systemNow()
    const { outboxEntries, last } = await outboxEntriesFrom(db, rows)
    const missed = await handOver(context, config, outboxEntries, now, unreachable)
    const done = outboxEntries.filter((outboxEntry) => !missed.includes(outboxEntry))
    if (done.length > 0) await db.batch(removeOutboxEntries(db, done))
    handedOver += done.length
    after = unreachable.size > 0 ? (last ?? after) : null
    // What was due before a test clock came to a moment is sent at its own time, by the move (C1).
    const from = by === null && clock !== null ? clock : instant(0)
    isDrained = last === null && !(await source(context, config, { from, now }))
  }
  if (!isDrained) requestDrain(context, db.tenantId)
  const scheduled = await db.run(schedulePointsNotification(db))
  if (handedOver > 0)
    logWork({ work: 'outbox', tenant: db.tenantId, outboxEntries: handedOver }, context.cost, before)
  for (const [name, error] of unreachable)
    throw new Error(`the delivery queue ${name} was not reached: ${error}`)
  return scheduled.meta.changes > 0
}

/**
 * Drains the outboxes of these tenants, each once. Messages of a failed drain are retried. If D1 accepts no more
 * batches, a tenant gets another message.
 */
export async function drainAll(
  context: Context,
  source: MessageSource,
  messages: readonly Message[],
): Promise<void> {
  const tenants = [...Map.groupBy(messages, ({ body }) => DrainRequest.parse(body).tenantId)]
  const { databases } = context
  const drainTenant = async ([tenantId, theirs]: (typeof tenants)[number]) => {
    try {
      if (databases.hasRoom()) {
        const all = await databases.ofAllMessages(tenantId)
        const results = await Promise.allSettled(all.map((db) => drain({ ...context, db }, source)))
        const isSooner = results.some((result) => result.status === 'fulfilled' && result.value)
        if (isSooner) await ensureAlarm(context, tenantId)
        for (const result of results) if (result.status === 'rejected') throw result.reason
      } else requestDrain(context, tenantId)
      for (const message of theirs) message.ack()
    } catch (error) {
      // An erased tenant has nothing to send. Only an isolate that remembers its databases looks into them.
      const isErased = isNotFound(error)
      if (!isErased) logProblem('warn', { tenant: tenantId, error: `not drained: ${String(error)}` })
      for (const message of theirs) isErased ? message.ack() : message.retry()
    }
  }
  const atOnce = Math.ceil(TENANTS_AT_ONCE / databases.names.length)
  for (let from = 0; from < tenants.length; from += atOnce)
    await Promise.all(tenants.slice(from, from + atOnce).map(drainTenant))
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    delivery: true
  }
}

/** Retries of a destination. The subject of the work is its name (W4). */
export const deliveryJob = defineJob({
  kind: 'delivery',
  of: 'tenant',
  furthest: FURTHEST_DELIVERY,
  step: runDestination,
})

/** Sends due messages. Waits only under a test clock: slow receivers must not hold up other work (W4, C1). */
async function runDestination(
  context: TenantContext,
  work: Work<never>,
  { until, isClockSet: wait }: When,
): Promise<void> {
  const now = wait ? work.dueAt : until
  const { dueAt } = await context.env.DELIVERY_QUEUE.getByName(work.subject).runDue({ now, wait })
  await context.db.batch([work.goOnAt(dueAt)])
}
