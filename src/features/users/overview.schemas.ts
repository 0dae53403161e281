import * as z from 'zod'
import { UserAchievementsResponse } from '../../api/shapes/achievement.schemas'
import { UserLeaderboardsResponse } from '../../api/shapes/leaderboard.schemas'
import { MetricsResponse } from '../../api/shapes/metric.schemas'
import { AllUserPointsResponse } from '../../api/shapes/points.schemas'
import { StreakResponse } from '../../api/shapes/streak.schemas'
import { User } from '../../api/shapes/user.schemas'

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
