/** The variables of templates (N3, docs/notifications.md). */
import type { AdminNotificationTemplate } from '@laurel/client'
import type { Lookups, Named } from '../../resource/lookups'
import { nameOr, say } from '../../ui/text'

type Type = AdminNotificationTemplate['type']

/** A variable with its meaning. */
export type Variable = { name: string; about: string }

const USER: readonly Variable[] = [
  { name: 'user.id', about: 'the id of the user' },
  { name: 'user.name', about: 'the name' },
  { name: 'user.email', about: 'the email address' },
  { name: 'user.tz', about: 'the time zone, such as Asia/Tokyo' },
]

const BRANDING: readonly Variable[] = [
  { name: 'branding.appName', about: 'the name of your app, from the settings' },
  { name: 'branding.appUrl', about: 'its address' },
  { name: 'branding.brandColor', about: 'the colour of the brand' },
  { name: 'branding.fontFamily', about: 'its font, as a list for CSS' },
  { name: 'branding.logoUrl', about: 'the address of the logo' },
  { name: 'branding.appIconUrl', about: 'the address of the icon' },
]

const STREAK: readonly Variable[] = [
  { name: 'streak.length', about: 'the length of the streak' },
  { name: 'streak.frequency', about: 'daily, weekly or monthly' },
  { name: 'streak.started', about: 'the first day of the streak' },
  { name: 'streak.expires', about: 'the last day on which the streak can be kept' },
]

/** The variables of one type only. */
const OF_TYPE: Readonly<Record<Type, readonly Variable[]>> = {
  streak_reminder: [],
  achievement_completed: [
    { name: 'achievement.name', about: 'the name of the achievement' },
    { name: 'achievement.description', about: 'its description' },
    { name: 'achievement.key', about: 'its key' },
    { name: 'achievement.id', about: 'its id' },
    { name: 'achievement.badgeUrl', about: 'the address of its badge' },
    { name: 'achievement.achievedAt', about: 'when it was completed, in UTC' },
  ],
  recap: [
    { name: 'recap.periodStart', about: 'the first day of the week or month' },
    { name: 'recap.periodEnd', about: 'its last day' },
    { name: 'recap.frequency', about: 'weekly or monthly' },
    { name: 'recap.metrics', about: 'a list of the metrics that changed: name, key, units, change, total' },
    { name: 'recap.points', about: 'a list of the points that changed: name, key, change, total' },
  ],
  reactivation: [
    { name: 'reactivation.daysSinceLastActive', about: 'days without an event: 3, 5, 7, 14 or 30' },
    { name: 'reactivation.messageNumber', about: 'the number of this message: 1 to 5' },
  ],
}

/** The variables of configured things, by their keys. A key with a dash needs brackets. */
const variablesIn = (of: string, things: readonly Named[], what: string): Variable[] =>
  things.map(({ key, name }) => ({
    name: /^[A-Za-z_]\w*$/.test(key) ? `${of}.${key}` : `${of}["${key}"]`,
    about: `${what} ${say`${nameOr(name, key)}`}`,
  }))

/** All variables of a type and channel of templates, with the keys of the tenant. */
export function variablesOf(
  { type, channel }: Pick<AdminNotificationTemplate, 'type' | 'channel'>,
  { points, metrics, attributes }: Lookups,
): Variable[] {
  return [
    ...OF_TYPE[type],
    ...USER,
    ...variablesIn(
      'user.attributes',
      attributes.all.filter(({ type }) => type === 'user'),
      'the attribute',
    ),
    ...STREAK,
    ...BRANDING,
    ...variablesIn('points', points.all, 'the total of'),
    ...variablesIn('metrics', metrics.all, 'the total of'),
    ...(channel === 'email' ? [{ name: 'unsubscribeUrl', about: 'the link that ends these emails' }] : []),
  ]
}

const PATH = String.raw`[A-Za-z_]\w*(?:\.[\w-]+|\["[^"]*"\]|\['[^']*'\])*`
const OUTPUT = new RegExp(String.raw`\{\{-?\s*(${PATH})`, 'g')
/** Names that a template gives itself. */
const OWN = /\{%-?\s*(?:for|assign|capture|tablerow|increment|decrement)\s+(\w+)/g
const CONSTANTS = new Set(['true', 'false', 'nil', 'null', 'empty', 'blank', 'forloop', 'tablerowloop'])

/** A variable in one spelling: `points.demo-xp` for `points["demo-xp"]`. */
const plainOf = (name: string) => name.replaceAll(/\[["']([^"']*)["']\]/g, '.$1')

/** The outputs of a text that are no variables. They would be empty in a message. */
export function unknownIn(text: string, variables: readonly Variable[]): string[] {
  const own = new Set([...text.matchAll(OWN)].map(([, name]) => name))
  const known = variables.map(({ name }) => plainOf(name))
  const isKnown = (name: string) => {
    const [first = ''] = name.split('.')
    if (own.has(first) || CONSTANTS.has(first)) return true
    return known.some((one) => name === one || name.startsWith(`${one}.`))
  }
  const found = [...text.matchAll(OUTPUT)].map(([, name = '']) => name)
  return [...new Set(found)].filter((name) => !isKnown(plainOf(name)))
}
