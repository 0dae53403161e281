import * as z from 'zod'
import { Timestamp } from '../../api/fields'
import { userAchievementResponse } from '../../api/shapes/achievement.presenter'
import { UserAchievementResponse } from '../../api/shapes/achievement.schemas'
import { userResponse } from '../../api/shapes/user.presenter'
import { User } from '../../api/shapes/user.schemas'
import type { Achievement, Configuration } from '../../configuration/configuration.types'
import { type Instant, iso } from '../../lib/clock'
import type { UserState } from '../../rules/state.types'
import { webhookEvent } from './event.builder'
import { sampleAchievement, sampleUser } from './samples.builder'

const Payload = z.object({ timestamp: Timestamp, user: User, achievement: UserAchievementResponse })
type Payload = z.infer<typeof Payload>

/** An email about a completed achievement is due (W6, N5). */
export const emailsAchievementDue = webhookEvent({
  type: 'emails.achievement_due',
  schema: Payload,
  sample: (when): Payload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    achievement: sampleAchievement(when),
  }),
  build: (config: Configuration, user: UserState, at: Instant, achievement: Achievement): Payload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    achievement: userAchievementResponse(config, achievement, user.achievements.get(achievement.id)),
  }),
})
