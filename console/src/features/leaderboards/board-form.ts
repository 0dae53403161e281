import type { AdminLeaderboard } from '@laurel/client'
import { z } from 'zod'
import { choicesOf, type Lookups } from '../../resource/lookups'
import { filtersInWords, USER_FILTERS } from '../../resource/parts'
import type { Field, Initial, Resource } from '../../resource/resource'
import {
  at,
  choice,
  filters,
  isInOrder,
  key,
  optionalDate,
  optionalText,
  optionalWhole,
  text,
} from '../../resource/schemas'
import { valuesOf as storedValues } from '../../resource/values'
import { formatNumber } from '../../ui/format'
import { say } from '../../ui/text'

const MOST_INTERVAL = 2_147_483_647
/** The most participants of a group, and their number if none is given. */
const MOST_PARTICIPANTS = 1000

const DAY = 86_400_000
const DAYS_OF_A_WEEK = 7

/** The Monday of the week of a day, or of today. A weekly board begins on one (L2). */
function mondayOf(date: string | null): string {
  const day = date === null ? Date.now() : Date.parse(date)
  return new Date(day - ((new Date(day).getUTCDay() + 6) % DAYS_OF_A_WEEK) * DAY).toISOString().slice(0, 10)
}

/** A draft, as the interface takes it. 7 days are a week. */
const Checked = z
  .object({
    name: text(),
    key: key(),
    description: optionalText(),
    status: choice(['inactive', 'active', 'scheduled', 'finished']),
    rankBy: choice(['points', 'streak', 'metric']),
    metricId: z.string(),
    pointsSystemId: z.string(),
    runs: choice(['none', 'day', 'week', 'month', 'year']),
    runInterval: optionalWhole({ min: 1, max: MOST_INTERVAL }),
    start: optionalDate(),
    end: optionalDate(),
    startTime: z.string(),
    endTime: z.string(),
    maxParticipants: optionalWhole({ min: 1, max: MOST_PARTICIPANTS }),
    breakdownAttributes: z.array(z.string()).max(10, 'Choose at most 10.'),
    userAttributes: filters(),
  })
  .refine(({ rankBy, metricId }) => rankBy !== 'metric' || metricId !== '', at('metricId', 'Choose one.'))
  .refine(
    ({ rankBy, pointsSystemId }) => rankBy !== 'points' || pointsSystemId !== '',
    at('pointsSystemId', 'Choose one.'),
  )
  .refine(
    ({ startTime, endTime }) => (startTime === '') === (endTime === ''),
    at('endTime', 'Fill in both times, or none.'),
  )
  .refine(
    ({ startTime, endTime }) => startTime === '' || startTime !== endTime,
    at('endTime', 'Choose another time than the first one.'),
  )
  .refine(
    ({ runs, runInterval }) =>
      runs !== 'week' || runInterval === null || runInterval <= Math.floor(MOST_INTERVAL / DAYS_OF_A_WEEK),
    at('runInterval', `Use a number from 1 to ${formatNumber(Math.floor(MOST_INTERVAL / DAYS_OF_A_WEEK))}.`),
  )
  .refine(isInOrder, at('end', 'Choose a date after the start.'))
  .transform(({ runs, runInterval, metricId, pointsSystemId, start, startTime, endTime, ...draft }) => ({
    ...draft,
    ...(runs === 'week' ? { start: mondayOf(start) } : start !== null && { start }),
    ...(draft.rankBy === 'metric' && { metricId }),
    ...(draft.rankBy === 'points' && { pointsSystemId }),
    startTime: startTime === '' ? null : startTime,
    endTime: endTime === '' ? null : endTime,
    runUnit: runs === 'none' ? null : runs === 'week' ? ('day' as const) : runs,
    runInterval: runs === 'none' ? null : (runInterval ?? 1) * (runs === 'week' ? DAYS_OF_A_WEEK : 1),
  }))

/** The texts of the form. */
export type Values = z.input<typeof Checked>

/** The values of hidden fields count as empty. A board by streaks has no runs and no times (L3). */
const shownOf = (given: Values): Values => ({
  ...given,
  ...(given.rankBy === 'streak' && { runs: 'none', startTime: '', endTime: '' }),
  ...((given.rankBy === 'streak' || given.runs === 'none') && { runInterval: '' }),
})

const Draft = z.custom<Values>().transform(shownOf).pipe(Checked)
export type Draft = z.output<typeof Draft>

const FROZEN = 'Deactivate the leaderboard to change it.'
const FINAL = 'It never changes again, since the leaderboard is finished.'

/** Why a field can't change: most of them only while the leaderboard is inactive (L7). */
const frozen = ({ status }: Values, { status: before }: Initial<Values>): string | null =>
  before === 'finished' ? FINAL : before === 'inactive' || status === 'inactive' ? null : FROZEN
const final = (_values: Values, { status }: Initial<Values>): string | null =>
  status === 'finished' ? FINAL : null

/** It can always change. */
const free = () => null

/** The statuses that can be chosen in the form, by the present one; null for a new leaderboard (L7). */
const STATUSES_AFTER: Readonly<Record<Values['status'], readonly Values['status'][]>> = {
  inactive: ['active', 'scheduled', 'inactive'],
  scheduled: ['scheduled', 'inactive'],
  active: ['active', 'inactive', 'finished'],
  finished: ['finished'],
}

const isBy = (wanted: Values['rankBy']) => (values: Values) => values.rankBy === wanted
/** A board by streaks has no runs and no times (L3). */
const hasRuns = ({ rankBy }: Values) => rankBy !== 'streak'

const FIELDS: readonly Field<Values>[] = [
  { kind: 'text', name: 'name', label: 'Name', placeholder: 'Weekly league', fixed: free },
  { kind: 'key', name: 'key', label: 'Key' },
  {
    kind: 'choice',
    name: 'rankBy',
    label: 'Rank by',
    options: { points: 'Points', metric: 'A metric', streak: 'The length of the streak' },
  },
  { kind: 'reference', to: 'points', name: 'pointsSystemId', label: 'Points system', when: isBy('points') },
  { kind: 'reference', to: 'metrics', name: 'metricId', label: 'Metric', when: isBy('metric') },
  {
    kind: 'choice',
    name: 'runs',
    first: 'week',
    label: 'Begins again',
    options: {
      none: 'Never',
      day: 'By days',
      week: 'By weeks, on Mondays',
      month: 'By months',
      year: 'By years',
    },
    when: hasRuns,
  },
  {
    kind: 'number',
    name: 'runInterval',
    first: '1',
    label: 'Every',
    unit: ({ runs }) => `${runs}s`,
    when: (values) => hasRuns(values) && values.runs !== 'none',
  },
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    hint: 'Scheduled: it becomes active on its start date.',
    options: (initial) =>
      STATUSES_AFTER[initial?.status ?? 'inactive'].map((value) => ({ value, label: value })),
    fixed: free,
  },
  {
    kind: 'date',
    name: 'start',
    label: 'Start',
    isOptional: true,
    hint: 'Today, if empty. By weeks: the Monday of that week.',
  },
  { kind: 'date', name: 'end', label: 'End', isOptional: true, fixed: final },
  {
    kind: 'references',
    name: 'breakdownAttributes',
    label: 'A ranking for each',
    hint: 'Users with the same values are ranked together. Users who lack one are not ranked.',
    none: 'There are no user attributes yet. Create one under Attributes, such as Country.',
    options: ({ attributes }) => choicesOf(attributes.all.filter(({ type }) => type === 'user')),
  },
  { ...USER_FILTERS, name: 'userAttributes' },
  {
    kind: 'number',
    name: 'maxParticipants',
    label: 'Participants at most',
    isOptional: true,
    hint: '1 to 1,000 in each group; 1,000 if empty.',
    fixed: final,
  },
  {
    kind: 'time',
    name: 'startTime',
    label: 'Counts from (time of day)',
    isOptional: true,
    hint: 'Only events in this part of the day of each user count.',
    when: hasRuns,
  },
  { kind: 'time', name: 'endTime', label: 'Counts until', isOptional: true, when: hasRuns },
  { kind: 'long-text', name: 'description', label: 'Description', isOptional: true, fixed: free },
]

/** A board, or a new one, as the form has it. */
export const valuesOf = (item: AdminLeaderboard | null): Values => ({
  ...storedValues(FIELDS, item),
  ...(item && runOf(item)),
})

/** The form of a leaderboard. */
export const form: Resource<AdminLeaderboard, Values, Draft>['form'] = {
  schema: Draft,
  values: valuesOf,
  // Most fields change only while the leaderboard is inactive.
  fields: FIELDS.map((field) => ({ fixed: frozen, ...field })),
  preview: inWords,
}

/** Leaderboards in words. */

type Run = Pick<Values, 'runs' | 'runInterval'>

/** The runs of a board as the form has them: 7 days from a Monday on are a week. */
export function runOf({
  runUnit,
  runInterval = 1,
  start,
}: Pick<AdminLeaderboard, 'runUnit' | 'runInterval' | 'start'>): Run {
  if (runUnit === undefined) return { runs: 'none', runInterval: '1' }
  const isMonday = new Date(start).getUTCDay() === 1
  const isWeeks = isMonday && runUnit === 'day' && runInterval % DAYS_OF_A_WEEK === 0
  return isWeeks
    ? { runs: 'week', runInterval: String(runInterval / DAYS_OF_A_WEEK) }
    : { runs: runUnit, runInterval: String(runInterval) }
}

/** How often a board begins again, in words. */
export function runInWords({ runs, runInterval }: Run): string | null {
  if (runs === 'none') return null
  return runInterval.trim() === '1' || runInterval.trim() === ''
    ? `each ${runs}`
    : `every ${runInterval} ${runs}s`
}

/** The name of what a board ranks by. Empty while that is not chosen. */
export const basisOf = (
  { rankBy, metricId, pointsSystemId }: Pick<AdminLeaderboard, 'rankBy' | 'metricId' | 'pointsSystemId'>,
  { metrics, points }: Lookups,
  streak: string,
): string =>
  rankBy === 'streak'
    ? streak
    : rankBy === 'points'
      ? points.nameOf(pointsSystemId)
      : metrics.nameOf(metricId)

/** A board in words. */
export function inWords(
  { rankBy, metricId, pointsSystemId, breakdownAttributes, userAttributes, ...run }: Values,
  lookups: Lookups,
): string | null {
  const by = say`${basisOf({ rankBy, metricId, pointsSystemId }, lookups, 'the length of their streak')}`
  if (by === '') return null
  const begins = rankBy === 'streak' ? null : runInWords(run)
  const groups = breakdownAttributes.map((id) => say`${lookups.attributes.nameOf(id)}`).join(' and ')
  const users = filtersInWords(userAttributes, lookups, ' whose ')
  const each = groups === '' ? '' : `, each ${groups} on its own`
  return `Ranks users${users} by ${by}${each}. ${begins === null ? 'It never begins again' : `It begins again ${begins}`}.`
}
