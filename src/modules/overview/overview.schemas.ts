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
    metrics: MetricsResponse,
    points: AllUserPointsResponse,
    streak: StreakResponse,
    achievements: UserAchievementsResponse,
    leaderboards: UserLeaderboardsResponse,
  })
  .meta({ id: 'UserOverviewResponse' })
