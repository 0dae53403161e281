import type { Core } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import {
  AdminAdminKeys,
  AdminApplicationKeys,
  AdminAuditLog,
  AdminDatabases,
  AdminSettings,
  AdminTenants,
  AdminTestClock,
  AdminUserTokens,
} from './account.js'
import { AdminAchievements, AdminLeaderboards } from './achievements-and-leaderboards.js'
import { AdminAnalytics } from './analytics.js'
import { AdminNotifications, AdminWebhooks } from './messages.js'
import { AdminAttributes, AdminEventBatches, AdminMetrics } from './metrics.js'
import { AdminPoints } from './points.js'
import { AdminStreaks } from './streaks.js'
import { AdminUsers } from './users.js'

/** The admin interface: configuration, keys, batches, and all data of all users. It needs an admin key. */
export class Admin {
  readonly #core: Core
  readonly achievements: AdminAchievements
  readonly adminKeys: AdminAdminKeys
  readonly analytics: AdminAnalytics
  readonly applicationKeys: AdminApplicationKeys
  readonly attributes: AdminAttributes
  readonly auditLog: AdminAuditLog
  readonly databases: AdminDatabases
  readonly eventBatches: AdminEventBatches
  readonly leaderboards: AdminLeaderboards
  readonly metrics: AdminMetrics
  readonly notifications: AdminNotifications
  readonly points: AdminPoints
  readonly settings: AdminSettings
  readonly streaks: AdminStreaks
  readonly tenants: AdminTenants
  readonly testClock: AdminTestClock
  readonly users: AdminUsers
  readonly userTokens: AdminUserTokens
  readonly webhooks: AdminWebhooks

  constructor(core: Core) {
    this.#core = core
    this.achievements = new AdminAchievements(core)
    this.adminKeys = new AdminAdminKeys(core)
    this.analytics = new AdminAnalytics(core)
    this.applicationKeys = new AdminApplicationKeys(core)
    this.attributes = new AdminAttributes(core)
    this.auditLog = new AdminAuditLog(core)
    this.databases = new AdminDatabases(core)
    this.eventBatches = new AdminEventBatches(core)
    this.leaderboards = new AdminLeaderboards(core)
    this.metrics = new AdminMetrics(core)
    this.notifications = new AdminNotifications(core)
    this.points = new AdminPoints(core)
    this.settings = new AdminSettings(core)
    this.streaks = new AdminStreaks(core)
    this.tenants = new AdminTenants(core)
    this.testClock = new AdminTestClock(core)
    this.users = new AdminUsers(core)
    this.userTokens = new AdminUserTokens(core)
    this.webhooks = new AdminWebhooks(core)
  }

  /** Gets the state of the service: databases, due work, queues. */
  status(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/status', {}, options)
  }

  /** Lists the environments: the deployment is one. */
  environments(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/environments', {}, options)
  }

  /** Checks the key, and gets what is switched on in this deployment. */
  session(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/session', {}, options)
  }
}
