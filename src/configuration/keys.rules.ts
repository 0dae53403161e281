import type { AttributeType } from './enumerations'
import type { Achievement, Boost, Configuration, Filter, Template, Trigger, Webhook } from './model'
import { TRIGGER_FIELDS } from './trigger-types'

/*
 * Keys of resources: the ones that triggers, boosts, webhooks and templates get if they are created without one
 * (O2), and those by which items of requests refer to other resources (O1).
 */

/** The most characters of the key that an achievement gets from its name, without its suffix (A1). */
const MOST_OF_NAME = 80

/** The most characters of a derived key, without its suffix. So it is never too long (G5). */
const MOST_CHARACTERS = 200

/** The key of a trigger: its type and the values of the fields of the type, such as `metric-words-50`. */
export function triggerKey(
  { metrics, achievements }: Pick<Configuration, 'metrics' | 'achievements'>,
  trigger: Omit<Trigger, 'key'>,
): string {
  const { type, metricId, achievementId, timeInterval, timeUnit } = trigger
  // The number comes first in `time-2-days`.
  if (type === 'time') return `time-${timeInterval}-${timeUnit}`
  const keyOf = (list: readonly { id: string; key: string }[], id: string | null) =>
    list.find((one) => one.id === id)?.key ?? 'unknown'
  const values = {
    ...trigger,
    metricId: keyOf(metrics, metricId),
    achievementId: keyOf(achievements, achievementId),
  }
  return [type, ...TRIGGER_FIELDS[type].map((field) => values[field])].join('-')
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

/** The key of an achievement: its name, such as `first-lesson`, or its trigger if nothing is left of that (A1). */
export function achievementKey({ name, trigger }: Pick<Achievement, 'name' | 'trigger'>): string {
  const trimmed = (text: string) => text.replace(/^-+/, '').replace(/(?<!-)-+$/, '')
  const words = name.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '-')
  return trimmed(trimmed(words).slice(0, MOST_OF_NAME)) || trigger
}

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

/** A filter of a request: it names its attribute by id, by key, or by both. Without an id, it is empty. */
type AskedFilter = Filter & { attributeKey?: string | undefined }

type References = {
  metricId?: string | null | undefined
  metricKey?: string | undefined
  pointsSystemId?: string | null | undefined
  pointsSystemKey?: string | undefined
  achievementId?: string | null | undefined
  achievementKey?: string | undefined
  achievementIds?: readonly string[] | null | undefined
  achievementKeys?: readonly string[] | undefined
  breakdownAttributes?: readonly string[] | undefined
  breakdownAttributeKeys?: readonly string[] | undefined
  userAttributes?: readonly AskedFilter[] | null | undefined
  eventAttributes?: readonly AskedFilter[] | null | undefined
}

type Named = { id: string; key: string }

/** The problem of an item's reference. It becomes an issue of the item (G7). */
class ReferenceProblem extends Error {}

function idsOf(
  resources: readonly Named[],
  keys: readonly string[],
  field: string,
  kind: string,
  list: string,
) {
  return keys.map((key) => {
    const found = resources.find((one) => one.key === key)
    if (found === undefined) {
      throw new ReferenceProblem(`${field}: no ${kind} has the key "${key}". Take the keys from GET ${list}.`)
    }
    return found.id
  })
}

function compare(
  ids: readonly string[] | null | undefined,
  found: readonly string[],
  idField: string,
  keyField: string,
) {
  if (ids != null && JSON.stringify(ids) !== JSON.stringify(found)) {
    throw new ReferenceProblem(
      `${idField} and ${keyField} name different resources. Pass only one of the two.`,
    )
  }
}

function filtersOf(
  { attributes }: Pick<Configuration, 'attributes'>,
  type: AttributeType,
  asked: readonly AskedFilter[],
): Filter[] {
  const ofType = attributes.filter((attribute) => attribute.type === type)
  return asked.map(({ attributeId, attributeKey, attributeValue }) => {
    if (attributeKey === undefined) return { attributeId, attributeValue }
    const [id = ''] = idsOf(ofType, [attributeKey], 'attributeKey', `${type} attribute`, '/attributes')
    compare(attributeId === '' ? null : [attributeId], [id], 'attributeId', 'attributeKey')
    return { attributeId: id, attributeValue }
  })
}

/** The item with the ids of all resources that it names by key, or the problem as a text (O1). */
export function withIds<I extends References>(config: Configuration, item: I): I | string {
  const { metrics, systems, achievements, attributes } = config
  const ids: References = {}
  const one = (
    idField: 'metricId' | 'pointsSystemId' | 'achievementId',
    keyField: 'metricKey' | 'pointsSystemKey' | 'achievementKey',
    ...[resources, kind, list]: [readonly Named[], string, string]
  ) => {
    const key = item[keyField]
    if (key === undefined) return
    const [id = ''] = idsOf(resources, [key], keyField, kind, list)
    const asked = item[idField]
    compare(asked == null ? null : [asked], [id], idField, keyField)
    ids[idField] = id
  }
  const several = (
    idField: 'achievementIds' | 'breakdownAttributes',
    keyField: 'achievementKeys' | 'breakdownAttributeKeys',
    ...[resources, kind, list]: [readonly Named[], string, string]
  ) => {
    const keys = item[keyField]
    if (keys === undefined) return
    const found = idsOf(resources, keys, keyField, kind, list)
    compare(item[idField], found, idField, keyField)
    ids[idField] = found
  }
  try {
    one('metricId', 'metricKey', metrics, 'metric', '/metrics')
    one('pointsSystemId', 'pointsSystemKey', systems, 'points system', '/points')
    one('achievementId', 'achievementKey', achievements, 'achievement', '/achievements')
    several('achievementIds', 'achievementKeys', achievements, 'achievement', '/achievements')
    const ofUsers = attributes.filter(({ type }) => type === 'user')
    several('breakdownAttributes', 'breakdownAttributeKeys', ofUsers, 'user attribute', '/attributes')
    for (const type of ['user', 'event'] as const) {
      const filters = item[`${type}Attributes`]
      if (filters) ids[`${type}Attributes`] = filtersOf(config, type, filters)
    }
  } catch (error) {
    if (error instanceof ReferenceProblem) return error.message
    throw error
  }
  return { ...item, ...ids }
}

/** The reason why filters can't be configured, or null. Each filter must name an attribute of this type. */
export function filterProblem(
  config: Configuration,
  type: AttributeType,
  filters: readonly Filter[],
): string | null {
  const isKnown = ({ attributeId }: Filter) =>
    config.attributes.some((attribute) => attribute.id === attributeId && attribute.type === type)
  const unknown = filters.find((filter) => !isKnown(filter))
  if (unknown === undefined) return null
  return `No ${type} attribute has the attributeId ${unknown.attributeId}. Take one from GET /attributes.`
}
