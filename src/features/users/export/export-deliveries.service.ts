import type * as z from 'zod'
import type { Configuration } from '../../../configuration/configuration.types'
import { NOTIFICATION_CHANNELS } from '../../../configuration/enumerations.types'
import { iso } from '../../../lib/clock'
import type { Scope } from '../../../platform/context'
import type { UserState } from '../../../rules/state.types'
import { type Destination, HeldReply, type Place } from '../../../webhooks/delivery/queue.messages'
import { deliveryQueueOf } from '../../../webhooks/delivery/queue.service'
import type { UserExport } from './export.schemas'

type Export = z.input<typeof UserExport>
type User = Pick<UserState, 'iid'>

/** Deliveries of webhook events about a user, sent and pending, by webhook, oldest first. */
export async function* deliveries(
  scope: Scope,
  { webhooks }: Pick<Configuration, 'webhooks'>,
  user: User,
): AsyncGenerator<Export['deliveries']> {
  const tenantId = scope.tenant.id
  for (const { id: webhookId } of webhooks) {
    for await (const page of messages(scope, { kind: 'webhook', tenantId, webhookId }, user))
      yield page.map(({ event, delivery }) => ({ webhookId, event, ...delivery }))
  }
}

/** Notifications to a user, sent and pending, by channel, oldest first. */
export async function* notifications(scope: Scope, user: User): AsyncGenerator<Export['notifications']> {
  for (const channel of NOTIFICATION_CHANNELS) {
    for await (const page of messages(scope, { kind: channel, tenantId: scope.tenant.id }, user))
      yield page.map(({ event, delivery }) => ({ channel, type: event, ...delivery }))
  }
}

async function* messages(scope: Scope, destination: Destination, { iid }: User) {
  let after: Place | null = null
  for (;;) {
    const request: { iid: string; after: Place | null } = { iid, after }
    const found = HeldReply.parse(await deliveryQueueOf(scope, destination).held(request))
    yield found.messages.map(({ place: _, event, body, created, nextAttempt, ...rest }) => ({
      event,
      delivery: {
        ...rest,
        created: iso(created),
        nextAttempt: nextAttempt === null ? null : iso(nextAttempt),
        payload: JSON.parse(body),
      },
    }))
    after = found.messages.at(-1)?.place ?? null
    if (!found.hasMore) return
  }
}
