import * as z from 'zod'
import { UserAchievementResponse } from '../../api/shapes/achievements'
import { User } from '../../api/shapes/users'
import { sampleAchievement, sampleUser, type UserPayload, webhookEvent } from './event'

const Payload = z.object({ user: User, achievement: UserAchievementResponse })
type Payload = z.infer<typeof Payload>

/** A user completed an achievement (W6). */
export const achievementCompleted = webhookEvent({
  type: 'achievement.completed',
  schema: Payload,
  sample: (when): Payload => ({ user: sampleUser(when), achievement: sampleAchievement(when) }),
  build: (user: UserPayload, achievement: z.infer<typeof UserAchievementResponse>): Payload => ({
    user,
    achievement,
  }),
})
