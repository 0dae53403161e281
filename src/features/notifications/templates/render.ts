import { streakResponse } from '../../../api/shapes/streaks'
import type { Font } from '../../../configuration/enumerations'
import type { Configuration, Template } from '../../../configuration/model'
import { type Instant, iso } from '../../../lib/clock'
import { fromMicros } from '../../../lib/decimal'
import { unreachable } from '../../../lib/errors'
import type { TenantContext } from '../../../platform/context'
import type { UserState } from '../../../rules/state'
import type { Notification, NotificationReason } from '../notification'
import { linkSecretOf, newLinkSecret, unsubscribeToken } from '../unsubscribe.routes'
import { type Parsed, parseLiquid, RenderError, renderLiquid } from './liquid'
import { inLowerCase } from './plain-text.rules'

/** The most characters of a subject, and bytes of a push message: providers accept 4,096 in all. */
const MOST_SUBJECT_CHARACTERS = 250
const PUSH_TITLE_BYTES = 512
const PUSH_BODY_BYTES = 2_800

type Ingredients = {
  config: Configuration
  template: Template
  user: UserState
  reason: NotificationReason
  now: Instant
}

/** Builds the message to a user from a template and the reason. */
export type MessageBuilder = (
  user: UserState,
  due: { reason: { about: NotificationReason }; at: Instant },
  template: Template,
) => Promise<Notification>

/** The message builder of a tenant. The first message reads the secret for the links of all of them. */
export function messageBuilderOf({ db, variables }: TenantContext, config: Configuration): MessageBuilder {
  // Before the first template there is no secret: the links of previews then lead nowhere.
  const read = async () => (await linkSecretOf(db, db.tenantId)) ?? newLinkSecret()
  let secret: Promise<string> | null = null
  return async (user, { reason, at }, template) => {
    secret ??= read()
    const linked = { tenantId: db.tenantId, iid: user.iid, userId: user.id }
    const token = await unsubscribeToken(await secret, linked)
    const url = `${variables.PUBLIC_URL ?? template.origin}/unsubscribe/${token}`
    return compose({ config, template, user, reason: reason.about, now: at }, url)
  }
}

/**
 * A notification to a user. `unsubscribeUrl` is the address of the link in an email (N3). If the template can't
 * be rendered, it has a `fault`, and goes to the log only.
 */
export function compose(ingredients: Ingredients, unsubscribeUrl: string): Notification {
  const { template, user } = ingredients
  const { type, channel } = template
  const common = { userId: user.id, iid: user.iid, type }
  const texts = rendered(ingredients, unsubscribeUrl)
  if (channel === 'push') {
    const tokens = [...new Set(user.profile.deviceTokens ?? [])]
    return { ...common, channel, ...texts, headers: {}, tokens, taken: 0 }
  }
  const headers = {
    'List-Unsubscribe': `<${unsubscribeUrl}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
  return { ...common, channel, ...texts, headers, to: user.profile.email ?? '' }
}

function rendered(
  { config, template, user, reason, now }: Ingredients,
  unsubscribeUrl: string,
): Pick<Notification, 'title' | 'body' | 'fault'> {
  const isEmail = template.channel === 'email'
  const variables = variablesOf({ config, user, reason, now }, isEmail ? unsubscribeUrl : null)
  const say = (field: string, text: Parsed) => {
    try {
      return renderLiquid(text, variables)
    } catch (error) {
      throw new RenderError(`${field}: ${error instanceof Error ? error.message : error}`)
    }
  }
  try {
    const { title, body } = parsedOf(template)
    const line = oneLine(say(isEmail ? 'subject' : 'title', title))
    const text = printable(say('body', body))
    return isEmail
      ? { title: cut(line, MOST_SUBJECT_CHARACTERS), body: withLink(text, unsubscribeUrl) }
      : { title: cutToBytes(line, PUSH_TITLE_BYTES), body: cutToBytes(text.trim(), PUSH_BODY_BYTES) }
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    return { title: '', body: '', fault: error.message }
  }
}

/** Templates are parsed once for as long as their configuration is in the cache. */
const parsed = new WeakMap<Template, { title: Parsed; body: Parsed }>()

function parsedOf(template: Template): { title: Parsed; body: Parsed } {
  const known = parsed.get(template)
  if (known !== undefined) return known
  const title = parseLiquid('text', template.title)
  const body = parseLiquid(template.channel === 'email' ? 'html' : 'text', template.body)
  // Only a template that another version of Laurel stored can fail here.
  if ('fault' in title) throw new RenderError(title.fault)
  if ('fault' in body) throw new RenderError(body.fault)
  parsed.set(template, { title, body })
  return { title, body }
}

/** The variables of all templates. The documentation lists them. */
function variablesOf(
  { config, user, reason, now }: Omit<Ingredients, 'template'>,
  unsubscribeUrl: string | null,
): object {
  const { profile } = user
  const { length, frequency, expires, started } = streakResponse(config, user, now)
  const attributes = config.attributes.flatMap(({ id, key, type }) => {
    const value = type === 'user' ? profile.attributes.get(id) : undefined
    return value === undefined ? [] : [[key, value]]
  })
  return {
    user: {
      id: user.id,
      name: profile.name,
      email: profile.email,
      tz: profile.tz ?? 'UTC',
      attributes: Object.fromEntries(attributes),
    },
    streak: { length, frequency, expires, started },
    points: Object.fromEntries(config.systems.map(({ id, key }) => [key, user.points.get(id) ?? 0])),
    metrics: Object.fromEntries(
      config.metrics.map(({ id, key }) => {
        const counter = user.metrics.get(id)
        return [key, counter === undefined ? 0 : fromMicros(counter.total)]
      }),
    ),
    branding: brandingVariables(config),
    ...reasonVariables(config, reason),
    ...(unsubscribeUrl !== null && { unsubscribeUrl }),
  }
}

/** The fonts of a brand as lists of fonts for CSS (T4). No name needs quotes. */
const FONT_FAMILIES: Readonly<Record<Font, string>> = {
  MODERN_SANS: 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif',
  BOOK_SANS: 'Optima, Candara, Noto Sans, Verdana, sans-serif',
  ORGANIC_SANS: 'Seravek, Gill Sans, Ubuntu, Calibri, DejaVu Sans, sans-serif',
  GEOMETRIC_SANS: 'Avenir, Montserrat, Corbel, URW Gothic, Century Gothic, sans-serif',
  HEAVY_SANS: 'Bahnschrift, DIN Alternate, Franklin Gothic Medium, Impact, sans-serif',
  ROUNDED_SANS: 'ui-rounded, Hiragino Maru Gothic ProN, Quicksand, Arial Rounded MT Bold, sans-serif',
  MODERN_SERIF: 'Charter, Sitka Text, Cambria, Georgia, serif',
  BOOK_SERIF: 'Iowan Old Style, Palatino Linotype, Palatino, Book Antiqua, serif',
  MONOSPACE: 'ui-monospace, SF Mono, Menlo, Consolas, Liberation Mono, monospace',
}

/** The tenant's brand (T4). An address that is not set is null. */
function brandingVariables({ settings }: Configuration): object {
  const { appUrl, font, logo, appIcon, ...rest } = settings.branding
  const [logoUrl, appIconUrl] = [logo?.url ?? null, appIcon?.url ?? null]
  return { ...rest, appUrl: appUrl || null, fontFamily: FONT_FAMILIES[font], logoUrl, appIconUrl }
}

function reasonVariables(config: Configuration, reason: NotificationReason): object {
  switch (reason.type) {
    case 'achievement_completed': {
      const { achievementId, called } = reason
      const found = config.achievements.find(({ id }) => id === achievementId) ?? called
      return {
        achievement: {
          id: achievementId,
          key: found?.key,
          name: found?.name,
          description: found?.description,
          badgeUrl: found?.badgeUrl,
          achievedAt: iso(reason.achievedAt),
        },
      }
    }
    case 'recap': {
      const { periodStart, periodEnd, frequency } = reason
      const metrics = reason.metrics.flatMap(({ metricId, change, total }) =>
        config.metrics
          .filter(({ id }) => id === metricId)
          .map(({ key, name, units }) => ({ key, name, units, change, total })),
      )
      const points = reason.points.flatMap(({ systemId, change, total }) =>
        config.systems
          .filter(({ id }) => id === systemId)
          .map(({ key, name }) => ({ key, name, change, total })),
      )
      return { recap: { periodStart, periodEnd, frequency, metrics, points } }
    }
    case 'reactivation': {
      const { messageNumber, daysSinceLastActive } = reason
      return { reactivation: { messageNumber, daysSinceLastActive } }
    }
    case 'streak_reminder':
      return {}
    default:
      return unreachable(reason)
  }
}

/** An email always shows the link, even if the template does not (N3). */
function withLink(html: string, url: string): string {
  if (html.includes(url)) return html
  const footer = `<p style="font-size:12px;color:#666"><a href="${url}">Unsubscribe</a></p>`
  const end = inLowerCase(html).lastIndexOf('</body>')
  return end < 0 ? `${html}\n${footer}` : `${html.slice(0, end)}${footer}\n${html.slice(end)}`
}

/** A text of one line. A subject is a header, and a line break in it would begin another header. */
const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()

/** A text without control characters except line breaks and tabs. */
const printable = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')

/** The beginning of a text, of at most `length` characters. Does not split a surrogate pair. */
const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`

/** The beginning of a text that takes at most `bytes` bytes as JSON. */
function cutToBytes(text: string, bytes: number): string {
  const size = (some: string) => new TextEncoder().encode(JSON.stringify(some)).byteLength
  let kept = cut(text, bytes)
  while (size(kept) > bytes)
    kept = cut(kept, Math.min(kept.length - 2, Math.floor((kept.length * bytes) / size(kept))))
  return kept
}
