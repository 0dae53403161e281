/** Parts that the forms of several resources share. */
import type { List } from '@laurel/client'
import { type FieldValues, get } from 'react-hook-form'
import { z } from 'zod'
import { formatDate, formatNumber } from '../ui/format'
import { numberOf } from '../ui/locale'
import { type Options, optionsOf } from '../ui/select'
import { say } from '../ui/text'
import { choicesOf, type Lookups } from './lookups'
import type { Field, Operations, Written } from './resource'
import { key, optionalText, picture, text } from './schemas'

/** Filters by attributes, as the interface has them. */
export type Filter = { attributeId: string; attributeValue: string }

/** The fields of filters, without their names in the form: attributes with the values that they must have. */
const filtersOf = (of: 'user' | 'event', label: string) => ({
  kind: 'rows' as const,
  label,
  one: 'filter',
  choice: {
    part: 'attributeId',
    none: 'Attribute…',
    options: ({ attributes }: Lookups) => choicesOf(attributes.all.filter(({ type }) => type === of)),
    labelOf: (index: number) => `Attribute ${index + 1}`,
  },
  text: {
    part: 'attributeValue',
    before: 'is',
    first: '',
    labelOf: (index: number) => `Value ${index + 1}`,
  },
  add: 'Filter',
  none: `There are no ${of} attributes yet. Create one under Attributes.`,
  inWords: (filters: readonly Filter[], lookups: Lookups) => filtersInWords(filters, lookups),
})
export const USER_FILTERS = filtersOf('user', 'Only for users whose')
export const EVENT_FILTERS = filtersOf('event', 'Counts only events whose')

/** Filters in words, after others: "users whose country is FR and plan is pro". Empty without any. */
export function filtersInWords(filters: readonly Filter[], { attributes }: Lookups, before = ''): string {
  const parts = filters
    .filter(({ attributeId }) => attributeId !== '')
    .map(
      ({ attributeId, attributeValue }) => say`${attributes.nameOf(attributeId)} is ${attributeValue || '…'}`,
    )
  return parts.length === 0 ? '' : `${before}${parts.join(' and ')}`
}

/** An amount of a metric: "5 lessons", "1 lesson". */
export function amountOf(value: string | number, metricId: string, { metrics }: Lookups): string {
  const metric = metrics.find(metricId)
  const units = metric?.units.trim() ?? ''
  const number = typeof value === 'number' ? value : numberOf(value)
  const amount = Number.isNaN(number) ? value : formatNumber(number)
  const isOpen = metricId === '' || metrics.isLoading
  if (units === '')
    return say`${amount} of ${metric ? metrics.nameOf(metricId) : isOpen ? 'the metric' : 'a deleted metric'}`
  // Units are the plural. Only the usual English one has a known singular.
  return amount === formatNumber(1) && /[^s]s$/.test(units)
    ? say`${amount} ${units.slice(0, -1)}`
    : say`${amount} ${units}`
}

/** The same as an occasion that comes again: "every 5 lessons", "each lesson". */
export function everyAmount(threshold: string | number, metricId: string, lookups: Lookups): string {
  const amount = amountOf(threshold, metricId, lookups)
  return /^1 (?!of )/.test(amount) ? `each ${amount.slice(2)}` : `every ${amount}`
}

/** The move between active and inactive. */
export const switching = (status: string) =>
  status === 'active'
    ? { label: 'Deactivate', did: 'was deactivated', change: { status: 'inactive' as const } }
    : { label: 'Activate', did: 'was activated', change: { status: 'active' as const } }

/** The form of things with a name, a key, a description and a badge: the schema, and the last fields. */
export const Described = z.object({ name: text(), key: key(), description: optionalText(), badge: picture() })
export const DESCRIBED = [
  { kind: 'long-text', name: 'description', label: 'Description', isOptional: true },
  {
    kind: 'text',
    name: 'badge',
    label: 'Badge',
    isOptional: true,
    placeholder: 'https://…',
    hint: 'The address of a picture.',
  },
] as const

/** A points system, as its parts name it. */
export type System = { key: string; name: string }

/** The operations of things inside another one, such as the levels of a points system. */
export const within = <Item, Draft>(
  inside: {
    list(key: string, query?: { limit: number; skip: number }): List<Item>
    get(key: string, one: string): PromiseLike<Item>
    create(key: string, drafts: Draft[]): PromiseLike<Written<Item>>
    update(key: string, changes: (Partial<Draft> & { id: string })[]): PromiseLike<Written<Item>>
    delete(key: string, query: { ids: string[] }): PromiseLike<Written<Item>>
  },
  key: string,
): Operations<Item, Draft> => ({
  list: (query) => inside.list(key, query),
  get: (one) => inside.get(key, one),
  create: (drafts) => inside.create(key, drafts),
  update: (changes) => inside.update(key, changes),
  delete: (query) => inside.delete(key, query),
})

/** The value of a field in words. Empty if it has none. */
export function fieldInWords(field: Field, values: FieldValues, lookups: Lookups): string {
  const value: unknown = get(values, field.name)
  const named = (options: Options, one: unknown) =>
    optionsOf(options).find((option) => option.value === one)?.label ?? String(one)
  switch (field.kind) {
    case 'choice':
      return named(typeof field.options === 'function' ? field.options(null) : field.options, value)
    case 'reference':
      return lookups[field.to].nameOf(String(value))
    case 'references':
      return Array.isArray(value)
        ? value.map((one) => named(field.options(lookups, null), one)).join(', ')
        : ''
    case 'number': {
      const number = numberOf(String(value))
      return Number.isNaN(number) ? String(value) : formatNumber(number)
    }
    case 'date':
      return value ? formatDate(String(value)) : ''
    case 'switch':
      return value === true ? 'on' : 'off'
    case 'rows':
      return field.inWords(value, lookups)
    case 'custom':
      return field.inWords?.(values, lookups) ?? ''
  }
  return String(value ?? '')
}
