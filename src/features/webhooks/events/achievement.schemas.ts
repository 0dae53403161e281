import * as z from 'zod'
import { UserAchievementResponse } from '../../../wire/achievement.schemas'
import { User } from '../../../wire/user.schemas'
import { webhookEvent } from './event.types'
import { achievement, user } from './parts.builder'

/** The events of achievements (W2). */
export const achievementEvents = {
  'achievement.completed': webhookEvent(
    z.object({ user: User, achievement: UserAchievementResponse }),
    (when) => ({ user: user(when), achievement: achievement(when) }),
  ),
} as const
