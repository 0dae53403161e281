import type { AdminPointsTrigger } from '@laurel/client'
import { z } from 'zod'
import type { Lookups } from '../../resource/lookups'
import {
  EVENT_FILTERS,
  everyAmount,
  filtersInWords,
  type System,
  switching,
  USER_FILTERS,
  within,
} from '../../resource/parts'
import type { Field, Resource } from '../../resource/resource'
import { type AllFields, choice, filters, reference, whole } from '../../resource/schemas'
import { valuesOf } from '../../resource/values'
import { formatNumber } from '../../ui/format'
import { numberOf } from '../../ui/locale'
import { say } from '../../ui/text'

const MOST = 2_147_483_647
const positive = () => whole({ min: 1, max: MOST })

/** The fields of each type. Fields of the others are not sent. */
const OfType = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('metric'),
    metricId: reference(),
    metricThreshold: positive(),
    eventAttributes: filters(),
    blockIfOutOfPoints: z.boolean(),
  }),
  z.object({ type: z.literal('achievement'), achievementId: reference() }),
  z.object({ type: z.literal('streak'), streakLength: positive() }),
  z.object({ type: z.literal('time'), timeInterval: positive(), timeUnit: choice(['hours', 'days']) }),
  z.object({ type: z.literal('user_creation') }),
])

const Draft = z.intersection(
  z.object({
    points: whole({ min: -1_000_000, max: 1_000_000 }).refine(
      (points) => points !== 0,
      'Use a number that is not 0.',
    ),
    status: choice(['active', 'inactive']),
    userAttributes: filters(),
  }),
  OfType,
)

type Values = AllFields<z.input<typeof Draft>>

/** When a trigger fires, in words; null while that is not filled in. */
function occasion(values: Values, lookups: Lookups): string | null {
  const { type, metricId, metricThreshold, achievementId, streakLength, timeInterval, timeUnit } = values
  switch (type) {
    case 'metric': {
      if (metricId === '' || metricThreshold.trim() === '') return null
      const events = filtersInWords(values.eventAttributes, lookups, ' in events whose ')
      return `for ${everyAmount(metricThreshold.trim(), metricId, lookups)}${events}`
    }
    case 'achievement':
      return achievementId === '' ? null : say`for completing “${lookups.achievements.nameOf(achievementId)}”`
    case 'streak':
      return streakLength.trim() === '' ? null : `each time the streak reaches a multiple of ${streakLength}`
    case 'time':
      return timeInterval.trim() === '' ? null : `every ${timeInterval} ${timeUnit}`
    case 'user_creation':
      return 'for each new user'
  }
}

/** A trigger in words: "10 XP for every 5 lessons". */
function inWords(values: Values, system: string, lookups: Lookups): string | null {
  const when = occasion(values, lookups)
  const points = numberOf(values.points)
  if (when === null || values.points.trim() === '' || !Number.isFinite(points)) return null
  const users = filtersInWords(values.userAttributes, lookups, ', for users whose ')
  const amount =
    points < 0 ? say`Takes ${formatNumber(-points)} ${system}` : say`${formatNumber(points)} ${system}`
  return `${amount} ${when}${users}.`
}

const TYPES: Readonly<Record<AdminPointsTrigger['type'], string>> = {
  metric: 'A metric grows',
  achievement: 'An achievement is completed',
  streak: 'A streak grows',
  time: 'Time passes',
  user_creation: 'A user is created',
}

/** Shows a field for one type only. */
const isOf = (wanted: Values['type']) => (values: Values) => values.type === wanted

/** The fields. Points have the name of their system as their unit. */
const fieldsOf = (unit: string): readonly Field<Values>[] => [
  { kind: 'choice', name: 'type', label: 'Type', options: TYPES },
  { kind: 'reference', to: 'metrics', name: 'metricId', label: 'Metric', when: isOf('metric') },
  {
    kind: 'number',
    name: 'metricThreshold',
    first: '1',
    label: 'Threshold',
    hint: 'It fires each time the total of a user passes a multiple of this.',
    unit: ({ metricId }, { metrics }) => metrics.find(metricId)?.units ?? '',
    when: isOf('metric'),
  },
  {
    kind: 'reference',
    to: 'achievements',
    name: 'achievementId',
    label: 'Achievement',
    when: isOf('achievement'),
  },
  {
    kind: 'number',
    name: 'streakLength',
    label: 'Streak length',
    hint: 'It fires at each multiple of this length.',
    when: isOf('streak'),
  },
  { kind: 'number', name: 'timeInterval', label: 'Interval', when: isOf('time') },
  {
    kind: 'choice',
    name: 'timeUnit',
    label: 'Unit',
    options: { hours: 'hours', days: 'days' },
    when: isOf('time'),
  },
  { kind: 'number', isSigned: true, name: 'points', label: 'Points', hint: 'Negative to take points.', unit },
  { kind: 'choice', name: 'status', label: 'Status', options: { active: 'active', inactive: 'inactive' } },
  {
    kind: 'switch',
    name: 'blockIfOutOfPoints',
    label: 'Refuse the event without enough points',
    hint: 'For spending: an event that would take more than a user has is not counted.',
    when: ({ type, points }) => type === 'metric' && numberOf(points) < 0,
  },
  { ...USER_FILTERS, name: 'userAttributes' },
  { ...EVENT_FILTERS, name: 'eventAttributes', when: isOf('metric') },
]

/** The words of a trigger, or of a draft of one. It has no other name. */
const nameOf = (item: Partial<AdminPointsTrigger>, system: string, lookups: Lookups): string =>
  inWords(valuesOf(fieldsOf(system), item), system, lookups)?.replace(/\.$/, '') ?? ''

/** The triggers of a points system. */
export const triggersOf = (system: System): Resource<AdminPointsTrigger, Values, z.output<typeof Draft>> => ({
  name: 'Triggers',
  one: 'trigger',
  path: `/points/${system.key}/triggers`,
  page: `/points/${system.key}`,
  intro: 'The rules that give points.',
  empty: { title: 'Nothing gives points yet', text: 'Add a trigger, such as 10 points for every lesson.' },
  nameOf: (item, lookups) => nameOf(item, system.name, lookups),
  nameTitle: 'Trigger',
  statusOf: ({ status }) => status,
  needs: ['metrics', 'achievements', 'attributes'],
  operations: (admin) => within(admin.points.triggers, system.key),
  columns: () => [{ name: 'Type', cell: ({ type }) => TYPES[type], isMinor: true }],
  form: {
    schema: Draft,
    fields: fieldsOf(system.name),
    preview: (values, lookups) => inWords(values, system.name, lookups),
  },
  moves: ({ status }) => [switching(status)],
  deletion: { text: 'Points that it gave stay. This cannot be undone.' },
})
