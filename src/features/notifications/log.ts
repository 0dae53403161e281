import * as z from 'zod'
import { Timestamp } from '../../api/fields'
import { integerQuery, ListQuery, type LongPage, longListQuery } from '../../api/queries'
import { NOTIFICATION_CHANNELS, NOTIFICATION_TYPES } from '../../configuration/enumerations'
import { instant, iso } from '../../lib/clock'
import type { Scope, TenantContext } from '../../platform/context'
import type { HeldMessage, Place } from '../../webhooks/delivery/messages'
import { deliveryQueueOf } from '../../webhooks/delivery/queue'
import { type Channel, notificationIn } from './notification'

/** The most entries of the log that can be skipped. Nobody pages that far. */
const MOST_SKIPPED = 100_000

/** The place of a message in the log of its channel: moment, number and id. */
const MessagePlace = z.tuple([z.number(), z.number(), z.string()])

/** The last message of each channel on a page and on the pages before it; null if there was none. */
const LogCursor = z.object({ email: MessagePlace.nullable(), push: MessagePlace.nullable() })

/** The page of the log. */
export const LogQuery = longListQuery(
  LogCursor,
  {},
  ListQuery.extend({ skip: integerQuery({ min: 0, max: MOST_SKIPPED, fallback: 0 }) }),
)

/** The state of a notification. Without a provider it is stored and not sent (N4). */
const LogStatus = z.enum(['pending', 'sent', 'failed', 'unsent: no provider'])

/** An entry of the log (N4). */
export const NotificationLogEntry = z
  .object({
    id: z.string(),
    userId: z.string(),
    type: z.enum(NOTIFICATION_TYPES),
    channel: z.enum(NOTIFICATION_CHANNELS),
    status: LogStatus,
    title: z.string(),
    body: z.string(),
    headers: z.record(z.string(), z.string()),
    created: Timestamp,
  })
  .meta({ id: 'NotificationLogEntry' })

export const NotificationLogResponse = z.array(NotificationLogEntry).meta({ id: 'NotificationLogResponse' })

type Entry = z.infer<typeof NotificationLogEntry>

const deliveryQueue = (context: TenantContext, kind: Channel) =>
  deliveryQueueOf(context, { kind, tenantId: context.db.tenantId })

/** Messages with bodies, from the first to the last place, newest first. One call returns what fits. */
async function* messagesAt(
  context: TenantContext,
  channel: Channel,
  places: readonly Place[],
): AsyncGenerator<HeldMessage> {
  const [first, last] = [places[0], places.at(-1)]
  if (first === undefined || last === undefined) return
  // The place right after the first message, so that the page begins with it. Ids are of equal length.
  let before: Place = { ...first, id: `${first.id}~` }
  for (;;) {
    const request = { limit: places.length, skip: 0, before }
    const { messages } = await deliveryQueue(context, channel).log(request)
    for (const message of messages) {
      // The last message may have been erased since its place was read.
      if (isOlder(message.place, last)) return
      yield message
      if (message.id === last.id) return
      before = message.place
    }
    if (messages.length === 0) return
  }
}

const isOlder = (place: Place, than: Place): boolean => {
  if (place.at !== than.at) return place.at < than.at
  return place.seq === than.seq ? place.id < than.id : place.seq < than.seq
}

/** The places of the next messages of a channel, newest first, without their bodies. */
async function placesOf(
  scope: Scope,
  channel: Channel,
  page: { limit: number; skip: number; before: Place | null },
): Promise<Place[]> {
  return (await deliveryQueue(scope, channel).list(page)).map(({ place }) => place)
}

const placeOf = (cursor: z.input<typeof LogCursor>[Channel] | undefined): Place | null =>
  cursor == null ? null : { at: cursor[0], seq: cursor[1], id: cursor[2] }

const cursorOf = (place: Place | undefined, before: z.input<typeof LogCursor>[Channel] | undefined) =>
  place === undefined
    ? (before ?? null)
    : ([place.at, place.seq, place.id] satisfies [number, number, string])

/**
 * A page of the users' notifications by both channels, newest first (N4, O3). The places of the messages are
 * read first: they say which messages are on the page, and where the next page begins. The bodies are read
 * only when they are needed, because a page may be long.
 */
export async function readLog(
  scope: Scope,
  { limit, skip, after }: z.output<typeof LogQuery>,
): Promise<LongPage<AsyncGenerator<Entry[]>, z.input<typeof LogCursor>>> {
  const skips = await placesAfter(scope, skip)
  if (skips === null) return { items: merged(scope, { email: [], push: [] }), next: null }
  // One more, to see if there is a next page.
  const pageOf = (channel: Channel) => ({
    limit: limit + 1,
    skip: skips[channel],
    before: placeOf(after?.[channel]),
  })
  const [email, push] = await Promise.all([
    placesOf(scope, 'email', pageOf('email')),
    placesOf(scope, 'push', pageOf('push')),
  ])
  let emails = 0
  let pushes = 0
  while (emails + pushes < limit && (emails < email.length || pushes < push.length)) {
    if (isAhead(email[emails]?.at, push[pushes]?.at)) emails += 1
    else pushes += 1
  }
  const places = { email: email.slice(0, emails), push: push.slice(0, pushes) }
  const hasMore = email.length + push.length > limit
  return {
    items: merged(scope, places),
    next: hasMore
      ? {
          email: cursorOf(places.email.at(-1), after?.email),
          push: cursorOf(places.push.at(-1), after?.push),
        }
      : null,
  }
}

/** The messages at these places with their bodies, both channels merged. */
async function* merged(
  scope: Scope,
  places: Readonly<Record<Channel, readonly Place[]>>,
): AsyncGenerator<Entry[]> {
  const email = messagesAt(scope, 'email', places.email)
  const push = messagesAt(scope, 'push', places.push)
  let [first, second] = [await next(email), await next(push)]
  for (;;) {
    const isEmail = isAhead(first?.place.at, second?.place.at)
    const queuedMessage = isEmail ? first : second
    if (queuedMessage === null) return
    yield [entryOf(queuedMessage)]
    if (isEmail) first = await next(email)
    else second = await next(push)
  }
}

async function next(messages: AsyncGenerator<HeldMessage>): Promise<HeldMessage | null> {
  const { value, done } = await messages.next()
  return done ? null : value
}

/**
 * How many of the newest `count` messages are from each channel; null if there are fewer than `count`. Merges
 * two sorted lists by halving: of the list that is ahead, the first half of the step is skipped at once. So
 * few messages are read, for any count.
 */
async function placesAfter(scope: Scope, count: number): Promise<{ email: number; push: number } | null> {
  const places = { email: 0, push: 0 }
  const momentOf = async (channel: Channel, skip: number) => deliveryQueue(scope, channel).moment({ skip })
  let step = Math.ceil(count / 2)
  for (let left = count; left > 0; ) {
    step = Math.min(step, Math.ceil(left / 2))
    const [email, push] = await Promise.all([
      momentOf('email', places.email + step - 1),
      momentOf('push', places.push + step - 1),
    ])
    if (email === null && push === null) {
      if (step === 1) return null
      step = Math.floor(step / 2)
      continue
    }
    places[isAhead(email, push) ? 'email' : 'push'] += step
    left -= step
  }
  return places
}

/** Whether the email comes first, by moment. At the same moment, it does. Null or undefined: no message. */
const isAhead = (email: number | null | undefined, push: number | null | undefined): boolean =>
  typeof email === 'number' && (typeof push !== 'number' || email >= push)

/** A message as an entry of the log (N4). */
export function entryOf(queuedMessage: HeldMessage): Entry {
  const notification = notificationIn(queuedMessage)
  const { userId, type, channel, title, body, headers, fault } = notification
  const status = statusOf(queuedMessage.status)
  // The message has reached some devices, although others could never be reached.
  const isPartly = notification.channel === 'push' && notification.taken > 0 && status === 'failed'
  return {
    id: queuedMessage.id,
    userId,
    type,
    channel,
    status: isPartly ? 'sent' : status,
    title,
    body: fault === undefined ? body : `The template could not be rendered. ${fault}.`,
    headers,
    created: iso(instant(queuedMessage.place.at)),
  }
}

function statusOf(status: string): Entry['status'] {
  if (status === 'pending') return 'pending'
  if (status === 'delivered') return 'sent'
  return status.startsWith('unsent') ? 'unsent: no provider' : 'failed'
}
