import { account } from './account'
import { achievements } from './achievements'
import type { Chapter } from './chapter'
import { common } from './common'
import { events } from './events'
import { keys } from './keys'
import { leaderboards } from './leaderboards'
import { notifications } from './notifications'
import { points, pointsAdmin } from './points'
import { streaks } from './streaks'
import { analytics } from './support/analytics'
import { audit } from './support/audit'
import { corrections } from './support/corrections'
import { explanations } from './support/explanations'
import { userExport } from './support/user-export'
import { users } from './users'
import { webhooks } from './webhooks'
import { wrapped } from './wrapped'

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
