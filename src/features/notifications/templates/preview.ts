import * as z from 'zod'
import { limitTestMessages } from '../../../access/access'
import { UserId, withIssues } from '../../../api/fields'
import { madeFields } from '../../../configuration/audit.rules'
import { noteAhead } from '../../../configuration/audit.sql.ts'
import { configurationOf } from '../../../configuration/configuration'
import { NOTIFICATION_CHANNELS, type NotificationType } from '../../../configuration/enumerations'
import { templateKey } from '../../../configuration/keys.rules'
import type { Configuration, Template } from '../../../configuration/model'
import type { Instant } from '../../../lib/clock'
import { fromMicros } from '../../../lib/decimal'
import { errors, type FieldError, throwIfInvalid, unreachable } from '../../../lib/errors'
import { newId } from '../../../lib/new-id'
import { dateOfDay, dayIn, periodEnd, periodStart, periodsBefore } from '../../../lib/zone'
import type { Scope } from '../../../platform/context'
import type { UserState } from '../../../rules/state'
import { stateOf } from '../../../store/users/users.sql.ts'
import type { Attempt } from '../../../webhooks/delivery/messages'
import { notificationAdapter } from '../channel'
import {
  type AchievementReason,
  isReachable,
  type Notification,
  type NotificationReason,
  notificationIn,
  type RecapReason,
  titleIn,
  userWants,
} from '../notification'
import { providerOf } from '../providers/push'
import { template } from '../template.resource'
import { textOfHtml } from './plain-text.rules'
import { messageBuilderOf } from './render'

export const PreviewTemplateRequest = z.object({ userId: UserId }).meta({ id: 'PreviewTemplateRequest' })

/** A template that is not stored, and the user for its preview. */
export const PreviewDraftRequest = z
  .object({ userId: UserId, template: template.CreateItem })
  .meta({ id: 'PreviewDraftRequest' })

/** The notification that a user would get. Only emails have `subject`, `text` and `headers`. */
export const PreviewTemplateResponse = withIssues(
  'PreviewTemplateResponse',
  z.object({
    channel: z.enum(NOTIFICATION_CHANNELS),
    subject: z.string().optional(),
    title: z.string().optional(),
    body: z.string(),
    text: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
)

/** An achievement for tenants that have none. */
const INVENTED = {
  key: 'first-steps',
  name: 'First steps',
  description: 'An example: you have configured no achievements.',
  badgeUrl: null,
}
/** The gain of a metric or points system, for users who have nothing. */
const GAIN = 5

/** A reason for a preview: from the user's state, or an invented one if the state has none. */
function sampleReason(
  config: Configuration,
  user: UserState,
  type: NotificationType,
  now: Instant,
): NotificationReason {
  switch (type) {
    case 'achievement_completed':
      return achievement(config, user, now)
    case 'recap':
      return recap(config, user, now)
    case 'reactivation': {
      const since = user.activeDay === null ? 0 : dayIn(user.profile.tz, now) - user.activeDay
      return { type, messageNumber: 1, daysSinceLastActive: since > 0 ? since : 3 }
    }
    case 'streak_reminder':
      return { type }
    default:
      return unreachable(type)
  }
}

/** The achievement that the user completed last. Otherwise one that the user could complete. */
function achievement({ achievements }: Configuration, user: UserState, now: Instant): AchievementReason {
  const type = 'achievement_completed'
  const had = achievements.flatMap(({ id }) => {
    const completion = user.achievements.get(id)
    return completion === undefined ? [] : [{ id, at: completion.at }]
  })
  const [last] = had.sort((a, b) => b.at - a.at)
  if (last !== undefined) return { type, achievementId: last.id, achievedAt: last.at }
  const any = achievements.find(({ status }) => status === 'active') ?? achievements[0]
  return { type, achievementId: any?.id ?? user.iid, achievedAt: now, called: INVENTED }
}

/** The period that ended last, as if the user had gained everything in it. */
function recap({ settings, metrics, systems }: Configuration, user: UserState, now: Instant): RecapReason {
  const { aggregationPeriod: frequency } = settings
  const start = periodsBefore(periodStart(dayIn(user.profile.tz, now), frequency), 1, frequency)
  const gained = (total: number) => (total === 0 ? { change: GAIN, total: GAIN } : { change: total, total })
  return {
    type: 'recap',
    periodStart: dateOfDay(start),
    periodEnd: dateOfDay(periodEnd(start, frequency)),
    frequency,
    metrics: metrics.map(({ id }) => {
      const counter = user.metrics.get(id)
      return { metricId: id, ...gained(counter === undefined ? 0 : fromMicros(counter.total)) }
    }),
    points: systems.map(({ id }) => ({ systemId: id, ...gained(user.points.get(id) ?? 0) })),
  }
}

/** The message to a user by a template. Throws 422 without such a user, or if it can't be rendered. */
async function messageTo(
  scope: Scope,
  template: Template,
  userId: string,
): Promise<{ user: UserState; message: Notification }> {
  const { now } = scope
  const config = await configurationOf(scope)
  const user = await stateOf(scope, userId)
  if (user === null) {
    throw errors.invalid([{ path: 'userId', message: 'must be the id of an existing user' }])
  }
  const reason = { about: sampleReason(config, user, template.type, now) }
  const message = await messageBuilderOf(scope, config)(user, { reason, at: now }, template)
  const { fault } = message
  if (fault !== undefined) throw errors.unprocessable(`The template can't be rendered. ${fault}.`)
  return { user, message }
}

/** A preview of a notification. Throws 422 like `messageTo`. */
export async function previewTemplate(
  scope: Scope,
  template: Template,
  { userId }: z.output<typeof PreviewTemplateRequest>,
): Promise<z.infer<typeof PreviewTemplateResponse>> {
  const { message } = await messageTo(scope, template, userId)
  const { channel, title, body, headers } = message
  return channel === 'push'
    ? { channel, title, body }
    : { channel, subject: title, body, text: textOfHtml(body), headers }
}

/** A preview of a notification by a template that is not stored. Throws 422 like `previewTemplate`. */
export async function previewDraft(
  scope: Scope,
  { userId, template: given }: z.output<typeof PreviewDraftRequest>,
): Promise<z.infer<typeof PreviewTemplateResponse>> {
  const { now, origin } = scope
  const { subject, title, userAttributes, ...fields } = given
  return previewTemplate(
    scope,
    {
      ...fields,
      id: newId(now),
      created: now,
      updated: now,
      key: templateKey(given),
      title: titleIn({ subject, title }, fields.channel) ?? '',
      userAttributes: userAttributes ?? [],
      origin: origin ?? '',
    },
    { userId },
  )
}

/** The user who gets a test message. */
export const TestTemplateRequest = z.object({ userId: UserId }).meta({ id: 'TestTemplateRequest' })

/** The outcome of a test message. `reason` says why it was not sent, and what to do (N4). */
export const TestTemplateResponse = withIssues(
  'TestTemplateResponse',
  z.object({
    channel: z.enum(NOTIFICATION_CHANNELS),
    status: z.enum(['sent', 'failed', 'unsent: no provider']),
    reason: z.string().nullable(),
  }),
)

type Result = z.infer<typeof TestTemplateResponse>

/** The variables that a provider of push messages needs. */
const PUSH_VARIABLES = {
  expo: 'EXPO_ACCESS_TOKEN or EXPO_URL',
  apns: 'APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC',
  fcm: 'FCM_SERVICE_ACCOUNT',
} as const

/**
 * Sends a message by a template, also an inactive one, to a user now, once (N4). It is in the audit log, not
 * in the log of messages. Throws 422 if the template can't be rendered, or if the user can't get such
 * messages (N1), and 429 after too many tests.
 */
export async function sendTest(scope: Scope, template: Template, userId: string): Promise<Result> {
  const { now, tenant } = scope
  const { user, message } = await messageTo(scope, template, userId)
  throwIfInvalid(addresseeErrors(user, template))
  await limitTestMessages(scope, tenant.id)
  await logTest(scope, template, user)
  const queued = {
    id: newId(now),
    at: now,
    seq: 0,
    subject: user.iid,
    event: template.type,
    body: JSON.stringify(message),
  }
  return resultOf(await notificationAdapter(scope, template.channel).attempt(queued, now), message)
}

/** Why a user can't get messages of a template, with the way to change that (N1, U5). */
function addresseeErrors(user: UserState, { type, channel }: Template): FieldError[] {
  if (isReachable(user, type, channel)) return []
  const { email, subscribeToEmails } = user.profile
  const message = user.control
    ? 'must be a user outside the control group, which gets no messages'
    : !userWants(user, type, channel)
      ? `must be a user whose preferences allow ${type} by ${channel}`
      : channel === 'push'
        ? 'must be a user with a device token'
        : email !== null && !subscribeToEmails
          ? 'must be a user who has not unsubscribed from emails'
          : 'must be a user with an email address'
  return [{ path: 'userId', message }]
}

/** Stores the entry of the audit log before the message is sent to a provider. */
function logTest(
  scope: Scope,
  { id: resourceId, key, type, channel }: Template,
  user: UserState,
): Promise<void> {
  return noteAhead(scope, {
    action: 'send_sample',
    kind: 'notification_template',
    resourceId,
    key,
    user: { iid: user.iid },
    // The internal id: the log never has the external one.
    fields: madeFields({ user: user.iid, type, channel }),
  })
}

function resultOf(attempt: Attempt, message: Notification): Result {
  const { channel } = message
  switch (attempt.kind) {
    case 'delivered':
      return { channel, status: 'sent', reason: null }
    case 'unsent':
      return { channel, status: 'unsent: no provider', reason: missing(message) }
    case 'refused':
    case 'postponed':
      return { channel, status: 'failed', reason: attempt.error }
    case 'failed': {
      // Some devices were reached, others were not.
      const rest = attempt.body === undefined ? null : notificationIn({ body: attempt.body })
      const isSent = rest?.channel === 'push' && rest.taken > 0
      return { channel, status: isSent ? 'sent' : 'failed', reason: attempt.error }
    }
    default:
      return unreachable(attempt)
  }
}

function missing(message: Notification): string {
  if (message.channel === 'email')
    return 'No provider of emails is configured. Set EMAIL_FROM and RESEND_API_KEY, or the binding EMAIL.'
  const needed = [...new Set(message.tokens.map(providerOf))].map((provider) => PUSH_VARIABLES[provider])
  return `No provider is configured for the devices of this user. Set ${needed.join(', or ')}.`
}
