/** Calls of the Worker that are no requests: messages of queues, and the cron trigger. */
import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  getQueueResult,
  waitOnExecutionContext,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import type { Bindings } from '../../../src/platform/env'
import worker from '../../../src/worker'
import { START } from '../time'

/**
 * Hands messages over as a queue does. Returns the ids of those that are acknowledged, and of those that will come
 * again. The first one is `m0`.
 */
export async function handOver(queue: string, bodies: readonly unknown[], bindings: Partial<Bindings> = {}) {
  const messages = bodies.map((body, n) => ({ id: `m${n}`, timestamp: new Date(START), attempts: 1, body }))
  const batch = createMessageBatch(queue, messages)
  const ctx = createExecutionContext()
  await worker.queue(batch, { ...env, ...bindings }, ctx)
  const { explicitAcks, retryMessages } = await getQueueResult(batch, ctx)
  return { acks: explicitAcks, again: retryMessages.map(({ msgId }) => msgId) }
}

/** Runs the cron trigger, and waits for what it starts. */
export async function cron(bindings: Partial<Bindings> = {}): Promise<void> {
  const ctx = createExecutionContext()
  await worker.scheduled(createScheduledController(), { ...env, ...bindings }, ctx)
  await waitOnExecutionContext(ctx)
}
