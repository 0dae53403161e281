import * as z from 'zod'
import { type Endpoint, endpointsOf, ok } from '../../api/endpoint'
import { IdOrKey, Timestamp } from '../../api/fields'
import {
  integerQuery,
  ListQuery,
  type LongPage,
  longListQuery,
  longPage,
  pageResponse,
} from '../../api/queries'
import { listed } from '../../api/streams'
import {
  NOTIFICATION_CHANNELS,
  NOTIFICATION_TYPES,
  type NotificationChannel,
} from '../../configuration/enumerations'
import { instant, iso } from '../../lib/clock'
import type { Scope } from '../../platform/context'
import type { HeldMessage, Place } from '../../webhooks/delivery/messages'
import { deliveryQueueOf } from '../../webhooks/delivery/queue'
import { configuredProviders } from './channel'
import { notificationIn } from './notification'
import { template } from './template.resource'
import {
  PreviewDraftRequest,
  PreviewTemplateRequest,
  PreviewTemplateResponse,
  previewDraft,
  previewTemplate,
  sendTest,
  TestTemplateRequest,
  TestTemplateResponse,
} from './templates/preview'

/** The most entries of the log that can be skipped. Nobody pages that far. */
const MOST_SKIPPED = 100_000

/** The place of a message in the log of its channel: moment, number and id. */
const MessagePlace = z.tuple([z.number(), z.number(), z.string()])

/** The last message of each channel on a page and on the pages before it; null if there was none. */
const LogCursor = z.object({ email: MessagePlace.nullable(), push: MessagePlace.nullable() })

const LogQuery = longListQuery(
  LogCursor,
  {},
  ListQuery.extend({ skip: integerQuery({ min: 0, max: MOST_SKIPPED, fallback: 0 }) }),
)

const NotificationLogEntry = z
  .object({
    id: z.string(),
    userId: z.string(),
    type: z.enum(NOTIFICATION_TYPES),
    channel: z.enum(NOTIFICATION_CHANNELS),
    // Without a provider it is stored and not sent (N4).
    status: z.enum(['pending', 'sent', 'failed', 'unsent: no provider']),
    title: z.string(),
    body: z.string(),
    headers: z.record(z.string(), z.string()),
    created: Timestamp,
  })
  .meta({ id: 'NotificationLogEntry' })

const NotificationLogResponse = z.array(NotificationLogEntry).meta({ id: 'NotificationLogResponse' })

type Entry = z.infer<typeof NotificationLogEntry>

const deliveryQueue = (scope: Scope, kind: NotificationChannel) =>
  deliveryQueueOf(scope, { kind, tenantId: scope.tenant.id })

/** Messages with bodies, from the first to the last place, newest first. One call returns what fits. */
async function* messagesAt(
  scope: Scope,
  channel: NotificationChannel,
  places: readonly Place[],
): AsyncGenerator<HeldMessage> {
  const [first, last] = [places[0], places.at(-1)]
  if (first === undefined || last === undefined) return
  // The place right after the first message, so that the page begins with it. Ids are of equal length.
  let before: Place = { ...first, id: `${first.id}~` }
  for (;;) {
    const request = { limit: places.length, skip: 0, before }
    const { messages } = await deliveryQueue(scope, channel).log(request)
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

type Cursor = z.input<typeof LogCursor>

const placeOf = (cursor: Cursor[NotificationChannel] | undefined): Place | null =>
  cursor == null ? null : { at: cursor[0], seq: cursor[1], id: cursor[2] }

/**
 * A page of the users' notifications by both channels, newest first (N4, O3). The places of the messages are
 * read first: they say which messages are on the page, and where the next page begins. The bodies are read
 * only when they are needed, because a page may be long.
 */
async function readLog(
  scope: Scope,
  { limit, skip, after }: z.output<typeof LogQuery>,
): Promise<LongPage<AsyncGenerator<Entry[]>, Cursor>> {
  const skips = await placesAfter(scope, skip)
  if (skips === null) return { items: merged(scope, { email: [], push: [] }), next: null }
  const placesOf = async (channel: NotificationChannel) => {
    // One more, to see if there is a next page.
    const page = { limit: limit + 1, skip: skips[channel], before: placeOf(after?.[channel]) }
    return (await deliveryQueue(scope, channel).list(page)).deliveries.map(({ place }) => ({
      channel,
      place,
    }))
  }
  const [emails, pushes] = await Promise.all([placesOf('email'), placesOf('push')])
  // The order is stable: at the same moment, an email comes first.
  const all = [...emails, ...pushes].sort((a, b) => b.place.at - a.place.at)
  const onPage = (wanted: NotificationChannel) =>
    all.slice(0, limit).flatMap(({ channel, place }) => (channel === wanted ? [place] : []))
  const places = { email: onPage('email'), push: onPage('push') }
  const cursorOf = (channel: NotificationChannel): Cursor[NotificationChannel] => {
    const last = places[channel].at(-1)
    return last === undefined ? (after?.[channel] ?? null) : [last.at, last.seq, last.id]
  }
  return {
    items: merged(scope, places),
    next: all.length > limit ? { email: cursorOf('email'), push: cursorOf('push') } : null,
  }
}

/** The messages at these places with their bodies, both channels merged. */
async function* merged(
  scope: Scope,
  places: Readonly<Record<NotificationChannel, readonly Place[]>>,
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
  const momentOf = async (channel: NotificationChannel, skip: number) =>
    deliveryQueue(scope, channel).moment({ skip })
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

/** The providers that send email and push messages, by their names. Without any, a channel sends nothing. */
const NotificationChannelsResponse = z
  .object({
    email: z.array(z.enum(['resend', 'cloudflare'])),
    push: z.array(z.enum(['expo', 'apns', 'fcm'])),
  })
  .meta({ id: 'NotificationChannelsResponse' })

const endpoint = endpointsOf('admin')
const find = (scope: Scope, param: (name: string) => string) => template.find(scope, param('id'))
const PREVIEW = 'The notification that the user would get.'

/** The endpoints that manage notifications, in the order of the OpenAPI document (N3, N4). */
export const notificationEndpoints: readonly Endpoint[] = [
  ...template.endpoints,
  endpoint(
    'POST /notifications/templates/{id}/preview',
    {
      id: 'admin_notification_templates_preview',
      summary: 'Render a notification template for a user, without sending anything',
      params: z.object({ id: IdOrKey }),
      body: PreviewTemplateRequest,
      secret: true,
      responses: { 200: { description: PREVIEW, body: PreviewTemplateResponse } },
    },
    { find },
    async (scope, { body }, found) => ok(await previewTemplate(scope, found, body)),
  ),
  endpoint(
    'POST /notifications/templates/preview',
    {
      id: 'admin_notification_templates_preview_draft',
      summary: 'Render a template that is not stored for a user, without sending anything',
      body: PreviewDraftRequest,
      secret: true,
      responses: { 200: { description: PREVIEW, body: PreviewTemplateResponse } },
    },
    async (scope, { body }) => ok(await previewDraft(scope, body)),
  ),
  endpoint(
    'POST /notifications/templates/{id}/test',
    {
      id: 'admin_notification_templates_test',
      summary: 'Send a notification template to a user now, once, as a test',
      params: z.object({ id: IdOrKey }),
      body: TestTemplateRequest,
      responses: {
        200: {
          description: 'Whether the provider took the message, and if not, why.',
          body: TestTemplateResponse,
        },
      },
    },
    { find },
    async (scope, { body }, found) => ok(await sendTest(scope, found, body.userId)),
  ),
  endpoint(
    'GET /notifications/log',
    {
      id: 'admin_notifications_log',
      summary: 'List emails and push messages to users, newest first',
      query: LogQuery,
      secret: true,
      responses: { 200: pageResponse('The page, newest first.', NotificationLogResponse) },
    },
    async (scope, { query }) => {
      const { items, next } = await readLog(scope, query)
      return longPage(scope, query, { items: await listed(items), next })
    },
  ),
  endpoint(
    'GET /notifications/channels',
    {
      id: 'admin_notifications_channels',
      summary: 'Get the providers that are configured for email and push messages',
      responses: { 200: { description: 'The channels.', body: NotificationChannelsResponse } },
    },
    async (scope) => ok(configuredProviders(scope)),
  ),
]
