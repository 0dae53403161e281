import type { Endpoint, OperationSpec } from '../api/endpoint'
import { auditEndpoints } from '../features/account/audit.routes'
import { clockEndpoints } from '../features/account/clock.routes'
import { keyEndpoints } from '../features/account/keys.routes'
import { settingsEndpoints } from '../features/account/settings.routes'
import { statusEndpoints } from '../features/account/status.routes'
import { tenantEndpoints } from '../features/account/tenants.routes'
import { achievement } from '../features/achievements/achievement.resource'
import { achievementEndpoints } from '../features/achievements/achievements.routes'
import { analyticsEndpoints } from '../features/analytics/analytics.routes'
import { wrappedEndpoints } from '../features/analytics/wrapped/wrapped.routes'
import { databaseEndpoints } from '../features/databases/databases.routes'
import { batchEndpoints } from '../features/events/batches/batches.routes'
import { eventEndpoint } from '../features/events/events.routes'
import { attribute } from '../features/metrics/attribute.resource'
import { metric } from '../features/metrics/metric.resource'
import { userMetricEndpoints } from '../features/metrics/user-metrics.routes'
import { notificationEndpoints } from '../features/notifications/notifications.routes'
import { boost } from '../features/points/boost.resource'
import { pointsEndpoints } from '../features/points/points.routes'
import { level, system } from '../features/points/system.resource'
import { trigger } from '../features/points/trigger.resource'
import { streakAdminEndpoints } from '../features/streaks/admin.routes'
import { streakEndpoints } from '../features/streaks/streaks.routes'
import { adjustmentEndpoints } from '../features/support/adjustments.routes'
import { supportEndpoints } from '../features/support/timeline.routes'
import { voidEndpoints } from '../features/support/voids.routes'
import {
  overviewEndpoints,
  preferenceEndpoints,
  userAdminEndpoints,
  userEndpoints,
} from '../features/users/users.routes'
import { leaderboard } from '../leaderboards/leaderboard.resource'
import { leaderboardEndpoints } from '../leaderboards/leaderboards.routes'
import { webhookEndpoints } from '../webhooks/webhooks.routes'
import { JOBS, webhook } from './jobs'

/** The endpoints of the application interface, in the order of the OpenAPI document. */
export const applicationEndpoints: readonly Endpoint[] = [
  ...achievementEndpoints,
  eventEndpoint,
  ...userEndpoints,
  ...overviewEndpoints,
  ...userMetricEndpoints,
  ...pointsEndpoints,
  ...wrappedEndpoints,
  ...leaderboardEndpoints,
  ...preferenceEndpoints,
  ...streakEndpoints,
]

/** Admin resources that refer to no other ones. The demo begins with their items. */
export const firstResources = [attribute, metric]

/** The endpoints of the admin interface, in the order of the OpenAPI document. */
export const adminEndpoints: readonly Endpoint[] = [
  ...firstResources.flatMap(({ endpoints }) => endpoints),
  ...batchEndpoints,
  ...system.endpoints,
  ...level.endpoints,
  ...trigger.endpoints,
  ...boost.endpoints,
  ...achievement.endpoints,
  ...leaderboard.endpoints,
  ...streakAdminEndpoints,
  ...userAdminEndpoints,
  ...adjustmentEndpoints,
  ...voidEndpoints,
  ...supportEndpoints,
  ...analyticsEndpoints,
  ...tenantEndpoints,
  ...settingsEndpoints,
  ...webhookEndpoints(webhook),
  ...notificationEndpoints,
  ...keyEndpoints,
  ...clockEndpoints(JOBS),
  ...auditEndpoints,
  ...statusEndpoints(JOBS),
  ...databaseEndpoints(JOBS),
]

const specsOf = (endpoints: readonly Endpoint[]) => endpoints.map(({ spec }) => spec)

/** The operations of each interface. */
export const applicationOperations: readonly OperationSpec[] = specsOf(applicationEndpoints)
export const adminOperations: readonly OperationSpec[] = specsOf(adminEndpoints)
