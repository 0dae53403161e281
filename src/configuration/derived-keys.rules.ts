import { unreachable } from '../lib/errors'
import type { Boost, Configuration, Template, Trigger, Webhook } from './configuration.types'

/*
 * The keys of triggers, boosts, webhooks and templates that are created without one (O2). The migration
 * 0014_keys derives the keys of older ones in the same way.
 */

/** The most characters of a derived key, without its suffix. So it is never too long (G5). */
const MOST_CHARACTERS = 200

/** The key of a trigger: its type and its condition, such as `metric-words-50`. */
export function triggerKey(
  { metrics, achievements }: Pick<Configuration, 'metrics' | 'achievements'>,
  trigger: Omit<Trigger, 'key'>,
): string {
  const keyOf = (list: readonly { id: string; key: string }[], id: string | null) =>
    list.find((one) => one.id === id)?.key ?? 'unknown'
  switch (trigger.type) {
    case 'metric':
      return `metric-${keyOf(metrics, trigger.metricId)}-${trigger.metricThreshold}`
    case 'achievement':
      return `achievement-${keyOf(achievements, trigger.achievementId)}`
    case 'streak':
      return `streak-${trigger.streakLength}`
    case 'time':
      return `time-${trigger.timeInterval}-${trigger.timeUnit}`
    case 'user_creation':
      return 'user_creation'
    default:
      return unreachable(trigger.type)
  }
}

/** The end of an id: random digits, which no other resource of the tenant has. */
const tail = (id: string) => id.slice(-12)

/** The key of a boost: its first date, such as `boost-2026-01-31`. A boost of one user: the end of its id. */
const boostKey = ({ id, start, userId }: Omit<Boost, 'key'>): string =>
  userId === null ? `boost-${start}` : `user-boost-${tail(id)}`

/** The key of a webhook: the host of its URL, such as `example-com`. */
export function webhookKey({ url }: Pick<Webhook, 'url'>): string {
  const host = new URL(url).host.replaceAll(/[.:]/g, '-').replaceAll(/[[\]]/g, '')
  return /^[a-zA-Z0-9_-]+$/.test(host) ? host : 'webhook'
}

/** The key of a template: type and channel, such as `recap-email`. */
export const templateKey = ({ type, channel }: Pick<Template, 'type' | 'channel'>): string =>
  `${type}-${channel}`

/** The first free key of `key`, `key-2`, `key-3` and so on. */
export function freeKey(key: string, taken: ReadonlySet<string>): string {
  const base = key.slice(0, MOST_CHARACTERS)
  for (let n = 1; ; n += 1) {
    const candidate = n === 1 ? base : `${base}-${n}`
    if (!taken.has(candidate)) return candidate
  }
}

/**
 * The free key of a boost. If the derived key is taken, the suffix is the end of the id: users' own boosts
 * are not in memory, so their keys can't be counted through.
 */
export function freeBoostKey(boost: Omit<Boost, 'key'>, taken: ReadonlySet<string>): string {
  const key = boostKey(boost)
  return taken.has(key) ? `${key}-${tail(boost.id)}` : key
}

/** The issue of a key that another resource of its kind has. `what` is the kind, such as `trigger`. */
export const keyTaken = (key: string, what: string): string =>
  `The key "${key}" is taken by another ${what}. Choose another key.`
