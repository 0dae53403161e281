import type * as z from 'zod'
import type { Scope, TenantContext } from '../../context'
import { iso } from '../../shared/clock'
import { LogReply } from '../couriers/courier.messages'
import { courierOf } from '../couriers/couriers.service'
import { notificationIn } from './letters'
import type { Channel } from './notifications'
import type { NotificationLogEntry } from './notifications.schemas'

type Entry = z.infer<typeof NotificationLogEntry>

/** A letter as its courier tells of it. */
type Carried = z.output<typeof LogReply>[number]

/** The letters of a channel, newest first: this is all that the log knows of couriers. */
async function carried(
  context: TenantContext,
  kind: Channel,
  page: { limit: number; skip: number },
): Promise<Carried[]> {
  return LogReply.parse(await courierOf(context, { kind, tenantId: context.db.tenantId }).log(page))
}

/** A page of what users were told, by both channels, newest first (N4). */
export async function readLog(
  scope: Scope,
  { limit, skip }: { limit: number; skip: number },
): Promise<Entry[]> {
  const places = await placesAfter(scope, skip)
  if (places === null) return []
  const [email, push] = await Promise.all([
    carried(scope, 'email', { limit, skip: places.email }),
    carried(scope, 'push', { limit, skip: places.push }),
  ])
  return merged(email, push).slice(0, limit).map(entryOf)
}

/**
 * How many letters of each channel the newest so many are; null where there are no more. Of two lists in order, the first half of the
 * one that is ahead there is passed over as a whole, so that few letters are read however many there are.
 */
async function placesAfter(scope: Scope, count: number): Promise<{ email: number; push: number } | null> {
  const places = { email: 0, push: 0 }
  let step = Math.ceil(count / 2)
  for (let left = count; left > 0; ) {
    step = Math.min(step, Math.ceil(left / 2))
    const [[email], [push]] = await Promise.all([
      carried(scope, 'email', { limit: 1, skip: places.email + step - 1 }),
      carried(scope, 'push', { limit: 1, skip: places.push + step - 1 }),
    ])
    if (email === undefined && push === undefined) {
      if (step === 1) return null
      step = Math.floor(step / 2)
      continue
    }
    places[isAhead(email, push) ? 'email' : 'push'] += step
    left -= step
  }
  return places
}

/** Whether a letter by email comes before one by push; of the same moment, it does. */
const isAhead = (email: Carried | undefined, push: Carried | undefined): boolean =>
  email !== undefined && (push === undefined || email.at >= push.at)

function merged(email: readonly Carried[], push: readonly Carried[]): Carried[] {
  const list: Carried[] = []
  for (let [e, p] = [0, 0]; e < email.length || p < push.length; ) {
    const isEmail = isAhead(email[e], push[p])
    const next = isEmail ? email[e++] : push[p++]
    if (next !== undefined) list.push(next)
  }
  return list
}

function entryOf(letter: Carried): Entry {
  const notification = notificationIn(letter)
  const { userId, type, channel, title, body, headers, fault } = notification
  const status = statusOf(letter.status)
  // Some devices have it, although others could never be reached.
  const isPartly = notification.channel === 'push' && notification.taken > 0 && status === 'failed'
  return {
    id: letter.id,
    userId,
    type,
    channel,
    status: isPartly ? 'sent' : status,
    title,
    body: fault === undefined ? body : `The template could not be rendered. ${fault}.`,
    headers,
    created: iso(letter.at),
  }
}

function statusOf(status: string): Entry['status'] {
  if (status === 'pending') return 'pending'
  if (status === 'delivered') return 'sent'
  return status.startsWith('unsent') ? 'unsent: no provider' : 'failed'
}
