// This file is generated. To write it again: npm run generate -w @laurel/client

import type {
  AchievementsAllAnswer,
  AchievementsAllData,
  AchievementsCompleteAnswer,
  AchievementsCompleteData,
  AdminAchievementsAnalyticsAnswer,
  AdminAchievementsAnalyticsData,
  AdminAchievementsCreateAnswer,
  AdminAchievementsCreateData,
  AdminAchievementsDeleteAnswer,
  AdminAchievementsDeleteData,
  AdminAchievementsGetAnswer,
  AdminAchievementsGetData,
  AdminAchievementsListAnswer,
  AdminAchievementsListData,
  AdminAchievementsUpdateAnswer,
  AdminAchievementsUpdateData,
  AdminAdminKeysCreateAnswer,
  AdminAdminKeysCreateData,
  AdminAdminKeysDeleteAnswer,
  AdminAdminKeysDeleteData,
  AdminAdminKeysListAnswer,
  AdminAdminKeysListData,
  AdminAdminKeysRotateAnswer,
  AdminAdminKeysRotateData,
  AdminAnalyticsOverviewAnswer,
  AdminAnalyticsOverviewData,
  AdminApplicationApiKeysCreateAnswer,
  AdminApplicationApiKeysCreateData,
  AdminApplicationApiKeysDeleteAnswer,
  AdminApplicationApiKeysDeleteData,
  AdminApplicationApiKeysListAnswer,
  AdminApplicationApiKeysListData,
  AdminAttributesCreateAnswer,
  AdminAttributesCreateData,
  AdminAttributesDeleteAnswer,
  AdminAttributesDeleteData,
  AdminAttributesGetAnswer,
  AdminAttributesGetData,
  AdminAttributesListAnswer,
  AdminAttributesListData,
  AdminAttributesUpdateAnswer,
  AdminAttributesUpdateData,
  AdminAuditLogAnswer,
  AdminAuditLogData,
  AdminDatabasesAnswer,
  AdminDatabasesData,
  AdminDatabasesRebalanceAnswer,
  AdminDatabasesRebalanceData,
  AdminLeaderboardsAnalyticsAnswer,
  AdminLeaderboardsAnalyticsData,
  AdminLeaderboardsCreateAnswer,
  AdminLeaderboardsCreateData,
  AdminLeaderboardsDeleteAnswer,
  AdminLeaderboardsDeleteData,
  AdminLeaderboardsGetAnswer,
  AdminLeaderboardsGetData,
  AdminLeaderboardsListAnswer,
  AdminLeaderboardsListData,
  AdminLeaderboardsUpdateAnswer,
  AdminLeaderboardsUpdateData,
  AdminMetricsAnalyticsAnswer,
  AdminMetricsAnalyticsData,
  AdminMetricsBatchEventsAnswer,
  AdminMetricsBatchEventsData,
  AdminMetricsBatchGetAnswer,
  AdminMetricsBatchGetData,
  AdminMetricsCreateAnswer,
  AdminMetricsCreateData,
  AdminMetricsDeleteAnswer,
  AdminMetricsDeleteData,
  AdminMetricsGetAnswer,
  AdminMetricsGetData,
  AdminMetricsListAnswer,
  AdminMetricsListData,
  AdminMetricsUpdateAnswer,
  AdminMetricsUpdateData,
  AdminNotificationTemplatesCreateAnswer,
  AdminNotificationTemplatesCreateData,
  AdminNotificationTemplatesDeleteAnswer,
  AdminNotificationTemplatesDeleteData,
  AdminNotificationTemplatesGetAnswer,
  AdminNotificationTemplatesGetData,
  AdminNotificationTemplatesListAnswer,
  AdminNotificationTemplatesListData,
  AdminNotificationTemplatesPreviewAnswer,
  AdminNotificationTemplatesPreviewData,
  AdminNotificationTemplatesPreviewDraftAnswer,
  AdminNotificationTemplatesPreviewDraftData,
  AdminNotificationTemplatesTestAnswer,
  AdminNotificationTemplatesTestData,
  AdminNotificationTemplatesUpdateAnswer,
  AdminNotificationTemplatesUpdateData,
  AdminNotificationsChannelsAnswer,
  AdminNotificationsChannelsData,
  AdminNotificationsLogAnswer,
  AdminNotificationsLogData,
  AdminPointsAdjustmentsCreateAnswer,
  AdminPointsAdjustmentsCreateData,
  AdminPointsAnalyticsAnswer,
  AdminPointsAnalyticsData,
  AdminPointsBoostsCreateAnswer,
  AdminPointsBoostsCreateData,
  AdminPointsBoostsDeleteAnswer,
  AdminPointsBoostsDeleteData,
  AdminPointsBoostsGetAnswer,
  AdminPointsBoostsGetData,
  AdminPointsBoostsListAnswer,
  AdminPointsBoostsListData,
  AdminPointsBoostsUpdateAnswer,
  AdminPointsBoostsUpdateData,
  AdminPointsLevelsCreateAnswer,
  AdminPointsLevelsCreateData,
  AdminPointsLevelsDeleteAnswer,
  AdminPointsLevelsDeleteData,
  AdminPointsLevelsGetAnswer,
  AdminPointsLevelsGetData,
  AdminPointsLevelsListAnswer,
  AdminPointsLevelsListData,
  AdminPointsLevelsUpdateAnswer,
  AdminPointsLevelsUpdateData,
  AdminPointsSystemsCreateAnswer,
  AdminPointsSystemsCreateData,
  AdminPointsSystemsDeleteAnswer,
  AdminPointsSystemsDeleteData,
  AdminPointsSystemsGetAnswer,
  AdminPointsSystemsGetData,
  AdminPointsSystemsListAnswer,
  AdminPointsSystemsListData,
  AdminPointsSystemsUpdateAnswer,
  AdminPointsSystemsUpdateData,
  AdminPointsTriggersCreateAnswer,
  AdminPointsTriggersCreateData,
  AdminPointsTriggersDeleteAnswer,
  AdminPointsTriggersDeleteData,
  AdminPointsTriggersGetAnswer,
  AdminPointsTriggersGetData,
  AdminPointsTriggersListAnswer,
  AdminPointsTriggersListData,
  AdminPointsTriggersUpdateAnswer,
  AdminPointsTriggersUpdateData,
  AdminSessionGetAnswer,
  AdminSessionGetData,
  AdminSettingsGetAnswer,
  AdminSettingsGetData,
  AdminSettingsUpdateAnswer,
  AdminSettingsUpdateData,
  AdminStatusAnswer,
  AdminStatusData,
  AdminStreaksFreezesCreateAnswer,
  AdminStreaksFreezesCreateData,
  AdminStreaksPausesCreateAnswer,
  AdminStreaksPausesCreateData,
  AdminStreaksPausesDeleteAnswer,
  AdminStreaksPausesDeleteData,
  AdminStreaksPausesListAnswer,
  AdminStreaksPausesListData,
  AdminStreaksRestoreAnswer,
  AdminStreaksRestoreData,
  AdminStreaksSettingsGetAnswer,
  AdminStreaksSettingsGetData,
  AdminStreaksSettingsUpdateAnswer,
  AdminStreaksSettingsUpdateData,
  AdminTenantsCreateAnswer,
  AdminTenantsCreateData,
  AdminTenantsDeleteAnswer,
  AdminTenantsDeleteData,
  AdminTenantsGetAnswer,
  AdminTenantsGetData,
  AdminTenantsListAnswer,
  AdminTenantsListData,
  AdminTenantsPurgeAnswer,
  AdminTenantsPurgeData,
  AdminTenantsUpdateAnswer,
  AdminTenantsUpdateData,
  AdminTestClockGetAnswer,
  AdminTestClockGetData,
  AdminTestClockResetAnswer,
  AdminTestClockResetData,
  AdminTestClockSetAnswer,
  AdminTestClockSetData,
  AdminUserTokensCreateAnswer,
  AdminUserTokensCreateData,
  AdminUsersDeleteAnswer,
  AdminUsersDeleteData,
  AdminUsersExplainAwardAnswer,
  AdminUsersExplainAwardData,
  AdminUsersExportAnswer,
  AdminUsersExportData,
  AdminUsersListAnswer,
  AdminUsersListData,
  AdminUsersRevokeAchievementAnswer,
  AdminUsersRevokeAchievementData,
  AdminUsersTimelineAnswer,
  AdminUsersTimelineData,
  AdminUsersVoidEventAnswer,
  AdminUsersVoidEventData,
  AdminWebhooksCreateAnswer,
  AdminWebhooksCreateData,
  AdminWebhooksDeleteAnswer,
  AdminWebhooksDeleteData,
  AdminWebhooksDeliveriesGetAnswer,
  AdminWebhooksDeliveriesGetData,
  AdminWebhooksDeliveriesListAnswer,
  AdminWebhooksDeliveriesListData,
  AdminWebhooksDeliveriesRedeliverAnswer,
  AdminWebhooksDeliveriesRedeliverData,
  AdminWebhooksGetAnswer,
  AdminWebhooksGetData,
  AdminWebhooksListAnswer,
  AdminWebhooksListData,
  AdminWebhooksRotateSecretAnswer,
  AdminWebhooksRotateSecretData,
  AdminWebhooksTestAnswer,
  AdminWebhooksTestData,
  AdminWebhooksUpdateAnswer,
  AdminWebhooksUpdateData,
  LeaderboardsAllAnswer,
  LeaderboardsAllData,
  LeaderboardsGetAnswer,
  LeaderboardsGetData,
  LeaderboardsGroupsAnswer,
  LeaderboardsGroupsData,
  LeaderboardsLiveAnswer,
  LeaderboardsLiveData,
  LiveTicketsCreateAnswer,
  LiveTicketsCreateData,
  MetricsEventAnswer,
  MetricsEventData,
  PointsAllAnswer,
  PointsAllData,
  PointsBoostsAnswer,
  PointsBoostsData,
  PointsLevelSummaryAnswer,
  PointsLevelSummaryData,
  PointsLevelsAnswer,
  PointsLevelsData,
  PointsSummaryAnswer,
  PointsSummaryData,
  PointsSystemAnswer,
  PointsSystemData,
  StreaksListAnswer,
  StreaksListData,
  StreaksRankingsAnswer,
  StreaksRankingsData,
  UsersAchievementsAnswer,
  UsersAchievementsData,
  UsersAllLeaderboardsAnswer,
  UsersAllLeaderboardsData,
  UsersAllMetricsAnswer,
  UsersAllMetricsData,
  UsersAllPointsAnswer,
  UsersAllPointsData,
  UsersCreateAnswer,
  UsersCreateData,
  UsersGetAnswer,
  UsersGetData,
  UsersGetPreferencesAnswer,
  UsersGetPreferencesData,
  UsersIdentifyAnswer,
  UsersIdentifyData,
  UsersLeaderboardAnswer,
  UsersLeaderboardData,
  UsersMetricEventSummaryAnswer,
  UsersMetricEventSummaryData,
  UsersOverviewAnswer,
  UsersOverviewData,
  UsersPointsAnswer,
  UsersPointsBoostsAnswer,
  UsersPointsBoostsData,
  UsersPointsData,
  UsersPointsEventSummaryAnswer,
  UsersPointsEventSummaryData,
  UsersSingleMetricAnswer,
  UsersSingleMetricData,
  UsersStreakAnswer,
  UsersStreakData,
  UsersUpdateAnswer,
  UsersUpdateData,
  UsersUpdatePreferencesAnswer,
  UsersUpdatePreferencesData,
  UsersWrappedAnswer,
  UsersWrappedData,
} from './types.js'

/** The parts of a request, and the body of its answer. */
interface Operation<Data extends { path?: unknown; query?: unknown; body?: unknown }, Answer> {
  path: Data['path']
  query: Data['query']
  body: Data['body']
  answer: Answer
}

/** All operations of both interfaces, by method and path. */
export interface Operations {
  /** List the active achievements */
  'GET /v1/achievements': Operation<AchievementsAllData, AchievementsAllAnswer>
  /** Complete an achievement for a user, and get the changes */
  'POST /v1/achievements/{key}/complete': Operation<AchievementsCompleteData, AchievementsCompleteAnswer>
  /** Record an event of a user, and get everything that it changed */
  'POST /v1/metrics/{key}/event': Operation<MetricsEventData, MetricsEventAnswer>
  /** Create a user, or update the passed fields of an existing user */
  'POST /v1/users': Operation<UsersCreateData, UsersCreateAnswer>
  /** Get a user */
  'GET /v1/users/{id}': Operation<UsersGetData, UsersGetAnswer>
  /** Create a user, or update the passed fields of an existing user */
  'PUT /v1/users/{id}': Operation<UsersIdentifyData, UsersIdentifyAnswer>
  /** Update the passed fields of a user */
  'PATCH /v1/users/{id}': Operation<UsersUpdateData, UsersUpdateAnswer>
  /** Get a user with metrics, points, streak, achievements and leaderboards */
  'GET /v1/users/{id}/overview': Operation<UsersOverviewData, UsersOverviewAnswer>
  /** Get a user's totals in all metrics */
  'GET /v1/users/{id}/metrics': Operation<UsersAllMetricsData, UsersAllMetricsAnswer>
  /** Get a user's total in a metric */
  'GET /v1/users/{id}/metrics/{key}': Operation<UsersSingleMetricData, UsersSingleMetricAnswer>
  /** Get the changes of a user's metric by day, week or month */
  'GET /v1/users/{id}/metrics/{key}/event-summary': Operation<UsersMetricEventSummaryData, UsersMetricEventSummaryAnswer>
  /** List the achievements that a user has completed */
  'GET /v1/users/{id}/achievements': Operation<UsersAchievementsData, UsersAchievementsAnswer>
  /** Get a user's points in all systems, with the newest awards in each */
  'GET /v1/users/{id}/points': Operation<UsersAllPointsData, UsersAllPointsAnswer>
  /** Get a user's points in a system, with the newest awards */
  'GET /v1/users/{id}/points/{key}': Operation<UsersPointsData, UsersPointsAnswer>
  /** List the boosts that apply to a user on the user's local date */
  'GET /v1/users/{id}/points/{key}/boosts': Operation<UsersPointsBoostsData, UsersPointsBoostsAnswer>
  /** Sum up a user's points by day, week or month */
  'GET /v1/users/{id}/points/{key}/event-summary': Operation<UsersPointsEventSummaryData, UsersPointsEventSummaryAnswer>
  /** List the points systems with their active triggers */
  'GET /v1/points': Operation<PointsAllData, PointsAllAnswer>
  /** Get a points system with its active triggers */
  'GET /v1/points/{key}': Operation<PointsSystemData, PointsSystemAnswer>
  /** List a points system's levels, by points */
  'GET /v1/points/{key}/levels': Operation<PointsLevelsData, PointsLevelsAnswer>
  /** List a points system's boosts that are not a single user's */
  'GET /v1/points/{key}/boosts': Operation<PointsBoostsData, PointsBoostsAnswer>
  /** Count users by how many points they have */
  'GET /v1/points/{key}/summary': Operation<PointsSummaryData, PointsSummaryAnswer>
  /** Count users by level */
  'GET /v1/points/{key}/level-summary': Operation<PointsLevelSummaryData, PointsLevelSummaryAnswer>
  /** Get a user's place on each leaderboard */
  'GET /v1/users/{id}/leaderboards': Operation<UsersAllLeaderboardsData, UsersAllLeaderboardsAnswer>
  /** Get a user's place on a leaderboard, and its history */
  'GET /v1/users/{id}/leaderboards/{key}': Operation<UsersLeaderboardData, UsersLeaderboardAnswer>
  /** Sum up a user's year */
  'GET /v1/users/{id}/wrapped': Operation<UsersWrappedData, UsersWrappedAnswer>
  /** List the active leaderboards */
  'GET /v1/leaderboards': Operation<LeaderboardsAllData, LeaderboardsAllAnswer>
  /** Get a leaderboard with a page of its rankings */
  'GET /v1/leaderboards/{key}': Operation<LeaderboardsGetData, LeaderboardsGetAnswer>
  /** List the groups of a leaderboard with breakdown */
  'GET /v1/leaderboards/{key}/groups': Operation<LeaderboardsGroupsData, LeaderboardsGroupsAnswer>
  /** Watch a leaderboard */
  'GET /v1/leaderboards/{key}/live': Operation<LeaderboardsLiveData, LeaderboardsLiveAnswer>
  /** Get a ticket that opens streams */
  'POST /v1/live-tickets': Operation<LiveTicketsCreateData, LiveTicketsCreateAnswer>
  /** Get the preferences of a user for notifications and streaks */
  'GET /v1/users/{id}/preferences': Operation<UsersGetPreferencesData, UsersGetPreferencesAnswer>
  /** Change the passed preferences of a user */
  'PATCH /v1/users/{id}/preferences': Operation<UsersUpdatePreferencesData, UsersUpdatePreferencesAnswer>
  /** Get a user's streak */
  'GET /v1/users/{id}/streak': Operation<UsersStreakData, UsersStreakAnswer>
  /** Get the streak lengths of several users */
  'GET /v1/streaks': Operation<StreaksListData, StreaksListAnswer>
  /** Get the users with the longest streaks */
  'GET /v1/streaks/rankings': Operation<StreaksRankingsData, StreaksRankingsAnswer>
  /** List attributes, oldest first */
  'GET /admin/v1/attributes': Operation<AdminAttributesListData, AdminAttributesListAnswer>
  /** Create attributes */
  'POST /admin/v1/attributes': Operation<AdminAttributesCreateData, AdminAttributesCreateAnswer>
  /** Update attributes */
  'PATCH /admin/v1/attributes': Operation<AdminAttributesUpdateData, AdminAttributesUpdateAnswer>
  /** Delete attributes */
  'DELETE /admin/v1/attributes': Operation<AdminAttributesDeleteData, AdminAttributesDeleteAnswer>
  /** Get an attribute */
  'GET /admin/v1/attributes/{id}': Operation<AdminAttributesGetData, AdminAttributesGetAnswer>
  /** List metrics, oldest first */
  'GET /admin/v1/metrics': Operation<AdminMetricsListData, AdminMetricsListAnswer>
  /** Create metrics */
  'POST /admin/v1/metrics': Operation<AdminMetricsCreateData, AdminMetricsCreateAnswer>
  /** Update metrics */
  'PATCH /admin/v1/metrics': Operation<AdminMetricsUpdateData, AdminMetricsUpdateAnswer>
  /** Delete metrics */
  'DELETE /admin/v1/metrics': Operation<AdminMetricsDeleteData, AdminMetricsDeleteAnswer>
  /** Get a metric */
  'GET /admin/v1/metrics/{id}': Operation<AdminMetricsGetData, AdminMetricsGetAnswer>
  /** Record up to 1,000 events in the background, each exactly once and in order */
  'POST /admin/v1/metrics/events': Operation<AdminMetricsBatchEventsData, AdminMetricsBatchEventsAnswer>
  /** Get the progress of a batch of events */
  'GET /admin/v1/metrics/events/batches/{id}': Operation<AdminMetricsBatchGetData, AdminMetricsBatchGetAnswer>
  /** List points systems, oldest first */
  'GET /admin/v1/points': Operation<AdminPointsSystemsListData, AdminPointsSystemsListAnswer>
  /** Create points systems */
  'POST /admin/v1/points': Operation<AdminPointsSystemsCreateData, AdminPointsSystemsCreateAnswer>
  /** Update points systems */
  'PATCH /admin/v1/points': Operation<AdminPointsSystemsUpdateData, AdminPointsSystemsUpdateAnswer>
  /** Delete points systems */
  'DELETE /admin/v1/points': Operation<AdminPointsSystemsDeleteData, AdminPointsSystemsDeleteAnswer>
  /** Get a points system */
  'GET /admin/v1/points/{id}': Operation<AdminPointsSystemsGetData, AdminPointsSystemsGetAnswer>
  /** List levels, oldest first */
  'GET /admin/v1/points/{systemId}/levels': Operation<AdminPointsLevelsListData, AdminPointsLevelsListAnswer>
  /** Create levels */
  'POST /admin/v1/points/{systemId}/levels': Operation<AdminPointsLevelsCreateData, AdminPointsLevelsCreateAnswer>
  /** Update levels */
  'PATCH /admin/v1/points/{systemId}/levels': Operation<AdminPointsLevelsUpdateData, AdminPointsLevelsUpdateAnswer>
  /** Delete levels */
  'DELETE /admin/v1/points/{systemId}/levels': Operation<AdminPointsLevelsDeleteData, AdminPointsLevelsDeleteAnswer>
  /** Get a level */
  'GET /admin/v1/points/{systemId}/levels/{id}': Operation<AdminPointsLevelsGetData, AdminPointsLevelsGetAnswer>
  /** List triggers, oldest first */
  'GET /admin/v1/points/{systemId}/triggers': Operation<AdminPointsTriggersListData, AdminPointsTriggersListAnswer>
  /** Create triggers */
  'POST /admin/v1/points/{systemId}/triggers': Operation<AdminPointsTriggersCreateData, AdminPointsTriggersCreateAnswer>
  /** Update triggers */
  'PATCH /admin/v1/points/{systemId}/triggers': Operation<AdminPointsTriggersUpdateData, AdminPointsTriggersUpdateAnswer>
  /** Delete triggers */
  'DELETE /admin/v1/points/{systemId}/triggers': Operation<AdminPointsTriggersDeleteData, AdminPointsTriggersDeleteAnswer>
  /** Get a trigger */
  'GET /admin/v1/points/{systemId}/triggers/{id}': Operation<AdminPointsTriggersGetData, AdminPointsTriggersGetAnswer>
  /** List boosts, oldest first */
  'GET /admin/v1/points/{systemId}/boosts': Operation<AdminPointsBoostsListData, AdminPointsBoostsListAnswer>
  /** Create boosts */
  'POST /admin/v1/points/{systemId}/boosts': Operation<AdminPointsBoostsCreateData, AdminPointsBoostsCreateAnswer>
  /** Update boosts */
  'PATCH /admin/v1/points/{systemId}/boosts': Operation<AdminPointsBoostsUpdateData, AdminPointsBoostsUpdateAnswer>
  /** Delete boosts */
  'DELETE /admin/v1/points/{systemId}/boosts': Operation<AdminPointsBoostsDeleteData, AdminPointsBoostsDeleteAnswer>
  /** Get a boost */
  'GET /admin/v1/points/{systemId}/boosts/{id}': Operation<AdminPointsBoostsGetData, AdminPointsBoostsGetAnswer>
  /** List achievements, oldest first */
  'GET /admin/v1/achievements': Operation<AdminAchievementsListData, AdminAchievementsListAnswer>
  /** Create achievements */
  'POST /admin/v1/achievements': Operation<AdminAchievementsCreateData, AdminAchievementsCreateAnswer>
  /** Update achievements */
  'PATCH /admin/v1/achievements': Operation<AdminAchievementsUpdateData, AdminAchievementsUpdateAnswer>
  /** Delete achievements */
  'DELETE /admin/v1/achievements': Operation<AdminAchievementsDeleteData, AdminAchievementsDeleteAnswer>
  /** Get an achievement */
  'GET /admin/v1/achievements/{id}': Operation<AdminAchievementsGetData, AdminAchievementsGetAnswer>
  /** List leaderboards, oldest first */
  'GET /admin/v1/leaderboards': Operation<AdminLeaderboardsListData, AdminLeaderboardsListAnswer>
  /** Create leaderboards */
  'POST /admin/v1/leaderboards': Operation<AdminLeaderboardsCreateData, AdminLeaderboardsCreateAnswer>
  /** Update leaderboards */
  'PATCH /admin/v1/leaderboards': Operation<AdminLeaderboardsUpdateData, AdminLeaderboardsUpdateAnswer>
  /** Delete leaderboards */
  'DELETE /admin/v1/leaderboards': Operation<AdminLeaderboardsDeleteData, AdminLeaderboardsDeleteAnswer>
  /** Get a leaderboard */
  'GET /admin/v1/leaderboards/{id}': Operation<AdminLeaderboardsGetData, AdminLeaderboardsGetAnswer>
  /** Get the streak settings */
  'GET /admin/v1/streaks/settings': Operation<AdminStreaksSettingsGetData, AdminStreaksSettingsGetAnswer>
  /** Change the passed streak settings */
  'PATCH /admin/v1/streaks/settings': Operation<AdminStreaksSettingsUpdateData, AdminStreaksSettingsUpdateAnswer>
  /** Grant users one streak freeze each */
  'POST /admin/v1/streaks/freezes': Operation<AdminStreaksFreezesCreateData, AdminStreaksFreezesCreateAnswer>
  /** List the pauses of a user's streak, oldest first */
  'GET /admin/v1/streaks/pauses': Operation<AdminStreaksPausesListData, AdminStreaksPausesListAnswer>
  /** Pause users' streaks */
  'POST /admin/v1/streaks/pauses': Operation<AdminStreaksPausesCreateData, AdminStreaksPausesCreateAnswer>
  /** Delete streak pauses */
  'DELETE /admin/v1/streaks/pauses': Operation<AdminStreaksPausesDeleteData, AdminStreaksPausesDeleteAnswer>
  /** Restore the longest recent streak of users */
  'POST /admin/v1/streaks/restore': Operation<AdminStreaksRestoreData, AdminStreaksRestoreAnswer>
  /** List users, oldest first, or search them by id, name and email */
  'GET /admin/v1/users': Operation<AdminUsersListData, AdminUsersListAnswer>
  /** Export all data of a user, also of an archived tenant */
  'GET /admin/v1/users/{id}/export': Operation<AdminUsersExportData, AdminUsersExportAnswer>
  /** Erase a user everywhere, whether or not there is one, also of an archived tenant */
  'DELETE /admin/v1/users/{id}': Operation<AdminUsersDeleteData, AdminUsersDeleteAnswer>
  /** Add points to users, or take them, by hand */
  'POST /admin/v1/points/{systemId}/adjustments': Operation<AdminPointsAdjustmentsCreateData, AdminPointsAdjustmentsCreateAnswer>
  /** Void an event of a user, so that it no longer counts */
  'POST /admin/v1/users/{id}/events/{eventId}/void': Operation<AdminUsersVoidEventData, AdminUsersVoidEventAnswer>
  /** Take a completed achievement back from a user */
  'DELETE /admin/v1/users/{id}/achievements/{key}': Operation<AdminUsersRevokeAchievementData, AdminUsersRevokeAchievementAnswer>
  /** Explain an award of points */
  'GET /admin/v1/users/{id}/points/{key}/awards/{awardId}': Operation<AdminUsersExplainAwardData, AdminUsersExplainAwardAnswer>
  /** List everything that happened to a user, newest first */
  'GET /admin/v1/users/{id}/timeline': Operation<AdminUsersTimelineData, AdminUsersTimelineAnswer>
  /** Get the figures of all users by day */
  'GET /admin/v1/analytics/overview': Operation<AdminAnalyticsOverviewData, AdminAnalyticsOverviewAnswer>
  /** Get the figures of a metric by day */
  'GET /admin/v1/metrics/{key}/analytics': Operation<AdminMetricsAnalyticsData, AdminMetricsAnalyticsAnswer>
  /** Get the figures of a points system by day */
  'GET /admin/v1/points/{key}/analytics': Operation<AdminPointsAnalyticsData, AdminPointsAnalyticsAnswer>
  /** Get the figures of a leaderboard by day */
  'GET /admin/v1/leaderboards/{key}/analytics': Operation<AdminLeaderboardsAnalyticsData, AdminLeaderboardsAnalyticsAnswer>
  /** Get the figures of an achievement by day */
  'GET /admin/v1/achievements/{key}/analytics': Operation<AdminAchievementsAnalyticsData, AdminAchievementsAnalyticsAnswer>
  /** List tenants, oldest first */
  'GET /admin/v1/tenants': Operation<AdminTenantsListData, AdminTenantsListAnswer>
  /** Create tenants */
  'POST /admin/v1/tenants': Operation<AdminTenantsCreateData, AdminTenantsCreateAnswer>
  /** Update tenants */
  'PATCH /admin/v1/tenants': Operation<AdminTenantsUpdateData, AdminTenantsUpdateAnswer>
  /** Delete tenants */
  'DELETE /admin/v1/tenants': Operation<AdminTenantsDeleteData, AdminTenantsDeleteAnswer>
  /** Get a tenant */
  'GET /admin/v1/tenants/{id}': Operation<AdminTenantsGetData, AdminTenantsGetAnswer>
  /** Erase an archived tenant with all its data and all its users */
  'DELETE /admin/v1/tenants/{id}': Operation<AdminTenantsPurgeData, AdminTenantsPurgeAnswer>
  /** Get the settings */
  'GET /admin/v1/settings': Operation<AdminSettingsGetData, AdminSettingsGetAnswer>
  /** Update the passed settings */
  'PATCH /admin/v1/settings': Operation<AdminSettingsUpdateData, AdminSettingsUpdateAnswer>
  /** List webhooks, oldest first */
  'GET /admin/v1/webhooks': Operation<AdminWebhooksListData, AdminWebhooksListAnswer>
  /** Create webhooks */
  'POST /admin/v1/webhooks': Operation<AdminWebhooksCreateData, AdminWebhooksCreateAnswer>
  /** Update webhooks */
  'PATCH /admin/v1/webhooks': Operation<AdminWebhooksUpdateData, AdminWebhooksUpdateAnswer>
  /** Delete webhooks */
  'DELETE /admin/v1/webhooks': Operation<AdminWebhooksDeleteData, AdminWebhooksDeleteAnswer>
  /** Get a webhook */
  'GET /admin/v1/webhooks/{id}': Operation<AdminWebhooksGetData, AdminWebhooksGetAnswer>
  /** Replace the secret of a webhook. Only this response shows the new one */
  'POST /admin/v1/webhooks/{id}/rotate-secret': Operation<AdminWebhooksRotateSecretData, AdminWebhooksRotateSecretAnswer>
  /** List the deliveries of a webhook, newest first. Finished ones are stored for 30 days */
  'GET /admin/v1/webhooks/{id}/deliveries': Operation<AdminWebhooksDeliveriesListData, AdminWebhooksDeliveriesListAnswer>
  /** Get a delivery of a webhook, with the body that it sends */
  'GET /admin/v1/webhooks/{id}/deliveries/{deliveryId}': Operation<AdminWebhooksDeliveriesGetData, AdminWebhooksDeliveriesGetAnswer>
  /** Make a delivery pending again, under the same id and with all its retries */
  'POST /admin/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver': Operation<AdminWebhooksDeliveriesRedeliverData, AdminWebhooksDeliveriesRedeliverAnswer>
  /** Send a webhook a sample event of any type, even of a type that it does not listen to */
  'POST /admin/v1/webhooks/{id}/test': Operation<AdminWebhooksTestData, AdminWebhooksTestAnswer>
  /** List notification templates, oldest first */
  'GET /admin/v1/notifications/templates': Operation<AdminNotificationTemplatesListData, AdminNotificationTemplatesListAnswer>
  /** Create notification templates */
  'POST /admin/v1/notifications/templates': Operation<AdminNotificationTemplatesCreateData, AdminNotificationTemplatesCreateAnswer>
  /** Update notification templates */
  'PATCH /admin/v1/notifications/templates': Operation<AdminNotificationTemplatesUpdateData, AdminNotificationTemplatesUpdateAnswer>
  /** Delete notification templates */
  'DELETE /admin/v1/notifications/templates': Operation<AdminNotificationTemplatesDeleteData, AdminNotificationTemplatesDeleteAnswer>
  /** Get a notification template */
  'GET /admin/v1/notifications/templates/{id}': Operation<AdminNotificationTemplatesGetData, AdminNotificationTemplatesGetAnswer>
  /** Render a notification template for a user, without sending anything */
  'POST /admin/v1/notifications/templates/{id}/preview': Operation<AdminNotificationTemplatesPreviewData, AdminNotificationTemplatesPreviewAnswer>
  /** Render a template that is not stored for a user, without sending anything */
  'POST /admin/v1/notifications/templates/preview': Operation<AdminNotificationTemplatesPreviewDraftData, AdminNotificationTemplatesPreviewDraftAnswer>
  /** Send a notification template to a user now, once, as a test */
  'POST /admin/v1/notifications/templates/{id}/test': Operation<AdminNotificationTemplatesTestData, AdminNotificationTemplatesTestAnswer>
  /** List emails and push messages to users, newest first */
  'GET /admin/v1/notifications/log': Operation<AdminNotificationsLogData, AdminNotificationsLogAnswer>
  /** Get the providers that are configured for email and push messages */
  'GET /admin/v1/notifications/channels': Operation<AdminNotificationsChannelsData, AdminNotificationsChannelsAnswer>
  /** List the application keys, oldest first, without their secrets */
  'GET /admin/v1/application-api-keys': Operation<AdminApplicationApiKeysListData, AdminApplicationApiKeysListAnswer>
  /** Create application keys, each for one user. Only this response shows them */
  'POST /admin/v1/application-api-keys': Operation<AdminApplicationApiKeysCreateData, AdminApplicationApiKeysCreateAnswer>
  /** Delete application keys */
  'DELETE /admin/v1/application-api-keys': Operation<AdminApplicationApiKeysDeleteData, AdminApplicationApiKeysDeleteAnswer>
  /** Make a token with which a page can act for one user, until the token ends */
  'POST /admin/v1/user-tokens': Operation<AdminUserTokensCreateData, AdminUserTokensCreateAnswer>
  /** List the admin keys, oldest first, without their secrets */
  'GET /admin/v1/admin-api-keys': Operation<AdminAdminKeysListData, AdminAdminKeysListAnswer>
  /** Create admin keys. Only this response shows them */
  'POST /admin/v1/admin-api-keys': Operation<AdminAdminKeysCreateData, AdminAdminKeysCreateAnswer>
  /** Delete admin keys */
  'DELETE /admin/v1/admin-api-keys': Operation<AdminAdminKeysDeleteData, AdminAdminKeysDeleteAnswer>
  /** Replace an admin key. Only this response shows the new key, and the old key stops working at once */
  'POST /admin/v1/admin-api-keys/{id}/rotate': Operation<AdminAdminKeysRotateData, AdminAdminKeysRotateAnswer>
  /** Get the service's time (development only) */
  'GET /admin/v1/test-clock': Operation<AdminTestClockGetData, AdminTestClockGetAnswer>
  /** Move the clock forward, to a moment or by a duration, and run all work that becomes due (development only) */
  'PUT /admin/v1/test-clock': Operation<AdminTestClockSetData, AdminTestClockSetAnswer>
  /** Return to real time (development only) */
  'DELETE /admin/v1/test-clock': Operation<AdminTestClockResetData, AdminTestClockResetAnswer>
  /** List the changes that admins made, newest first */
  'GET /admin/v1/audit-log': Operation<AdminAuditLogData, AdminAuditLogAnswer>
  /** Get the state of the service: databases, due work, queues */
  'GET /admin/v1/status': Operation<AdminStatusData, AdminStatusAnswer>
  /** Check an admin key, and get what is switched on in this deployment */
  'GET /admin/v1/session': Operation<AdminSessionGetData, AdminSessionGetAnswer>
  /** List the databases, with the number of their users and events */
  'GET /admin/v1/databases': Operation<AdminDatabasesData, AdminDatabasesAnswer>
  /** Spread the users over the databases by weight */
  'POST /admin/v1/databases/rebalance': Operation<AdminDatabasesRebalanceData, AdminDatabasesRebalanceAnswer>
}
