import * as z from 'zod'
import { UserAchievementsResponse } from '../achievements/achievements.schemas'
import { UserLeaderboardsResponse } from '../leaderboards/leaderboards.schemas'
import { MetricsResponse } from '../metrics/metrics.schemas'
import { AllUserPointsResponse } from '../points/points.schemas'
import { StreakResponse } from '../streaks/streaks.schemas'
import { User } from '../users/users.schemas'

/** All that an application shows of a user; each part is as the read of that part alone has it. */
export const UserOverviewResponse = z
  .object({
    user: User,
    metrics: MetricsResponse.meta({ description: 'Every metric, in order of creation.' }),
    points: AllUserPointsResponse.meta({
      description: 'Every points system, in order of creation, each with the 10 newest awards.',
    }),
    streak: StreakResponse,
    achievements: UserAchievementsResponse.meta({ description: 'The completed achievements, oldest first.' }),
    leaderboards: UserLeaderboardsResponse.meta({
      description: 'The place on each active leaderboard, in order of creation.',
    }),
  })
  .meta({ id: 'UserOverviewResponse' })
