import type { User, UserAchievementWithStatsResponse, UserOverviewResponse } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLaurel } from '../../api/laurel'
import { Unread } from '../../api/paging'
import { AskButton } from '../../resource/confirm-write'
import { isListed, removing } from '../../resource/writes'
import { Toggle } from '../../ui/button'
import { counted, formatNumber, formatPercent, Moment } from '../../ui/format'
import { Card, Empty } from '../../ui/page'
import { type Column, Table } from '../../ui/table'
import { nameOr, say } from '../../ui/text'
import { keyOfUser, writesOf } from './user-paths'

type Achievement = UserAchievementWithStatsResponse

/** How an achievement is completed, in words. */
function conditionOf({
  trigger,
  metricValue,
  metricName,
  streakLength,
  achievementIds,
  anniversaryYears = 0,
}: Achievement): string {
  switch (trigger) {
    case 'metric':
      return say`${formatNumber(metricValue ?? 0)} of ${nameOr(metricName, 'a metric')}`
    case 'streak':
      return `a streak of ${formatNumber(streakLength ?? 0)}`
    case 'achievement':
      return `${formatNumber(achievementIds?.length ?? 0)} other achievements`
    case 'api':
      return 'by your product, or by hand'
    case 'anniversary':
      return `${counted(anniversaryYears, 'year')} after signing up`
  }
}

/** How far the user is: "3 of 5". Null if that cannot be told. */
function progressOf(
  { trigger, metricId, metricValue, streakLength, achievementIds = [], eventAttributes = [] }: Achievement,
  { metrics, streak, achievements }: UserOverviewResponse,
): string | null {
  const of = (done: number, all: number) => `${formatNumber(Math.min(done, all))} of ${formatNumber(all)}`
  switch (trigger) {
    case 'metric': {
      const metric = metrics.find(({ id }) => id === metricId)
      // The total of a metric says nothing about a part of its events.
      if (metric === undefined || metricValue === undefined || eventAttributes.length > 0) return null
      return of(metric.current, metricValue)
    }
    case 'streak':
      return streakLength === undefined ? null : of(streak.length, streakLength)
    case 'achievement': {
      const done = achievements.filter(({ id }) => achievementIds.includes(id))
      return of(done.length, achievementIds.length)
    }
    case 'api':
    case 'anniversary':
      return null
  }
}

/** All achievements: those that the user has completed, and the others. */
export function AchievementsTab({ user }: { user: User }) {
  const laurel = useLaurel()
  const achievements = useQuery({
    queryKey: keyOfUser(user.id, 'achievements'),
    queryFn: async () => laurel.users.achievements.list(user.id, { includeIncomplete: true }),
  })
  const { data: overview } = useQuery({
    queryKey: keyOfUser(user.id, 'overview'),
    queryFn: () => laurel.users.overview(user.id),
  })
  const columns: readonly Column<Achievement>[] = [
    {
      name: 'Achievement',
      cell: (one) => (
        <>
          <p className="font-medium">{nameOr(one.name, one.key ?? one.id)}</p>
          <p className="text-sm text-quiet">{conditionOf(one)}</p>
        </>
      ),
    },
    {
      name: 'Completed',
      cell: (one) => {
        if (one.achievedAt !== null) return <Moment iso={one.achievedAt} zone={user.tz} />
        const progress = overview && progressOf(one, overview)
        return <span className="text-quiet">{progress ? `not yet: ${progress}` : 'not yet'}</span>
      },
    },
    {
      name: 'Completed by',
      cell: ({ rarity }) => `${formatPercent(rarity / 100)} of users`,
      isNumber: true,
      isMinor: true,
    },
    {
      name: 'Action',
      cell: (one) =>
        one.achievedAt !== null || one.trigger === 'api' ? (
          <ChangeButton user={user} achievement={one} />
        ) : (
          <span className="text-quiet">automatic</span>
        ),
      isNumber: true,
    },
  ]
  return (
    <Card title="Achievements" flush>
      {achievements.isError ? (
        <div className="p-5">
          <Unread of={achievements} />
        </div>
      ) : achievements.data?.length === 0 ? (
        <Empty title="There are no achievements yet">Create achievements on the page Achievements.</Empty>
      ) : (
        <Table label="Achievements" columns={columns} rows={achievements.data} hasTwoLines />
      )}
    </Card>
  )
}

/** Completes an achievement by hand, or takes it back, after a question. */
function ChangeButton({ user, achievement }: { user: User; achievement: Achievement }) {
  const [isWithPoints, setWithPoints] = useState(true)
  const { id, achievedAt, key = id } = achievement
  const name = nameOr(achievement.name, key)
  const label = achievedAt === null ? 'Complete' : 'Revoke'
  const asked = {
    ...writesOf(user.id),
    label,
    button: { isSmall: true, 'aria-label': say`${label} ${name}` },
    title: say`${label} ${name}?`,
    confirm: `Confirm: ${label.toLowerCase()}`,
  }
  const what = say`The achievement “${name}” of ${user.id}`
  if (achievedAt === null)
    return (
      <AskButton
        key="complete"
        {...asked}
        write={{
          what,
          did: 'was completed',
          act: (_, laurel) => laurel.achievements.complete(key, { user: { id: user.id } }),
        }}
      >
        The user gets its points, and the messages that go with it.
      </AskButton>
    )
  return (
    <AskButton
      key="revoke"
      {...asked}
      isDangerous
      write={{
        what,
        did: 'was revoked',
        act: removing(
          (admin) => admin.users.revokeAchievement(user.id, key, isWithPoints ? { points: 'revoke' } : {}),
          (_, laurel) => isListed(laurel.users.achievements.list(user.id), id),
        ),
      }}
    >
      <p>The user no longer has this achievement, and can complete it again.</p>
      <div className="mt-4 text-text">
        <Toggle
          label="Take back its points too"
          checked={isWithPoints}
          onChange={({ target }) => setWithPoints(target.checked)}
        />
      </div>
    </AskButton>
  )
}
