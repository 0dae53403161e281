import type { AdminLeaderboard } from '@laurel/client'
import { z } from 'zod'
import type { Lookups } from '../../resource/lookups'
import type { Move, Resource } from '../../resource/resource'
import { asText, choice, key, optionalDate, optionalText, optionalWhole, text } from '../../resource/schemas'
import { formatDate, formatNumber } from '../../ui/format'

const STATUSES = ['inactive', 'active', 'scheduled', 'finished'] as const
const MOST_INTERVAL = 2_147_483_647
const MOST_PARTICIPANTS = 1000

type Values = {
  name: string
  key: string
  description: string
  status: (typeof STATUSES)[number]
  rankBy: 'points' | 'streak' | 'metric'
  metricId: string
  pointsSystemId: string
  runs: 'none' | 'day' | 'week' | 'month' | 'year'
  runInterval: string
  start: string
  end: string
  startTime: string
  endTime: string
  maxParticipants: string
  breakdownAttributes: string[]
}

const DAYS_OF_A_WEEK = 7
const DAY = 86_400_000

/** The Monday of the week of a day, or of today. A weekly board begins on one (L2). */
function mondayOf(date: string | null): string {
  const day = date === null ? Date.now() : Date.parse(date)
  return new Date(day - ((new Date(day).getUTCDay() + 6) % DAYS_OF_A_WEEK) * DAY).toISOString().slice(0, 10)
}

const Draft = z
  .object({
    name: text(),
    key: key(),
    description: optionalText(),
    status: choice(STATUSES),
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
  })
  .refine(({ rankBy, metricId }) => rankBy !== 'metric' || metricId !== '', {
    path: ['metricId'],
    message: 'Choose one.',
  })
  .refine(({ rankBy, pointsSystemId }) => rankBy !== 'points' || pointsSystemId !== '', {
    path: ['pointsSystemId'],
    message: 'Choose one.',
  })
  .refine(({ startTime, endTime }) => (startTime === '') === (endTime === ''), {
    path: ['endTime'],
    message: 'Fill in both times, or none.',
  })
  .refine(({ start, end }) => start === null || end === null || start <= end, {
    path: ['end'],
    message: 'Choose a date after the start.',
  })
  .transform(({ runs, runInterval, metricId, pointsSystemId, startTime, endTime, ...draft }) => ({
    ...draft,
    start: runs === 'week' ? mondayOf(draft.start) : draft.start,
    ...(draft.rankBy === 'metric' && { metricId }),
    ...(draft.rankBy === 'points' && { pointsSystemId }),
    startTime: draft.rankBy === 'streak' || startTime === '' ? null : startTime,
    endTime: draft.rankBy === 'streak' || endTime === '' ? null : endTime,
    runUnit: runs === 'none' ? null : runs === 'week' ? ('day' as const) : runs,
    runInterval: runs === 'none' ? null : (runInterval ?? 1) * (runs === 'week' ? DAYS_OF_A_WEEK : 1),
  }))

type Run = Pick<Values, 'runs' | 'runInterval'>

/** The runs of a board as the form has them: 7 days are a week. */
function runOf({ runUnit, runInterval = 1 }: Pick<AdminLeaderboard, 'runUnit' | 'runInterval'>): Run {
  if (runUnit === undefined) return { runs: 'none', runInterval: '1' }
  const isWeeks = runUnit === 'day' && runInterval % DAYS_OF_A_WEEK === 0
  return isWeeks
    ? { runs: 'week', runInterval: String(runInterval / DAYS_OF_A_WEEK) }
    : { runs: runUnit, runInterval: String(runInterval) }
}

/** How often a board begins again, in words. */
function runInWords({ runs, runInterval }: Run): string | null {
  if (runs === 'none') return null
  return runInterval.trim() === '1' || runInterval.trim() === ''
    ? `each ${runs}`
    : `every ${runInterval} ${runs}s`
}

/** What a board does, in words. */
function inWords(
  {
    rankBy,
    metricId,
    pointsSystemId,
    breakdownAttributes,
    ...run
  }: Pick<Values, 'rankBy' | 'metricId' | 'pointsSystemId' | 'breakdownAttributes' | 'runs' | 'runInterval'>,
  { metrics, points, attributes }: Lookups,
): string | null {
  const by =
    rankBy === 'streak'
      ? 'the length of their streak'
      : rankBy === 'points'
        ? pointsSystemId && points.nameOf(pointsSystemId)
        : metricId && metrics.nameOf(metricId)
  if (by === '') return null
  const begins = runInWords(run)
  const groups = breakdownAttributes.map(attributes.nameOf).join(' and ')
  const parts = [
    `Ranks users by ${by}`,
    groups === '' ? '' : `, each ${groups} on its own`,
    begins === null ? '. It never begins again.' : `. It begins again ${begins}.`,
  ]
  return parts.join('')
}

const wordsOf = (item: AdminLeaderboard, lookups: Lookups) =>
  inWords(
    {
      rankBy: item.rankBy,
      metricId: item.metricId ?? '',
      pointsSystemId: item.pointsSystemId ?? '',
      breakdownAttributes: item.breakdownAttributes,
      ...runOf(item),
    },
    lookups,
  )

/** The moves that a status allows (L7). */
function movesOf({ id, name, status }: AdminLeaderboard): Move<AdminLeaderboard>[] {
  const to = (status: AdminLeaderboard['status']): Move<AdminLeaderboard>['act'] => {
    return (admin) => admin.leaderboards.update([{ id, status }])
  }
  return [
    ...(status === 'inactive'
      ? [{ label: 'Activate', done: 'The leaderboard is active', act: to('active') }]
      : []),
    ...(status === 'active' || status === 'scheduled'
      ? [{ label: 'Deactivate', done: 'The leaderboard is hidden', act: to('inactive') }]
      : []),
    ...(status === 'active'
      ? [
          {
            label: 'Finish',
            done: 'The leaderboard is finished',
            isDangerous: true,
            ask: {
              title: `Finish ${name}?`,
              text: 'Its ranking becomes final at once. This cannot be undone.',
            },
            act: to('finished'),
          },
        ]
      : []),
    {
      label: 'Delete',
      done: 'The leaderboard was deleted',
      isDangerous: true,
      isRemoval: true,
      ask: { title: `Delete ${name}?`, text: 'Its rankings are deleted with it. This cannot be undone.' },
      act: (admin) => admin.leaderboards.delete({ ids: [id] }),
    },
  ]
}

export const leaderboards: Resource<AdminLeaderboard, Values, z.output<typeof Draft>> = {
  name: 'Leaderboards',
  one: 'leaderboard',
  path: '/leaderboards',
  intro: 'Rankings of users: for ever, or beginning again each day, week, month or year.',
  empty: {
    title: 'No leaderboards yet',
    text: 'Rank users by points, by a metric or by their streak. A weekly league begins again each Monday.',
  },
  idOf: ({ id }) => id,
  keyOf: ({ key }) => key,
  nameOf: ({ name }) => name,
  statusOf: ({ status }) => status,
  list: (admin, query) => admin.leaderboards.list(query),
  get: (admin, key) => admin.leaderboards.get(key),
  create: (admin, draft) => admin.leaderboards.create([draft]),
  update: (admin, { id, key: before }, { key: after, start, ...draft }) =>
    admin.leaderboards.update([
      { id, ...draft, ...(start !== null && { start }), ...(after !== before && { key: after }) },
    ]),
  columns: (lookups) => [
    { name: 'Name', cell: ({ name }) => name },
    {
      name: 'Ranks by',
      cell: ({ rankBy, metricId, pointsSystemId }) =>
        rankBy === 'streak'
          ? 'streak'
          : rankBy === 'points'
            ? lookups.points.nameOf(pointsSystemId)
            : lookups.metrics.nameOf(metricId),
    },
    { name: 'Begins again', cell: (item) => runInWords(runOf(item)) ?? 'never', isMinor: true },
  ],
  facts: ({ description, start, end, startTime, endTime, maxParticipants, breakdownAttributes }, lookups) => [
    description === undefined || description === '' ? null : ['Description', description],
    ['Start', formatDate(start)],
    end === undefined ? null : ['End', formatDate(end)],
    startTime === undefined || endTime === undefined
      ? null
      : ['Time of the day', `${startTime} to ${endTime}, in the zone of each user`],
    ['Participants', `at most ${formatNumber(maxParticipants)} in each group`],
    breakdownAttributes.length === 0
      ? null
      : ['Groups', breakdownAttributes.map(lookups.attributes.nameOf).join(', ')],
  ],
  summary: wordsOf,
  form: {
    schema: Draft,
    values: (item) => ({
      name: item?.name ?? '',
      key: item?.key ?? '',
      description: item?.description ?? '',
      status: item?.status ?? 'active',
      rankBy: item?.rankBy ?? 'points',
      metricId: item?.metricId ?? '',
      pointsSystemId: item?.pointsSystemId ?? '',
      ...(item === null ? { runs: 'week', runInterval: '1' } : runOf(item)),
      start: item?.start ?? '',
      end: item?.end ?? '',
      startTime: item?.startTime ?? '',
      endTime: item?.endTime ?? '',
      maxParticipants: asText(item?.maxParticipants),
      breakdownAttributes: item?.breakdownAttributes ?? [],
    }),
    fields: [
      { kind: 'text', name: 'name', label: 'Name', placeholder: 'Weekly league' },
      { kind: 'key', name: 'key', label: 'Key' },
      {
        kind: 'choice',
        name: 'rankBy',
        label: 'Rank by',
        options: [
          { value: 'points', label: 'Points' },
          { value: 'metric', label: 'A metric' },
          { value: 'streak', label: 'The length of the streak' },
        ],
      },
      {
        kind: 'reference',
        to: 'points',
        name: 'pointsSystemId',
        label: 'Points system',
        when: ({ rankBy }) => rankBy === 'points',
      },
      {
        kind: 'reference',
        to: 'metrics',
        name: 'metricId',
        label: 'Metric',
        when: ({ rankBy }) => rankBy === 'metric',
      },
      {
        kind: 'choice',
        name: 'runs',
        label: 'Begins again',
        options: [
          { value: 'none', label: 'Never' },
          { value: 'day', label: 'By days' },
          { value: 'week', label: 'By weeks, on Mondays' },
          { value: 'month', label: 'By months' },
          { value: 'year', label: 'By years' },
        ],
      },
      {
        kind: 'number',
        name: 'runInterval',
        label: 'Every',
        unit: ({ runs }) => `${runs}s`,
        when: ({ runs }) => runs !== 'none',
      },
      {
        kind: 'choice',
        name: 'status',
        label: 'Status',
        hint: 'Scheduled: it becomes active on its start date.',
        options: STATUSES.map((value) => ({ value, label: value })),
      },
      {
        kind: 'date',
        name: 'start',
        label: 'Start',
        isOptional: true,
        hint: 'Today, if empty. By weeks: the Monday of that week.',
      },
      { kind: 'date', name: 'end', label: 'End', isOptional: true },
      {
        kind: 'references',
        name: 'breakdownAttributes',
        label: 'A ranking for each',
        hint: 'Users with the same values are ranked together. Users who lack one are not ranked.',
        options: ({ attributes }) =>
          attributes.all
            .filter(({ type }) => type === 'user')
            .map(({ id, name }) => ({ value: id, label: name })),
      },
      {
        kind: 'number',
        name: 'maxParticipants',
        label: 'Participants at most',
        isOptional: true,
        hint: '1 to 1,000 in each group; 1,000 if empty.',
      },
      {
        kind: 'time',
        name: 'startTime',
        label: 'Counts from',
        isOptional: true,
        hint: 'Only events in this part of the day of each user count.',
        when: ({ rankBy }) => rankBy !== 'streak',
      },
      {
        kind: 'time',
        name: 'endTime',
        label: 'Counts until',
        isOptional: true,
        when: ({ rankBy }) => rankBy !== 'streak',
      },
      { kind: 'long-text', name: 'description', label: 'Description', isOptional: true },
    ],
    preview: inWords,
  },
  moves: movesOf,
}
