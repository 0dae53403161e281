import type { AdminLeaderboard } from '@laurel/client'
import { DayChart, FiguresOf } from '../../analytics/figures'
import { some } from '../../resource/affected'
import { filtersInWords, switching } from '../../resource/parts'
import type { Move, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { basisOf, type Draft, form, inWords, runInWords, runOf, type Values, valuesOf } from './board-form'
import { Rankings } from './rankings/rankings'

const FINISH: Move<AdminLeaderboard, Draft> = {
  label: 'Finish',
  did: 'was finished',
  change: { status: 'finished' },
  text: 'Its ranking becomes final at once. This cannot be undone.',
  isDangerous: true,
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
  statusOf: ({ status }) => status,
  needs: ['metrics', 'points', 'attributes'],
  operations: (admin) => admin.leaderboards,
  columns: (lookups) => [
    { name: 'Ranks by', cell: (item) => basisOf(item, lookups, 'streak') },
    {
      name: 'For',
      // The users of a leaderboard (L13).
      cell: ({ userAttributes }) => filtersInWords(userAttributes, lookups, 'users whose ') || 'all users',
      isMinor: true,
    },
    { name: 'Begins again', cell: (item) => runInWords(runOf(item)) ?? 'never', isMinor: true },
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
  // The moves that a status allows (L7).
  moves: ({ status }) => [
    ...(status === 'finished' ? [] : [switching(status === 'inactive' ? status : 'active')]),
    ...(status === 'active' ? [FINISH] : []),
  ],
  deletion: {
    text: 'Its rankings are deleted with it. This cannot be undone.',
    affected: (item) => async (admin) => {
      const { series } = await admin.leaderboards.analytics(item.key)
      return some('Ranked users', series.at(-1)?.participants)
    },
  },
}

export default resourcePage(leaderboards)
