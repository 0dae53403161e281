import type { User, UserAchievementWithStatsResponse, UserOverviewResponse } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLaurel } from '../../api/laurel'
import { PagedTable } from '../../api/paging'
import { AskButton } from '../../resource/confirm-write'
import type { Act } from '../../resource/resource'
import { isListed, removing } from '../../resource/writes'
import { Toggle } from '../../ui/button'
import { counted, formatNumber, formatPercent, Moment } from '../../ui/format'
import { Card } from '../../ui/page'
import { nameOr, say } from '../../ui/text'
import { keyOfUser, useOverview, writesOf } from './user-paths'

type Achievement = UserAchievementWithStatsResponse

/** How an achievement is completed, in words. */
function conditionOf(one: Achievement): string {
  switch (one.trigger) {
    case 'metric':
      return say`${formatNumber(one.metricValue ?? 0)} of ${nameOr(one.metricName, 'a metric')}`
    case 'streak':
      return `a streak of ${formatNumber(one.streakLength ?? 0)}`
    case 'achievement':
      return `${formatNumber(one.achievementIds?.length ?? 0)} other achievements`
    case 'api':
      return 'by your product, or by hand'
    case 'anniversary':
      return `${counted(one.anniversaryYears ?? 0, 'year')} after signing up`
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
  const { data: overview } = useOverview(user.id)
  return (
    <Card title="Achievements" flush>
      <PagedTable
        label="Achievements"
        pages={achievements}
        hasTwoLines
        empty={{
          title: 'There are no achievements yet',
          text: 'Create achievements on the page Achievements.',
        }}
        columns={[
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
        ]}
      />
    </Card>
  )
}

/** Completes an achievement by hand, or takes it back, after a question. */
function ChangeButton({ user, achievement }: { user: User; achievement: Achievement }) {
  const [isWithPoints, setWithPoints] = useState(true)
  const { id, achievedAt, key = id } = achievement
  const isCompleted = achievedAt !== null
  const name = nameOr(achievement.name, key)
  const label = isCompleted ? 'Revoke' : 'Complete'
  const complete: Act<object> = (_, laurel) => laurel.achievements.complete(key, { user: { id: user.id } })
  const revoke = removing(
    (admin) => admin.users.revokeAchievement(user.id, key, isWithPoints ? { points: 'revoke' } : {}),
    (_, laurel) => isListed(laurel.users.achievements.list(user.id), id),
  )
  return (
    <AskButton<object>
      key={label}
      {...writesOf(user.id)}
      label={label}
      button={{ isSmall: true, 'aria-label': say`${label} ${name}` }}
      title={say`${label} ${name}?`}
      confirm={`Confirm: ${label.toLowerCase()}`}
      isDangerous={isCompleted}
      write={{
        what: say`The achievement “${name}” of ${user.id}`,
        did: isCompleted ? 'was revoked' : 'was completed',
        act: isCompleted ? revoke : complete,
      }}
    >
      {isCompleted ? (
        <>
          <p>The user no longer has this achievement, and can complete it again.</p>
          <div className="mt-4 text-text">
            <Toggle
              label="Take back its points too"
              checked={isWithPoints}
              onChange={({ target }) => setWithPoints(target.checked)}
            />
          </div>
        </>
      ) : (
        'The user gets its points, and the messages that go with it.'
      )}
    </AskButton>
  )
}
