import type { NotificationChannel } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { dayIn, periodStart } from '../../lib/zone'
import type { TenantContext } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { logProblem } from '../../platform/log'
import type { UserState } from '../../rules/state'
import { removeDeviceTokens } from '../../store/users/devices.sql.ts'
import type { Attempt, ChannelAdapter, OutgoingMessage } from '../../webhooks/delivery/messages'
import { isReachable, type Notification, notificationIn, type PushNotification } from './notification'
import { cloudflareEmail, type EmailPort, resendEmail } from './providers/email'
import {
  accessTokensOf,
  apnsPush,
  expoPush,
  fcmPush,
  type PushPort,
  type PushResult,
  providerOf,
} from './providers/push'
import { isInDanger } from './schedule.rules'
import { readUsers } from './schedule.sql.ts'
import { textOfHtml } from './templates/plain-text.rules'

const UNWANTED = 'the user does not want this any more'
const IS_SAFE = 'the streak is not in danger any more'
const NO_DEVICE = 'the user has none of these devices any more'

/** The last check before an attempt: why a message must not be sent any more, or null (N1, N2, U8). */
function reasonNotToSend(
  notification: Notification,
  { at }: OutgoingMessage,
  user: UserState,
  now: Instant,
  config: Configuration | null,
): string | null {
  const { type, channel } = notification
  if (!isReachable(user, type, channel)) return UNWANTED
  const { tz, deviceTokens } = user.profile
  const { frequency } = user.streak
  const rhythm = frequency === null || frequency === 'unknown' ? 'daily' : frequency
  const isOver = periodStart(dayIn(tz, now), rhythm) !== periodStart(dayIn(tz, at), rhythm)
  // In another period it is too late to extend the streak.
  if (type === 'streak_reminder' && isOver) return 'too late'
  if (type === 'streak_reminder' && config !== null && !isInDanger(config, user, now)) return IS_SAFE
  const isBack = user.activeDay !== null && user.activeDay >= dayIn(tz, at)
  if (type === 'reactivation' && config !== null && isBack) return 'the user has come back'
  if (notification.channel === 'email') return null
  return notification.tokens.some((token) => deviceTokens?.includes(token)) ? null : NO_DEVICE
}

const PUSH_PROVIDERS = ['expo', 'apns', 'fcm'] as const

/** No provider is configured (N4). */
const UNSENT: Attempt = { kind: 'unsent', error: 'unsent: no provider' }
const UNREAD: Attempt = { kind: 'failed', status: null, error: 'the user could not be read' }

/**
 * Sends a tenant's notifications by the providers in the deployment's variables, as configured now (N4). Without a
 * configuration, it sends a test, also to a user whose streak is safe, or who is active.
 */
export function notificationAdapter(
  context: TenantContext,
  channel: NotificationChannel,
  config: Configuration | null = null,
): ChannelAdapter {
  const email = channel === 'email' ? emailPort(context) : null
  return {
    // Most devices replace a push message that arrives twice; the others show it twice. An email must not
    // arrive twice.
    mayRepeat: channel === 'push' || email?.mayRepeat === true,
    async attempt(queuedMessage, now) {
      const notification = notificationIn(queuedMessage)
      const { fault, title, body, headers } = notification
      if (fault !== undefined) return refused(fault)
      const user = await presentUser(context, notification)
      if (user === 'unread') return UNREAD
      if (user === null) return refused('the user is gone')
      const problem = reasonNotToSend(notification, queuedMessage, user, now, config)
      if (problem !== null) return refused(problem)
      if (notification.channel === 'push') {
        const tokens = notification.tokens.filter((token) => user.profile.deviceTokens?.includes(token))
        return pushed(context, queuedMessage, { ...notification, tokens })
      }
      const from = context.variables.EMAIL_FROM
      if (email === null || from === undefined) return UNSENT
      const to = user.profile.email ?? notification.to
      const { id } = queuedMessage
      return email.send({ id, from, to, subject: title, html: body, text: textOfHtml(body), headers })
    },
  }
}

const refused = (error: string): Attempt => ({ kind: 'refused', status: null, error })

/**
 * The user as of now, maybe hours after the last attempt. Null if the user was erased, even if a new user has
 * the id. `unread` if the read failed: nothing was sent, so even an email is tried again.
 */
async function presentUser(
  context: TenantContext,
  { userId, iid }: Notification,
): Promise<UserState | null | 'unread'> {
  const db = databaseOf(context, userId)
  try {
    const { users } = await readUsers(db, [userId])
    return users.find((user) => user.iid === iid) ?? null
  } catch (error) {
    logProblem('error', { tenant: db.tenantId, error: `user not read: ${String(error)}` })
    return 'unread'
  }
}

const databaseOf = ({ databases, db }: TenantContext, userId: string): TenantDatabase =>
  databases.usersOf(db.tenantId).of(userId)

/** The providers of a channel that are configured, by their names (N4). */
export function configuredProviders(context: TenantContext) {
  const { EMAIL_FROM: from, RESEND_API_KEY: resend } = context.variables
  const used = resend === undefined ? ('cloudflare' as const) : ('resend' as const)
  const email = from === undefined || emailPort(context) === null ? [] : [used]
  return { email, push: PUSH_PROVIDERS.filter((provider) => pushPort(context, provider) !== null) }
}

function emailPort({ env, variables }: TenantContext): EmailPort | null {
  const { RESEND_API_KEY: key, RESEND_URL: url } = variables
  if (key !== undefined) return resendEmail({ key, url })
  return env.EMAIL === undefined ? null : cloudflareEmail(env.EMAIL)
}

function pushPort(
  { variables, instance }: TenantContext,
  provider: ReturnType<typeof providerOf>,
): PushPort | null {
  const tokens = accessTokensOf(instance)
  switch (provider) {
    case 'expo': {
      const { EXPO_ACCESS_TOKEN: accessToken, EXPO_URL: url } = variables
      if (accessToken === undefined && url === undefined) return null
      return expoPush({ url: url ?? 'https://exp.host', accessToken })
    }
    case 'apns': {
      const { APNS_URL: url, APNS_KEY: key, APNS_KEY_ID: keyId } = variables
      const { APNS_TEAM_ID: teamId, APNS_TOPIC: topic } = variables
      if (key === undefined || keyId === undefined || teamId === undefined || topic === undefined) return null
      return apnsPush({ url, key, keyId, teamId, topic }, tokens)
    }
    case 'fcm': {
      const { FCM_SERVICE_ACCOUNT: account, FCM_URL: url } = variables
      return account === undefined ? null : fcmPush({ url, account }, tokens)
    }
  }
}

/** The result for one device; null if its provider is not configured. */
type Sent = { token: string; result: PushResult | null }

/** Sends to the devices not reached yet. Removes tokens that the provider reports as gone (N6). */
async function pushed(
  context: TenantContext,
  { id }: OutgoingMessage,
  notification: PushNotification,
): Promise<Attempt> {
  const { title, body, tokens, userId, iid } = notification
  const sent = await Promise.all(
    PUSH_PROVIDERS.map(async (provider): Promise<Sent[]> => {
      const own = tokens.filter((token) => providerOf(token) === provider)
      const port = own.length === 0 ? null : pushPort(context, provider)
      const results = port === null ? [] : await port.send({ id, title, body }, own)
      return own.map((token, index) => ({ token, result: results[index] ?? null }))
    }),
  )
  const all = sent.flat()
  const gone = all.filter(({ result }) => result?.kind === 'gone').map(({ token }) => token)
  if (gone.length > 0) await removeDeviceTokens(databaseOf(context, userId), { userId, iid }, gone)
  return attemptOf(notification, all)
}

/** One reached device makes a message delivered. Retries go only to the devices that may still be reached. */
function attemptOf(notification: PushNotification, all: readonly Sent[]): Attempt {
  const results = all.flatMap(({ result }) => result ?? [])
  const taken = notification.taken + results.filter(({ kind }) => kind === 'taken').length
  const failed = all.flatMap(({ token, result }) => (result?.kind === 'failed' ? [{ token, result }] : []))
  const [first] = failed
  if (first !== undefined) {
    const waits = failed.flatMap(({ result }) => result.retryAfter ?? [])
    const rest: PushNotification = { ...notification, tokens: failed.map(({ token }) => token), taken }
    return {
      kind: 'failed',
      status: first.result.status,
      error: first.result.error,
      ...(waits.length > 0 && { retryAfter: Math.max(...waits) }),
      body: JSON.stringify(rest),
    }
  }
  if (taken > 0)
    return { kind: 'delivered', status: results.find(({ kind }) => kind === 'taken')?.status ?? null }
  const refused = results.find((result) => result.kind === 'refused' || result.kind === 'gone')
  if (results.length < all.length || refused === undefined || !('error' in refused)) return UNSENT
  return { kind: 'refused', status: refused.status, error: refused.error }
}
