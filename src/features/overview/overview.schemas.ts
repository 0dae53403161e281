import * as z from 'zod'
import { UserAchievementsResponse } from '../../wire/achievement.schemas'
import { UserLeaderboardsResponse } from '../../wire/leaderboard.schemas'
import { MetricsResponse } from '../../wire/metric.schemas'
import { AllUserPointsResponse } from '../../wire/points.schemas'
import { StreakResponse } from '../../wire/streak.schemas'
import { User } from '../../wire/user.schemas'

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
