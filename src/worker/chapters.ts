import type { Chapter } from '../api/reference/chapter'
import { common } from '../api/reference/common.reference'
import { account, audit, keys } from '../features/account/account.reference'
import { achievements } from '../features/achievements/achievements.reference'
import { analytics, wrapped } from '../features/analytics/analytics.reference'
import { events } from '../features/events/events.reference'
import { notifications } from '../features/notifications/notifications.reference'
import { points, pointsAdmin } from '../features/points/points.reference'
import { streaks } from '../features/streaks/streaks.reference'
import { corrections } from '../features/support/corrections.reference'
import { explanations } from '../features/support/explanations.reference'
import { userExport } from '../features/users/user-export.reference'
import { users } from '../features/users/users.reference'
import { leaderboards } from '../leaderboards/leaderboards.reference'
import { webhooks } from '../webhooks/webhooks.reference'

/** All chapters. If several have a note for the same field, the note of the last one counts. */
export const CHAPTERS: readonly Chapter[] = [
  common,
  events,
  users,
  userExport,
  explanations,
  keys,
  points,
  pointsAdmin,
  corrections,
  achievements,
  leaderboards,
  streaks,
  wrapped,
  webhooks,
  notifications,
  analytics,
  audit,
  account,
]
