import { BoundedMap } from '../../lib/bounded'
import type { Instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import type { Context } from '../../platform/context'
import { perInstance } from '../../platform/instance'
import { logProblem } from '../../platform/log'

/** The delay of a queue message, in seconds. Its drain finds everything that is stored in that time. */
const DELAY = 1
/** For how long after a message no other one is needed, in milliseconds. Well below the delay. */
const COVERED = 800
/** The most tenants that an isolate remembers. */
const TENANTS = 10_000

/** When this isolate last sent a message to the queue for a tenant. At most 10,000 tenants, by id. */
export class DrainDebouncer {
  readonly #sent = new BoundedMap<string, Instant>(TENANTS)

  /**
   * True if a drain that is already requested will see the rows written so far. Otherwise it notes that one
   * is requested now.
   */
  isCovered(tenantId: string): boolean {
    const now = systemNow()
    const last = this.#sent.get(tenantId)
    if (last !== undefined && now >= last && now - last < COVERED) return true
    this.#sent.set(tenantId, now)
    return false
  }

  /** Forgets a request that failed. */
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
