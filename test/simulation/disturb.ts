import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  evictDurableObject,
  getQueueResult,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { present, START } from '../helpers/time'
import { chaos } from './faults'
import { rebalance } from './moves'
import type { Disturbance } from './plan'
import worker from './worker'
import type { World } from './world'

/** Breaks something from outside. Does nothing if there is nothing to break now. */
export async function disturb(world: World, disturbance: Disturbance): Promise<void> {
  const { tenantId, client, ids, hooks } = world
  const timekeeper = env.TIMEKEEPER.getByName(tenantId)
  chaos.note(disturbance.do)
  switch (disturbance.do) {
    case 'evict':
    case 'kill': {
      const { what, which } = disturbance
      const boards = Object.entries(ids).flatMap(([name, id]) => (name.startsWith('board ') ? [id] : []))
      const hook = hooks[which % hooks.length]?.id ?? ''
      const stub =
        what === 'board'
          ? env.LEADERBOARD.getByName(boards[which % boards.length] ?? '')
          : what === 'delivery'
            ? env.DELIVERY_QUEUE.getByName(`webhook:${hook}`)
            : timekeeper
      if (disturbance.do === 'evict') return evictDurableObject(stub).catch(() => undefined)
      // The current work of the object is cut off.
      return runInDurableObject(stub, (_, state) => state.abort('killed (simulated)')).catch(() => undefined)
    }
    case 'alarm': {
      const alarm = async () => {
        await runInDurableObject(timekeeper, (_, { storage }) => storage.setAlarm(present() + 3_600_000))
        await runDurableObjectAlarm(timekeeper)
      }
      await Promise.all([alarm(), alarm()].map((one) => one.catch(() => undefined)))
      return
    }
    case 'cron': {
      await rebalance(world, 0).catch(() => undefined)
      const ctx = createExecutionContext()
      await worker.scheduled(createScheduledController(), env, ctx).catch(() => undefined)
      return waitOnExecutionContext(ctx).catch(() => undefined)
    }
    case 'recycle':
      return client.recycle(disturbance.which)
    case 'redeliver':
      return redeliver()
    case 'lose keys': {
      const { keys } = await env.KEYS.list()
      await Promise.all(keys.map(({ name }) => env.KEYS.delete(name)))
    }
  }
}

/** Delivers messages of the queues again that were delivered or lost before. */
async function redeliver(): Promise<void> {
  const messages = chaos.sent.splice(0, 50)
  for (const queue of ['laurel-outbox', 'laurel-repairs'] as const) {
    const own = messages.filter((one) => (one.queue === 'OUTBOX') === (queue === 'laurel-outbox'))
    const batch = createMessageBatch(
      queue,
      own.map(({ body }, n) => ({ id: `again-${n}`, timestamp: new Date(START), attempts: 2, body })),
    )
    const ctx = createExecutionContext()
    await worker.queue(batch, env, ctx).catch(() => undefined)
    await getQueueResult(batch, ctx).catch(() => undefined)
  }
}
