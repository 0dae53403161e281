import * as z from 'zod'
import type { Achievement, Configuration } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import { Timestamp } from '../../../http/fields'
import { type Instant, iso } from '../../../lib/clock'
import { UserAchievementResponse } from '../../../wire/achievement.schemas'
import { userAchievementResponse } from '../../../wire/presenters/achievement.presenter'
import { userResponse } from '../../../wire/presenters/user.presenter'
import { User } from '../../../wire/user.schemas'
import { webhookEvent } from '../event.builder'
import { sampleAchievement, sampleUser } from '../samples.builder'

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
