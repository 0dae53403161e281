import type { AdminAchievement } from '@laurel/client'
import { z } from 'zod'
import type { Lookups } from '../../resource/lookups'
import { amountOf, DESCRIBED, deletion, type Filter, filtersInWords } from '../../resource/parts'
import type { Move, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import {
  asText,
  choice,
  decimal,
  filters,
  key,
  optionalText,
  picture,
  reference,
  text,
  whole,
} from '../../resource/schemas'
import { counted } from '../../ui/format'
import { numberOf } from '../../ui/locale'

import { AchievementFigures } from './achievement-figures'

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

type Values = {
  name: string
  key: string
  description: string
  badge: string
  status: 'inactive' | 'active' | 'locked'
  trigger: AdminAchievement['trigger']
  metricId: string
  metricValue: string
  streakLength: string
  anniversaryYears: string
  achievementIds: string[]
  userAttributes: Filter[]
  eventAttributes: Filter[]
}

const Common = z.object({
  name: text(),
  key: key(),
  description: optionalText(),
  badge: picture(),
  status: choice(['inactive', 'active', 'locked']),
  userAttributes: filters(),
})

const Draft = z.intersection(Common, Condition)
type Draft = z.output<typeof Draft>

/** A condition, of an achievement or as a form has it. */
type ConditionGiven = {
  trigger: AdminAchievement['trigger']
  metricId?: string
  metricValue?: string | number
  streakLength?: string | number
  anniversaryYears?: string | number
  achievementIds?: string[]
  userAttributes?: Filter[]
  eventAttributes?: Filter[]
}

/** How users complete it, in words: "600 minutes". Null while that is not filled in. */
function conditionOf(given: ConditionGiven, lookups: Lookups): string | null {
  const { trigger, metricId = '', metricValue = '', streakLength = '', achievementIds = [] } = given
  const { anniversaryYears: years = '' } = given
  switch (trigger) {
    case 'metric': {
      if (metricId === '' || metricValue === '') return null
      const events = filtersInWords(given.eventAttributes, lookups)
      const amount = amountOf(metricValue, metricId, lookups)
      return events === null ? amount : `${amount} in events whose ${events}`
    }
    case 'streak':
      return streakLength === '' ? null : `a streak of ${streakLength}`
    case 'api':
      return 'a call of your own code'
    case 'anniversary':
      return years === ''
        ? null
        : `${counted(typeof years === 'number' ? years : numberOf(years), 'year')} after they signed up`
    case 'achievement': {
      const names = achievementIds.map((id) => `“${lookups.achievements.nameOf(id)}”`)
      return names.length === 0 ? null : names.join(' and ')
    }
  }
}

/** The condition as a sentence. */
function inWords(given: ConditionGiven, lookups: Lookups): string | null {
  const condition = conditionOf(given, lookups)
  const users = filtersInWords(given.userAttributes, lookups)
  const link = given.trigger === 'anniversary' ? '' : 'with '
  return condition && `${users === null ? 'Users' : `Users whose ${users}`} complete it ${link}${condition}.`
}

const STATUS_HINT =
  'Inactive: hidden. Active: can be completed. Locked: kept by its owners, and given to nobody else.'

const STATUSES: Readonly<Record<Values['status'], string>> = {
  inactive: 'Inactive',
  active: 'Active',
  locked: 'Locked',
}

/** The statuses to choose from (A1). */
const statusesAfter = (status: Values['status']): readonly Values['status'][] =>
  status === 'inactive' ? ['active', 'inactive'] : ['active', 'locked']

/** The moves that a status allows (A1). */
function movesOf(item: AdminAchievement): Move<AdminAchievement>[] {
  const { id, name, status } = item
  const move = (label: string, to: AdminAchievement['status'], did: string): Move<AdminAchievement> => ({
    label,
    did,
    act: (admin) => admin.achievements.update([{ id, status: to }]),
  })
  return [
    ...(status === 'active' ? [move('Lock', 'locked', 'was locked')] : []),
    ...(status !== 'active' ? [move('Activate', 'active', 'was activated')] : []),
    deletion(name, 'It disappears for all users at once. Points that it gave stay. This cannot be undone.'),
  ]
}

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
  keyOf: ({ key }) => key,
  nameOf: ({ name }) => name,
  statusOf: ({ status }) => status,
  operations: (admin) => admin.achievements,
  // Only keys of `api` achievements change, and the trigger only while it is inactive (A1).
  update: (admin, { id, status }, { key, ...draft }) => {
    const named = draft.trigger === 'api' ? { id, key } : { id }
    if (status === 'inactive') return admin.achievements.update([{ ...named, ...draft }])
    const { trigger: _trigger, ...rest } = draft
    return admin.achievements.update([{ ...named, ...rest }])
  },
  columns: (lookups) => [
    { name: 'Name', cell: ({ name }) => name },
    { name: 'Condition', cell: (item) => conditionOf(item, lookups) ?? '–', isMinor: true },
  ],
  facts: ({ description, badge }) => [
    description === '' ? null : ['Description', description],
    badge === null ? null : ['Badge', badge.url],
  ],
  summary: inWords,
  Sections: AchievementFigures,
  form: {
    schema: Draft,
    values: (item) => ({
      name: item?.name ?? '',
      key: item?.key ?? '',
      description: item?.description ?? '',
      badge: item?.badge?.url ?? '',
      status: item?.status ?? 'active',
      trigger: item?.trigger ?? 'metric',
      metricId: item?.metricId ?? '',
      metricValue: asText(item?.metricValue),
      streakLength: asText(item?.streakLength),
      anniversaryYears: asText(item?.anniversaryYears),
      achievementIds: item?.achievementIds ?? [],
      userAttributes: item?.userAttributes ?? [],
      eventAttributes: item?.eventAttributes ?? [],
    }),
    fields: [
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
        options: [
          { value: 'metric', label: 'A total of a metric' },
          { value: 'streak', label: 'A streak' },
          { value: 'achievement', label: 'Other achievements' },
          { value: 'anniversary', label: 'An anniversary of signing up' },
          { value: 'api', label: 'Your own code, by the interface' },
        ],
        fixed: (_values, { status }) =>
          status === 'inactive'
            ? null
            : 'The trigger changes only before it was active. Create another achievement instead.',
      },
      {
        kind: 'reference',
        to: 'metrics',
        name: 'metricId',
        label: 'Metric',
        when: ({ trigger }) => trigger === 'metric',
      },
      {
        kind: 'number',
        name: 'metricValue',
        label: 'Value',
        hint: 'The total from which users have it.',
        unit: ({ metricId }, { metrics }) => metrics.find(metricId)?.units ?? '',
        when: ({ trigger }) => trigger === 'metric',
      },
      {
        kind: 'number',
        name: 'streakLength',
        label: 'Streak length',
        when: ({ trigger }) => trigger === 'streak',
      },
      {
        kind: 'number',
        name: 'anniversaryYears',
        label: 'Years',
        hint: 'Users have it this many years after they signed up, at their midnight.',
        when: ({ trigger }) => trigger === 'anniversary',
      },
      {
        kind: 'references',
        name: 'achievementIds',
        label: 'Achievements',
        none: 'There are no other achievements yet. Create them first.',
        options: ({ achievements }, initial) =>
          achievements.all
            .filter(({ key }) => key !== initial?.key)
            .map(({ id, name }) => ({ value: id, label: name })),
        when: ({ trigger }) => trigger === 'achievement',
      },
      {
        kind: 'choice',
        name: 'status',
        label: 'Status',
        hint: STATUS_HINT,
        options: (initial) =>
          statusesAfter(initial?.status ?? 'inactive').map((value) => ({ value, label: STATUSES[value] })),
      },
      ...DESCRIBED,
      { kind: 'filters', of: 'user', name: 'userAttributes', label: 'Only for users whose' },
      {
        kind: 'filters',
        of: 'event',
        name: 'eventAttributes',
        label: 'Counts only events whose',
        when: ({ trigger }) => trigger === 'metric',
      },
    ],
    preview: inWords,
  },
  moves: movesOf,
}

export default resourcePage(achievements, ['metrics', 'achievements', 'attributes'])
