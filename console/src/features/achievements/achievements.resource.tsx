import type { AdminAchievement } from '@laurel/client'
import { z } from 'zod'
import { DayChart, FiguresOf } from '../../analytics/figures'
import { NAMED, some, usersOf } from '../../resource/affected'
import { choicesOf, type Lookups } from '../../resource/lookups'
import {
  amountOf,
  DESCRIBED,
  Described,
  EVENT_FILTERS,
  filtersInWords,
  switching,
  USER_FILTERS,
} from '../../resource/parts'
import type { Field, Move, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { type AllFields, choice, decimal, filters, reference, whole } from '../../resource/schemas'
import { valuesOf } from '../../resource/values'
import { counted } from '../../ui/format'
import { numberOf } from '../../ui/locale'
import { say } from '../../ui/text'

const MOST_VALUE = 9_007_199_254
const MOST_WHOLE = 2_147_483_647
const MOST_PREREQUISITES = 100
const MOST_YEARS = 100

/** The fields of each trigger. Fields of the others are not sent. */
const Condition = z.discriminatedUnion('trigger', [
  z.object({
    trigger: z.literal('metric'),
    metricId: reference(),
    metricValue: decimal({ min: 0.000001, max: MOST_VALUE }),
    eventAttributes: filters(),
  }),
  z.object({ trigger: z.literal('streak'), streakLength: whole({ min: 1, max: MOST_WHOLE }) }),
  z.object({ trigger: z.literal('api') }),
  z.object({ trigger: z.literal('anniversary'), anniversaryYears: whole({ min: 1, max: MOST_YEARS }) }),
  z.object({
    trigger: z.literal('achievement'),
    achievementIds: z
      .array(z.string())
      .min(1, 'Choose at least one achievement.')
      .max(MOST_PREREQUISITES, `Choose at most ${MOST_PREREQUISITES}.`),
  }),
])

const Common = Described.extend({
  status: choice(['inactive', 'active', 'locked']),
  userAttributes: filters(),
})

const Draft = z.intersection(Common, Condition)
type Draft = z.output<typeof Draft>
type Values = AllFields<z.input<typeof Draft>>

/** How users complete it, in words: "600 minutes". Null while that is not filled in. */
function conditionOf(values: Values, lookups: Lookups): string | null {
  const { trigger, metricId, metricValue, streakLength, achievementIds, anniversaryYears: years } = values
  switch (trigger) {
    case 'metric': {
      if (metricId === '' || metricValue === '') return null
      const events = filtersInWords(values.eventAttributes, lookups, ' in events whose ')
      return `${amountOf(metricValue, metricId, lookups)}${events}`
    }
    case 'streak':
      return streakLength === '' ? null : `a streak of ${streakLength}`
    case 'api':
      return 'a call of your own code'
    case 'anniversary':
      return years === '' ? null : `${counted(numberOf(years), 'year')} after they signed up`
    case 'achievement': {
      const names = achievementIds.map((id) => say`“${lookups.achievements.nameOf(id)}”`)
      return names.length === 0 ? null : names.join(' and ')
    }
  }
}

/** The condition as a sentence. */
function inWords(values: Values, lookups: Lookups): string | null {
  const condition = conditionOf(values, lookups)
  const users = filtersInWords(values.userAttributes, lookups, ' whose ')
  const link = values.trigger === 'anniversary' ? '' : 'with '
  return condition && `Users${users} complete it ${link}${condition}.`
}

const STATUS_HINT =
  'Inactive: hidden. Active: can be completed. Locked: kept by its owners, and given to nobody else.'

/** Shows a field for one trigger only. */
const isBy = (wanted: Values['trigger']) => (values: Values) => values.trigger === wanted

const FIELDS: readonly Field<Values>[] = [
  { kind: 'text', name: 'name', label: 'Name', placeholder: 'First lesson' },
  {
    kind: 'key',
    name: 'key',
    label: 'Key',
    fixed: ({ trigger }) =>
      trigger === 'api' ? null : 'Only the key of an achievement by your own code can change.',
  },
  {
    kind: 'choice',
    name: 'trigger',
    label: 'Trigger',
    options: {
      metric: 'A total of a metric',
      streak: 'A streak',
      achievement: 'Other achievements',
      anniversary: 'An anniversary of signing up',
      api: 'Your own code, by the interface',
    },
    fixed: (_values, { status }) =>
      status === 'inactive'
        ? null
        : 'The trigger changes only before it was active. Create another achievement instead.',
  },
  { kind: 'reference', to: 'metrics', name: 'metricId', label: 'Metric', when: isBy('metric') },
  {
    kind: 'number',
    name: 'metricValue',
    label: 'Value',
    hint: 'The total from which users have it.',
    unit: ({ metricId }, { metrics }) => metrics.find(metricId)?.units ?? '',
    when: isBy('metric'),
  },
  { kind: 'number', name: 'streakLength', label: 'Streak length', when: isBy('streak') },
  {
    kind: 'number',
    name: 'anniversaryYears',
    label: 'Years',
    hint: 'Users have it this many years after they signed up, at their midnight.',
    when: isBy('anniversary'),
  },
  {
    kind: 'references',
    name: 'achievementIds',
    label: 'Achievements',
    none: 'There are no other achievements yet. Create them first.',
    options: ({ achievements }, initial) =>
      choicesOf(achievements.all.filter(({ key }) => key !== initial?.key)),
    when: isBy('achievement'),
  },
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    hint: STATUS_HINT,
    // Once it was active, it is locked instead of inactive (A1).
    options: (initial) => ({
      active: 'Active',
      ...((initial?.status ?? 'inactive') === 'inactive' ? { inactive: 'Inactive' } : { locked: 'Locked' }),
    }),
  },
  ...DESCRIBED,
  { ...USER_FILTERS, name: 'userAttributes' },
  { ...EVENT_FILTERS, name: 'eventAttributes', when: isBy('metric') },
]

const LOCK: Move<AdminAchievement, Draft> = { label: 'Lock', did: 'was locked', change: { status: 'locked' } }

export const achievements: Resource<AdminAchievement, Values, Draft> = {
  name: 'Achievements',
  one: 'achievement',
  path: '/achievements',
  intro:
    'Goals that users complete once: a first lesson, a streak of 30 days, a year with you, a set of other achievements.',
  empty: {
    title: 'No achievements yet',
    text: 'An achievement is completed by a total, a streak, an anniversary, other achievements, or your own code.',
  },
  statusOf: ({ status }) => status,
  needs: ['metrics', 'achievements', 'attributes'],
  operations: (admin) => admin.achievements,
  columns: (lookups) => [
    { name: 'Condition', cell: (item) => conditionOf(valuesOf(FIELDS, item), lookups) ?? '–', isMinor: true },
  ],
  summary: (item, lookups) => inWords(valuesOf(FIELDS, item), lookups),
  Sections: ({ item: { key } }) => (
    <FiguresOf
      queryKey={['/achievements', 'analytics', key]}
      read={(admin, ...period) => admin.achievements.analytics(key, ...period)}
    >
      {(rows) => (
        <DayChart title="Completions" kind="bars" rows={rows} value={({ completions }) => completions} />
      )}
    </FiguresOf>
  ),
  form: { schema: Draft, fields: FIELDS, preview: inWords },
  moves: ({ status }) => [status === 'active' ? LOCK : switching(status)],
  deletion: {
    text: 'It disappears for all users at once. Points that it gave stay. This cannot be undone. It is refused while something active names the achievement.',
    affected: (item) => async (admin, laurel) => {
      const [all, used] = await Promise.all([laurel.achievements.list(), usersOf(admin, item, NAMED)])
      return [
        ...some('Users who have completed it', all.find(({ id }) => id === item.id)?.completions),
        ...used,
      ]
    },
  },
}

export default resourcePage(achievements)
