import type { OperationSpec } from './http/operation'
import { achievementAdminOperations } from './modules/achievements/achievements.admin.routes'
import * as achievements from './modules/achievements/achievements.routes'
import { attributeOperations } from './modules/attributes/attributes.routes'
import * as clock from './modules/clock/clock.routes'
import * as events from './modules/events/events.routes'
import * as inbox from './modules/inbox/inbox.routes'
import * as keys from './modules/keys/keys.routes'
import { leaderboardAdminOperations } from './modules/leaderboards/leaderboards.admin.routes'
import * as leaderboards from './modules/leaderboards/leaderboards.routes'
import { metricOperations } from './modules/metrics/metrics.routes'
import * as userMetrics from './modules/metrics/user-metrics.routes'
import { notificationOperations } from './modules/notifications/notifications.routes'
import { usersOverview } from './modules/overview/overview.routes'
import { pointsAdminOperations } from './modules/points/points.admin.routes'
import { pointsOperations } from './modules/points/points.routes'
import * as preferences from './modules/preferences/preferences.routes'
import { streakAdminOperations } from './modules/streaks/streaks.admin.routes'
import * as streaks from './modules/streaks/streaks.routes'
import * as settings from './modules/tenants/settings.routes'
import { tenantOperations } from './modules/tenants/tenants.routes'
import { userAdminOperations } from './modules/users/users.admin.routes'
import * as users from './modules/users/users.routes'
import { webhookOperations } from './modules/webhooks/webhooks.routes'
import { usersWrapped } from './modules/wrapped/wrapped.routes'

/** The operations of the application interface, in the order of its document. */
export const applicationOperations: readonly OperationSpec[] = [
  achievements.achievementsAll,
  achievements.achievementsComplete,
  events.metricsEvent,
  users.usersCreate,
  users.usersGet,
  users.usersIdentify,
  users.usersUpdate,
  usersOverview,
  userMetrics.usersAllMetrics,
  userMetrics.usersSingleMetric,
  userMetrics.usersMetricEventSummary,
  achievements.usersAchievements,
  ...pointsOperations,
  leaderboards.usersAllLeaderboards,
  leaderboards.usersLeaderboard,
  usersWrapped,
  leaderboards.leaderboardsAll,
  leaderboards.leaderboardsGet,
  leaderboards.leaderboardsGroups,
  preferences.usersGetPreferences,
  preferences.usersUpdatePreferences,
  streaks.usersStreak,
  streaks.streaksList,
  streaks.streaksRankings,
]

/** The operations of the admin interface, in the order of its document. */
export const adminOperations: readonly OperationSpec[] = [
  ...attributeOperations,
  ...metricOperations,
  inbox.adminMetricsBatchEvents,
  inbox.adminMetricsBatchGet,
  ...pointsAdminOperations,
  ...achievementAdminOperations,
  ...leaderboardAdminOperations,
  ...streakAdminOperations,
  ...userAdminOperations,
  ...tenantOperations,
  settings.adminSettingsGet,
  settings.adminSettingsUpdate,
  ...webhookOperations,
  ...notificationOperations,
  keys.adminApplicationApiKeysList,
  keys.adminApplicationApiKeysCreate,
  keys.adminApplicationApiKeysDelete,
  keys.adminAdminKeysList,
  keys.adminAdminKeysCreate,
  keys.adminAdminKeysDelete,
  keys.adminAdminKeysRotate,
  clock.adminTestClockGet,
  clock.adminTestClockSet,
  clock.adminTestClockReset,
]
