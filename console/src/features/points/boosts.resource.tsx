import type { AdminPointsBoost } from '@laurel/client'
import { z } from 'zod'
import type { Lookups } from '../../resource/lookups'
import { filtersInWords, type System, USER_FILTERS, within } from '../../resource/parts'
import type { Field, Resource } from '../../resource/resource'
import {
  at,
  choice,
  date,
  decimal,
  filters,
  isInOrder,
  optionalDate,
  optionalText,
  text,
} from '../../resource/schemas'
import { valuesOf } from '../../resource/values'
import { formatDate, formatNumber } from '../../ui/format'
import { say } from '../../ui/text'

const Draft = z
  .object({
    name: text(),
    multiplier: decimal({ min: 0, max: 100 })
      .refine((multiplier) => multiplier > 0 && multiplier < 100, 'Use a number above 0 and below 100.')
      .refine((multiplier) => multiplier !== 1, 'Use a number that is not 1, which changes nothing.'),
    start: date(),
    end: optionalDate(),
    rounding: choice(['down', 'up', 'nearest']),
    userId: optionalText(255),
    userAttributes: filters(),
  })
  .refine(isInOrder, at('end', 'Choose a date after the start.'))
  .transform(({ userId, userAttributes, ...draft }) => ({
    ...draft,
    userId: userId === '' ? null : userId,
    // A boost of one user has no filters.
    userAttributes: userId === '' ? userAttributes : null,
  }))

type Values = z.input<typeof Draft>

const FIELDS: readonly Field<Values>[] = [
  { kind: 'text', name: 'name', label: 'Name', placeholder: 'Double weekend' },
  {
    kind: 'number',
    name: 'multiplier',
    first: '2',
    label: 'Multiplier',
    hint: 'Above 0 and below 100, such as 2 or 1.5.',
  },
  { kind: 'date', name: 'start', label: 'Start' },
  { kind: 'date', name: 'end', label: 'End', isOptional: true },
  {
    kind: 'choice',
    name: 'rounding',
    label: 'Rounding',
    options: { down: 'down', up: 'up', nearest: 'to the nearest' },
  },
  {
    kind: 'text',
    name: 'userId',
    label: 'User id',
    isOptional: true,
    fixed: 'The user of a boost never changes.',
    hint: 'Only for this user. Empty: for all users who fit the filters.',
  },
  { ...USER_FILTERS, name: 'userAttributes', when: ({ userId }) => userId.trim() === '' },
]

/** A boost in words. */
function inWords(values: Values, system: string, lookups: Lookups): string | null {
  const { multiplier, start, end, userId, userAttributes } = values
  if (multiplier.trim() === '' || start === '') return null
  const users = filtersInWords(userAttributes, lookups, 'Users whose ') || 'All users'
  const gets = userId === '' ? `${users} get` : say`The user ${userId} gets`
  const until =
    end === '' ? `from ${formatDate(start)} on` : `from ${formatDate(start)} to ${formatDate(end)}`
  return `${gets} ${multiplier} times ${say`the ${system}`}, ${until}.`
}

/** The boosts of a points system. */
export const boostsOf = (system: System): Resource<AdminPointsBoost, Values, z.output<typeof Draft>> => ({
  name: 'Boosts',
  one: 'boost',
  path: `/points/${system.key}/boosts`,
  page: `/points/${system.key}`,
  intro: 'Times in which points count more.',
  empty: { title: 'No boosts yet', text: 'Add one for a weekend with double points.' },
  statusOf: ({ status }) => status,
  needs: ['attributes'],
  operations: (admin) => within(admin.points.boosts, system.key),
  columns: () => [
    { name: 'Multiplier', cell: ({ multiplier }) => `× ${formatNumber(multiplier)}`, isNumber: true },
    {
      name: 'Time',
      cell: ({ start, end }) =>
        end === null ? `from ${formatDate(start)}` : `${formatDate(start)} – ${formatDate(end)}`,
      isMinor: true,
    },
  ],
  summary: (item, lookups) => inWords(valuesOf(FIELDS, item), system.name, lookups),
  form: {
    schema: Draft,
    fields: FIELDS,
    preview: (values, lookups) => inWords(values, system.name, lookups),
  },
  deletion: { text: 'Points that were boosted stay. This cannot be undone.' },
})
