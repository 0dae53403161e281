import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { presentState } from '../../src/configuration/configuration'
import { type Instant, instant } from '../../src/lib/clock'
import { namedId } from '../../src/lib/ids'
import { deliveryQueueOf, handOver } from '../../src/webhooks/delivery/queue'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { Pruning } from '../../src/webhooks/delivery/runner'
import type { Message, OutboxEntry } from '../../src/webhooks/outbox/outbox'
import { DAY, forgetTime, HOUR, moveTo, NOON } from '../helpers/worker/boards'
import { contextOf } from '../helpers/worker/contexts'
import { hand, log, logged, message, withHook } from '../helpers/worker/delivery-queues'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

/** The id of an event that is about a user's day, the same in all zones. */
const DAYS = namedId(instant(NOON - HOUR), 'ada, that day')
const names = (storage: DurableObjectStorage) =>
  storage.sql
    .exec<{ id: string }>('SELECT id FROM named ORDER BY id')
    .toArray()
    .map(({ id }) => id)

it('[W2, N2] sends an event about a day once, also if its user moves to another zone in between', async () => {
  const setup = await withHook()
  const { tenant } = setup
  const context = contextOf(tenant.id)
  const { config } = await presentState(context)
  if (config === null) throw new Error('no configuration')
  const due: Message = { id: DAYS, type: 'emails.recap_due', body: { n: 1 } }
  const mail = {
    id: namedId(instant(NOON - HOUR), 'mail'),
    type: 'notification.email',
    body: { type: 'recap' },
  } as const
  const outboxEntry = (at: Instant, seq: number): OutboxEntry => ({
    at,
    seq,
    id: DAYS,
    userIid: 'ada',
    messages: [due, mail],
  })
  await handOver(context, config, [outboxEntry(instant(NOON - HOUR), 3)], instant(NOON), new Map())
  await handOver(context, config, [outboxEntry(instant(NOON), 4)], instant(NOON), new Map())
  await moveTo(NOON + 1)
  expect(await setup.hook.ids(1)).toEqual([DAYS])
  expect(await log(setup)).toHaveLength(1)
  const email = { deliveryQueue: deliveryQueueOf({ env }, { kind: 'email', tenantId: tenant.id }) }
  expect((await log(email)).map(({ id }) => id)).toEqual([mail.id])
})

it('[W4] finds and redelivers a message by its id, also if its time differs from the time in the id', async () => {
  const setup = await withHook()
  const one = message(NOON, 'ada', { id: DAYS, isNamed: true })
  await hand(setup.destination, NOON, one)
  await setup.hook.seen(1)
  const path = `/webhooks/${setup.webhookId}/deliveries/${DAYS}`
  expect((await setup.tenant.admin('POST', `${path}/redeliver`)).status).toBe(200)
  await moveTo(NOON + 1)
  expect(await setup.hook.ids(2)).toEqual([DAYS, DAYS])
  expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 2 })
})

it('[U8] a named message writes one more row when it arrives and none when it repeats, and its name is deleted three days after it', async () => {
  const setup = await withHook({ status: 'inactive' })
  await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
    const store = new DeliveryQueueStore(storage)
    const start = store.sql.rowsWritten
    const ids = [0, 1, 2, 3].map((n) => namedId(instant(NOON + n), 'x'))
    const [first, second, third, ada] = ids.map((id, n) =>
      message(NOON + n, n === 3 ? 'ada' : null, { id, isNamed: true }),
    )
    if (!first || !second || !third || !ada) throw new Error('There are no messages.')
    store.add([first], instant(NOON))
    expect(store.sql.rowsWritten - start).toBe(3)
    store.add([{ ...first, at: NOON + HOUR, seq: 5 }], instant(NOON))
    expect(store.sql.rowsWritten - start).toBe(3)
    store.add([second, third, ada], instant(NOON))
    const outcome = { status: 'delivered', nextAt: null, lastStatus: 200, lastError: null }
    for (const one of [first, second]) store.settle(one, outcome, 1)
    expect(store.dropOldest(1)).toBe(1)
    store.unname(instant(NOON + 5 * DAY))
    expect(names(storage)).toEqual(ids)
    expect(store.dropBefore(instant(NOON + DAY), 10)).toBe(1)
    store.unname(instant(NOON + 3 * DAY + 1))
    expect(names(storage)).toEqual(ids.slice(1))
    store.unname(instant(NOON + 5 * DAY))
    expect(names(storage)).toEqual(ids.slice(2))
    store.erase({ iid: 'ada', userId: 'ada' })
    expect(names(storage)).toEqual([third.id])
    expect(store.list({ limit: 10, skip: 0, before: null }).rows.map(({ id }) => id)).toEqual([third.id])
  })
  expect((await setup.tenant.admin('DELETE', `/webhooks?ids=${setup.webhookId}`)).status).toBe(200)
  await runInDurableObject(setup.deliveryQueue, (_, { storage }) => expect(names(storage)).toEqual([]))
})

it('[W2, N2] sends an event about a day once, also if the log has no room for it any more', async () => {
  const setup = await withHook()
  const one = message(NOON - HOUR, 'ada', { id: DAYS, isNamed: true })
  await hand(setup.destination, NOON, one, message(NOON))
  await moveTo(NOON + 1)
  expect(await setup.hook.ids(2)).toHaveLength(2)
  await runInDurableObject(setup.deliveryQueue, (_, { storage }) =>
    new Pruning(30, 1).run(new DeliveryQueueStore(storage), instant(NOON + 2 * HOUR), 0),
  )
  expect(await log(setup)).toHaveLength(1)
  // Its user has moved to the west.
  await hand(setup.destination, NOON + 20 * HOUR, { ...one, at: NOON + 20 * HOUR })
  await moveTo(NOON + 21 * HOUR)
  expect((await setup.hook.ids(2)).filter((id) => id === DAYS)).toHaveLength(1)
})
