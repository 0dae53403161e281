import type * as z from 'zod'
import type { Scope } from '../../context'
import { type Fault, refusals } from '../../errors'
import { systemNow, wait } from '../../shared/clock'
import { newId } from '../../shared/ids'
import { type Configuration, metricByKey } from '../configuration/configuration'
import { configurationOf } from '../configuration/configuration.service'
import { eventCommand, messageOf } from '../events/commands'
import { arm } from '../timekeeper/timekeeper.service'
import { withEmail } from '../users/users.repository'
import { resolveAttributes } from '../users/users.rules'
import { findBatch, receive } from './inbox.repository'
import { type BatchEventsRequest, EVENTS_MAX, type EventBatch } from './inbox.schemas'

/** How often D1 is asked to store a batch. */
const TRIES = 3

type Events = z.output<typeof BatchEventsRequest>

const keyOf = (event: unknown) =>
  typeof event === 'object' && event !== null && 'key' in event && typeof event.key === 'string'
    ? [event.key]
    : []

/** Throws 404 where events of a batch are of metrics that don't exist; all of them are named (E9). */
export async function requireMetrics(scope: Scope, json: unknown): Promise<void> {
  // What is too long is refused by its length.
  const events: unknown[] = Array.isArray(json) && json.length <= EVENTS_MAX ? json : []
  const keys = [...new Set(events.flatMap(keyOf))]
  if (keys.length === 0) return
  const config = await configurationOf(scope)
  const unknown = keys.filter((key) => metricByKey(config, key) === undefined)
  if (unknown.length === 0) return
  throw refusals.noMetrics(unknown)
}

/**
 * Accepts a batch of events as a whole, to be processed in the background (E9): answers its id and how many they are. Throws 422
 * that names every fault of every event.
 */
export async function acceptBatch(scope: Scope, events: Events): Promise<{ id: string; accepted: number }> {
  const { db, now } = scope
  const config = await configurationOf(scope)
  const faults = [...attributeFaults(config, events), ...(await subscriptionFaults(scope, events))]
  if (faults.length > 0) throw refusals.invalid(faults)
  const id = newId(now)
  const arrived = systemNow()
  const messages = events.map(({ key: metricKey, idempotencyKey = null, ...body }) => {
    const command = eventCommand(body, { eventId: newId(now), metricKey, idempotencyKey })
    return JSON.stringify(messageOf({ command, arrived, prefix: null, tenantName: null, tried: null }))
  })
  await stored(scope, id, receive(db, id, messages, now))
  scope.waitUntil(arm(scope, db.tenantId))
  return { id, accepted: events.length }
}

/**
 * Has D1 store a batch, once: where its answer is lost it is asked whether it has, and tried again where not. Should the lost one
 * arrive late, the id of the batch keeps one of the two out.
 */
async function stored({ db }: Scope, id: string, statements: readonly D1PreparedStatement[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await db.batch(statements)
      return
    } catch (error) {
      if ((await findBatch(db, id)) !== null) return
      if (tries === TRIES) throw error
      await wait(20 * tries)
    }
  }
}

/** The attributes of events and their users that aren't configured (U4, E6). */
function attributeFaults(config: Configuration, events: Events): Fault[] {
  return events.flatMap(({ attributes, user }, index) => {
    const faults: string[] = []
    resolveAttributes(config, 'event', attributes ?? new Map(), faults)
    resolveAttributes(config, 'user', user.attributes ?? new Map(), faults)
    return faults.map((message) => ({ path: String(index), message: message.replace(/\.$/, '') }))
  })
}

/** The events that subscribe a user of whom no email address is known, not even by an event before them (U4). */
async function subscriptionFaults({ db }: Scope, events: Events): Promise<Fault[]> {
  const passed = new Set<string>()
  const doubtful: { index: number; userId: string }[] = []
  for (const [index, { user }] of events.entries()) {
    if (user.email !== undefined) passed.add(user.id)
    if (user.subscribeToEmails === true && !passed.has(user.id)) doubtful.push({ index, userId: user.id })
  }
  if (doubtful.length === 0) return []
  const ids = [...new Set(doubtful.map(({ userId }) => userId))]
  const known = await withEmail(db, ids)
  return doubtful
    .filter(({ userId }) => !known.has(userId))
    .map(({ index }) => ({
      path: `${index}.user.subscribeToEmails`,
      message: 'this user has no email address to subscribe. Pass email too, or leave this out',
    }))
}

/** What has become of a batch (E9). Throws 404 where there is none of this id. */
export async function readBatch({ db }: Scope, id: string): Promise<z.infer<typeof EventBatch>> {
  const found = await findBatch(db, id.toLowerCase())
  if (found === null) throw refusals.notFound('This batch of events')
  const ended = found.processed + found.dropped + found.parked
  return { ...found, status: ended < found.accepted ? 'pending' : 'done' }
}
