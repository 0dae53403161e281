import type { Instant } from '../../lib/clock'
import { periodStart } from '../../lib/periods'
import { dayIn } from '../../lib/zone'
import type { UserState } from '../../rules/state.types'
import type { OutgoingMessage } from '../../webhooks/delivery/queue.messages'
import type { Notification } from './notification.messages'
import { isReachable } from './templates.rules'

const UNWANTED = 'the user does not want this any more'
const NO_DEVICE = 'the user has none of these devices any more'

/**
 * The last check before an attempt: why a message must not be sent to the user any more. Null if it may be
 * sent (N1, N2, U8).
 */
export function reasonNotToSend(
  notification: Notification,
  { at }: OutgoingMessage,
  user: UserState,
  now: Instant,
): string | null {
  const { type, channel } = notification
  if (!isReachable(user, type, channel)) return UNWANTED
  const { tz, deviceTokens } = user.profile
  const { frequency } = user.streak
  const rhythm = frequency === null || frequency === 'unknown' ? 'daily' : frequency
  const isOver = periodStart(dayIn(tz, now), rhythm) !== periodStart(dayIn(tz, at), rhythm)
  // In another period it is too late to extend the streak.
  if (type === 'streak_reminder' && isOver) return 'too late'
  if (notification.channel === 'email') return null
  return notification.tokens.some((token) => deviceTokens?.includes(token)) ? null : NO_DEVICE
}
