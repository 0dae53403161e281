import { achievementAdminOperations } from '../features/achievements/achievements.admin.routes'
import * as achievements from '../features/achievements/achievements.routes'
import { analyticsOperations } from '../features/analytics/analytics.routes'
import { attributeOperations } from '../features/attributes/attributes.routes'
import { adminAuditLog } from '../features/audit/audit.routes'
import * as clock from '../features/clock/clock.routes'
import { correctionOperations } from '../features/corrections/corrections.routes'
import { adminDatabases, adminDatabasesRebalance } from '../features/databases/databases.routes'
import * as inbox from '../features/events/batch.routes'
import * as events from '../features/events/events.routes'
import { explanationOperations } from '../features/explanations/explanations.routes'
import * as keys from '../features/keys/keys.routes'
import { leaderboardAdminOperations } from '../features/leaderboards/leaderboards.admin.routes'
import * as leaderboards from '../features/leaderboards/leaderboards.routes'
import { metricOperations } from '../features/metrics/metrics.routes'
import * as userMetrics from '../features/metrics/user-metrics.routes'
import { notificationOperations } from '../features/notifications/notifications.routes'
import { usersOverview } from '../features/overview/overview.routes'
import { pointsAdminOperations } from '../features/points/points.admin.routes'
import { pointsOperations } from '../features/points/points.routes'
import { adminSessionGet, adminStatus } from '../features/status/status.routes'
import { streakAdminOperations } from '../features/streaks/streaks.admin.routes'
import * as streaks from '../features/streaks/streaks.routes'
import * as settings from '../features/tenants/settings.routes'
import { tenantOperations } from '../features/tenants/tenants.routes'
import * as preferences from '../features/users/preferences.routes'
import { userAdminOperations } from '../features/users/users.admin.routes'
import * as users from '../features/users/users.routes'
import { webhookOperations } from '../features/webhooks/webhooks.routes'
import { usersWrapped } from '../features/wrapped/wrapped.routes'
import type { OperationSpec } from '../http/operation'

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
