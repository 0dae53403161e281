import { UserAchievementResponse } from '../../api/shapes/achievements'
import { sampleAchievement, userEvent } from './event'

export const ACHIEVEMENT_EVENTS = {
  /** A user completed an achievement (W6). */
  'achievement.completed': userEvent({ achievement: UserAchievementResponse }, (when) => ({
    achievement: sampleAchievement(when),
  })),
}
