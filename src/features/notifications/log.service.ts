import type * as z from 'zod'
import { NOTIFICATION_CHANNELS } from '../../config/enumerations.types'
import { LogReply, MomentReply, type Place } from '../../delivery/queue.messages'
import { deliveryQueueOf } from '../../delivery/queue.service'
import { instant, iso } from '../../lib/clock'
import type { Scope, TenantContext } from '../../runtime/context'
import { notificationIn } from './notification.messages'
import type { NotificationLogEntry } from './notifications.schemas'
import type { Channel } from './notifications.types'

type Entry = z.infer<typeof NotificationLogEntry>

/** A message as its delivery queue reports it. */
type LoggedMessage = z.output<typeof LogReply>['messages'][number]

const deliveryQueue = (context: TenantContext, kind: Channel) =>
  deliveryQueueOf(context, { kind, tenantId: context.db.tenantId })

/**
 * The messages of a channel, newest first: at most `limit`, after the newest `skip`. One call returns as many
 * as fit.
 */
async function* carried(context: TenantContext, channel: Channel, page: Page): AsyncGenerator<LoggedMessage> {
  let { skip, limit } = page
  let before: Place | null = null
  for (;;) {
    const request: { limit: number; skip: number; before: Place | null } = { limit, skip, before }
    const { messages, hasMore } = LogReply.parse(await deliveryQueue(context, channel).log(request))
    yield* messages
    if (!hasMore) return
    limit -= messages.length
    skip = 0
    before = messages.at(-1)?.place ?? null
  }
}

type Page = { limit: number; skip: number }

/**
 * A page of the users' notifications by both channels, newest first (N4). Reads messages only when they are
 * needed, because a page may be long.
 */
export async function* readLog(scope: Scope, { limit, skip }: Page): AsyncGenerator<Entry[]> {
  const places = await placesAfter(scope, skip)
  if (places === null) return
  const [email, push] = NOTIFICATION_CHANNELS.map((channel) =>
    carried(scope, channel, { limit, skip: places[channel] }),
  )
  if (email === undefined || push === undefined) return
  let [first, second] = [await next(email), await next(push)]
  for (let left = limit; ; left -= 1) {
    const isEmail = isAhead(first?.place.at, second?.place.at)
    const queuedMessage = isEmail ? first : second
    if (queuedMessage === null) return
    yield [entryOf(queuedMessage)]
    if (left === 1) return
    if (isEmail) first = await next(email)
    else second = await next(push)
  }
}

async function next(messages: AsyncGenerator<LoggedMessage>): Promise<LoggedMessage | null> {
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
  const momentOf = async (channel: Channel, skip: number) =>
    MomentReply.parse(await deliveryQueue(scope, channel).moment({ skip }))
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

/**
 * Whether an email message comes before a push message, by their moments. At the same moment, the email does.
 * Null or undefined: there is no such message.
 */
const isAhead = (email: number | null | undefined, push: number | null | undefined): boolean =>
  typeof email === 'number' && (typeof push !== 'number' || email >= push)

function entryOf(queuedMessage: LoggedMessage): Entry {
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
