import * as z from 'zod'
import { UserAchievementsResponse } from '../../wire/achievement.schemas'
import { UserLeaderboardsResponse } from '../../wire/leaderboard.schemas'
import { MetricsResponse } from '../../wire/metric.schemas'
import { AllUserPointsResponse } from '../../wire/points.schemas'
import { StreakResponse } from '../../wire/streak.schemas'
import { User } from '../../wire/user.schemas'

/**
 * All data of a user that an application shows. Each part equals the response of the operation that returns
 * only that part.
 */
export const UserOverviewResponse = z
  .object({
    user: User,
    metrics: MetricsResponse,
    points: AllUserPointsResponse,
    streak: StreakResponse,
    achievements: UserAchievementsResponse,
    leaderboards: UserLeaderboardsResponse,
  })
  .meta({ id: 'UserOverviewResponse' })
