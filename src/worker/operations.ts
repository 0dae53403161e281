import type { OperationSpec } from '../api/operation'
import { adminAuditLog } from '../features/account/audit.routes'
import * as clock from '../features/account/clock.routes'
import * as keys from '../features/account/keys.routes'
import * as settings from '../features/account/settings.routes'
import { adminSessionGet, adminStatus } from '../features/account/status.routes'
import { tenantOperations } from '../features/account/tenants.routes'
import { achievementAdminOperations } from '../features/achievements/achievements.admin.routes'
import * as achievements from '../features/achievements/achievements.routes'
import { analyticsOperations } from '../features/analytics/analytics.routes'
import { usersWrapped } from '../features/analytics/wrapped/wrapped.routes'
import { adminDatabases, adminDatabasesRebalance } from '../features/databases/databases.routes'
import * as inbox from '../features/events/batches/batches.routes'
import * as events from '../features/events/events.routes'
import { attributeOperations } from '../features/metrics/attributes.routes'
import { metricOperations } from '../features/metrics/metrics.routes'
import * as userMetrics from '../features/metrics/user-metrics.routes'
import { notificationOperations } from '../features/notifications/notifications.routes'
import { pointsAdminOperations } from '../features/points/points.admin.routes'
import { pointsOperations } from '../features/points/points.routes'
import { streakAdminOperations } from '../features/streaks/admin.routes'
import * as streaks from '../features/streaks/streaks.routes'
import { correctionOperations } from '../features/support/corrections.routes'
import { explanationOperations } from '../features/support/explanations.routes'
import { userAdminOperations } from '../features/users/admin.routes'
import { usersOverview } from '../features/users/overview.routes'
import * as preferences from '../features/users/preferences.routes'
import * as users from '../features/users/users.routes'
import { leaderboardAdminOperations } from '../leaderboards/leaderboards.admin.routes'
import * as leaderboards from '../leaderboards/leaderboards.routes'
import { webhookOperations } from '../webhooks/webhooks.routes'

/** The operations of the application interface, in the order of the OpenAPI document. */
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
  leaderboards.leaderboardsLive,
  leaderboards.liveTickets,
  preferences.usersGetPreferences,
  preferences.usersUpdatePreferences,
  streaks.usersStreak,
  streaks.streaksList,
  streaks.streaksRankings,
]

/** The operations of the admin interface, in the order of the OpenAPI document. */
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
  ...correctionOperations,
  ...explanationOperations,
  ...analyticsOperations,
  ...tenantOperations,
  settings.adminSettingsGet,
  settings.adminSettingsUpdate,
  ...webhookOperations,
  ...notificationOperations,
  keys.adminApplicationApiKeysList,
  keys.adminApplicationApiKeysCreate,
  keys.adminApplicationApiKeysDelete,
  keys.adminUserTokensCreate,
  keys.adminAdminKeysList,
  keys.adminAdminKeysCreate,
  keys.adminAdminKeysDelete,
  keys.adminAdminKeysRotate,
  clock.adminTestClockGet,
  clock.adminTestClockSet,
  clock.adminTestClockReset,
  adminAuditLog,
  adminStatus,
  adminSessionGet,
  adminDatabases,
  adminDatabasesRebalance,
]
