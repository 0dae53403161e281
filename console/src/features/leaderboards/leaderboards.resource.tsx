import type { AdminLeaderboard } from '@laurel/client'
import { DayChart, FiguresOf } from '../../analytics/figures'
import type { Lookups } from '../../resource/lookups'
import { type Filter, filtersInWords } from '../../resource/parts'
import type { Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { formatDate, formatNumber } from '../../ui/format'
import { type Draft, form, type Values, valuesOf } from './board-form'
import { movesOf } from './moves'
import { Rankings } from './rankings/rankings'
import { inWords, runInWords, runOf } from './words'

/** The users of a leaderboard in words, such as `users whose team is red` (L13). */
const usersOf = (filters: readonly Filter[], lookups: Lookups): string => {
  const users = filtersInWords(filters, lookups)
  return users === null ? 'all users' : `users whose ${users}`
}

export const leaderboards: Resource<AdminLeaderboard, Values, Draft> = {
  name: 'Leaderboards',
  one: 'leaderboard',
  path: '/leaderboards',
  intro: 'Rankings of users: for ever, or beginning again each day, week, month or year.',
  empty: {
    title: 'No leaderboards yet',
    text: 'Rank users by points, by a metric or by their streak. A weekly league begins again each Monday.',
  },
  keyOf: ({ key }) => key,
  nameOf: ({ name }) => name,
  statusOf: ({ status }) => status,
  needs: ['metrics', 'points', 'attributes'],
  operations: (admin) => admin.leaderboards,
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
    { name: 'For', cell: ({ userAttributes }) => usersOf(userAttributes, lookups), isMinor: true },
    { name: 'Begins again', cell: (item) => runInWords(runOf(item)) ?? 'never', isMinor: true },
  ],
  facts: (
    { description, start, end, startTime, endTime, maxParticipants, breakdownAttributes, userAttributes },
    lookups,
  ) => [
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
    ['For', usersOf(userAttributes, lookups)],
  ],
  summary: (item, lookups) => inWords(valuesOf(item), lookups),
  Sections: ({ item }) => (
    <>
      <Rankings board={item} />
      <FiguresOf
        queryKey={['/leaderboards', 'analytics', item.key]}
        read={(admin, ...period) => admin.leaderboards.analytics(item.key, ...period)}
      >
        {(rows) => <DayChart title="Participants" rows={rows} value={({ participants }) => participants} />}
      </FiguresOf>
    </>
  ),
  form,
  moves: movesOf,
}

export default resourcePage(leaderboards)
