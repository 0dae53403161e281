import { BoundedMap } from '../lib/bounded'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { Context } from '../runtime/context'
import { perInstance } from '../runtime/instance'

/** How long the queue keeps a message back, in seconds: all that is stored meanwhile is found by whoever it wakes. */
const DELAY = 1
/** For how long after one was sent no other is needed, in milliseconds: well below the delay. */
const COVERED = 800
/** Tenants of whom an isolate remembers when it last sent one. */
const TENANTS = 10_000

/** When this isolate last told the queue of a tenant; at most 10,000 of them, by id. */
export class DrainDebouncer {
  readonly #sent = new BoundedMap<string, Instant>(TENANTS)

  /** Whether what is stored by now is found by somebody who was already called; else notes that one is called now. */
  isCovered(tenantId: string): boolean {
    const now = systemNow()
    const last = this.#sent.get(tenantId)
    if (last !== undefined && now >= last && now - last < COVERED) return true
    this.#sent.set(tenantId, now)
    return false
  }

  /** Forgets that one was called: it did not go through. */
  forget(tenantId: string): void {
    this.#sent.delete(tenantId)
  }
}

const debouncerOf = perInstance(() => new DrainDebouncer())

/**
 * Has the queue drain a tenant's outbox; to be called once what it holds is stored. Never throws, and waits for nothing: where the message is
 * lost, the cron trigger finds what is left (C2).
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
      console.warn(
        JSON.stringify({ level: 'warn', tenantId, error: `outbox not drained yet: ${String(error)}` }),
      )
    }),
  )
}
