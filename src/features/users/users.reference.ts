import { type Chapter, fieldsOf } from '../../api/reference/chapter'
import {
  CREATED,
  ID,
  LEVEL_THEN,
  OF_METRIC,
  OF_SYSTEM,
  ON_CLOCK,
  under,
} from '../../api/reference/common.reference'

const PROFILE = {
  email: 'The email address. `null`, empty or missing: stays as it is.',
  name: 'The display name, at most 255 characters. `null` or missing: stays as it is.',
  tz: 'The IANA time zone, such as `Europe/Paris`. It decides when the day of the user begins. `null` clears it: the user is in UTC. An empty string counts as missing.',
  deviceTokens:
    'The tokens for push messages, at most 25. They replace all earlier tokens. A token that another user has is taken from that user. `null` removes all tokens.',
  subscribeToEmails: 'Whether the user gets emails. `true` needs an email address.',
  attributes:
    'Attribute values by attribute key. They are merged with the earlier values. `null` removes a value. A number or a boolean is stored as text, such as `12.5` or `true`. Send a string if the exact spelling matters. Each key must be configured. An application key may set only attributes that users may set.',
  signUpDate:
    "The date on which the user signed up: `YYYY-MM-DD`, from 1900-01-01 to the user's today. A timestamp with its offset is taken too, and its date in UTC is stored. `null` clears it. Only an admin key may change it.",
}

const CHANNELS = {
  'notifications.achievement_completed': 'Channels for messages about completed achievements.',
  'notifications.recap': 'Channels for the recap of a week or a month.',
  'notifications.reactivation': 'Channels for messages to users who have been away.',
  'notifications.streak_reminder': 'Channels for reminders to keep the streak.',
}

const STREAK_PREFERENCES = {
  'streak.enabled': '`false`: the user has no streak, so the length is 0.',
  'streak.evaluationMode':
    'Whether one of the metrics is enough (`OR`) or all of them are needed (`AND`). `ALL` means `AND`.',
  'streak.metrics': "The user's own thresholds, for metrics in the settings of streaks.",
  'streak.metrics.threshold': 'The sum that the metric must reach in a period.',
  'streak.daysOff':
    "The user's own days of the week without activity, from 0 (Sunday) to 6, instead of those in the settings of streaks. `null` removes them.",
}

/** Users: their profiles, their preferences, their overview, their export and their erasure. */
export const users: Chapter = {
  operations: {
    users_create: {
      description:
        'Creates a user. If the id is already known, the fields that you pass are updated, and the others stay. You rarely need this operation, because the first event of a user also creates the user.',
      example: {
        body: {
          id: 'demo-mary',
          name: 'Mary',
          email: 'mary@example.com',
          tz: 'Europe/London',
          attributes: { 'demo-plan': 'free' },
          signUpDate: '2024-02-29',
        },
      },
    },
    users_overview:
      'All data for a page about a user, in one request. Each part equals the response of the operation for that part: 10 awards of each points system, 7 periods of the streak, the completed achievements, and the places on active leaderboards.',
    users_get: 'The profile of a user. The status is 404 if the user is unknown.',
    users_identify: {
      description:
        'Creates a user, or updates the fields that you pass if the user exists. Fields that you leave out stay as they are.',
      example: { body: { name: 'Ada', tz: 'Europe/Paris', attributes: { 'demo-plan': 'pro' } } },
    },
    users_update: {
      description:
        'Updates the fields that you pass. The status is 404 if the user is unknown. Fields that you leave out stay as they are.',
      example: { body: { attributes: { 'demo-plan': 'pro' } } },
    },
    users_get_preferences:
      "The channels that the user wants for each type of notification, and the user's own settings of the streak. A type that the user never set is left out, and is sent by both channels.",
    users_update_preferences: {
      description:
        'Changes the types and fields that you pass. The others stay. An empty list of channels switches a type off. `streak.metrics`, `streak.evaluationMode` and `streak.daysOff` get 403 while `customizationEnabled` is off in the settings of streaks. `streak.enabled` is always allowed.',
      example: { body: { notifications: { reactivation: ['push'] }, streak: { daysOff: [0, 6] } } },
    },
    admin_users_list: {
      description:
        'A page of the users, oldest first. With `search`, only users with the text in their id, name or email address. Upper and lower case are the same. With `userAttributes`, only users with these values. With millions of users, both take seconds.',
      parameters: {
        search: 'A part of the id, the name or the email address.',
        userAttributes: 'Values of user attributes that the users must have, as `key:value` pairs.',
      },
      example: { query: { search: 'demo' } },
    },
    admin_users_export:
      'All data of a user in one document: profile, events, awards, streak, achievements, keys, deliveries, places on leaderboards.',
    admin_users_delete: {
      description:
        "Erases a user everywhere: events, awards, streak, places on leaderboards, application keys, and all pending events and messages. The status is also 200 for an unknown user. You can't undo this. A later user with the same id is a new user.",
      example: { path: { id: 'demo-alan' } },
    },
  },
  fields: [
    fieldsOf(['UpdatedUser', 'UpsertedUser'], {
      ...PROFILE,
      id: 'The id of the user in your product, 1 to 255 characters.',
    }),
    fieldsOf(['User'], {
      id: 'The id of the user in your product.',
      email: 'The email address, or `null`.',
      name: 'The display name, or `null`.',
      tz: 'The IANA time zone. `null`: the user is in UTC.',
      deviceTokens: 'The tokens for push messages, or `null`.',
      subscribeToEmails: 'Whether the user gets emails.',
      attributes: 'Attribute values by attribute key.',
      signUpDate: 'The date on which the user signed up, or `null`.',
      control:
        'Whether the user is in the control group, which gets no notifications. This is decided when the user is created.',
      created: 'When the user was first seen.',
      updated: 'When a field of the profile last changed.',
    }),
    fieldsOf(['UpdateUserPreferencesRequest', 'UserPreferencesResponse'], {
      notifications: 'The channels by type of notification. An empty list switches a type off.',
      ...CHANNELS,
      streak: "The user's own settings of the streak.",
      ...STREAK_PREFERENCES,
      'streak.metrics.key': 'The key of the metric.',
    }),
    fieldsOf(['UserOverviewResponse'], {
      user: 'The profile.',
      metrics: 'Every metric, in order of creation.',
      points: 'Every points system, in order of creation, each with the 10 newest awards.',
      streak: 'The streak, with its last 7 periods.',
      achievements: 'The completed achievements, oldest first.',
      leaderboards: 'The place on each active leaderboard, in order of creation.',
    }),
    fieldsOf(['ErasedUser'], { id: 'The id of the erased user.' }),
  ],
}

const WHEN = { date: 'The time, in UTC.', ...ON_CLOCK }

const ATTRIBUTE = {
  id: 'The id of the attribute.',
  key: 'The key of the attribute. `null` if it was deleted.',
  value: 'The value.',
}
/** Optional fields of an entry about the streak. */
export const STREAK_ENTRY = {
  length: 'The length after it; of a lost streak, the length that was lost.',
  earned: 'How many freezes were earned or granted.',
  freezes: 'How many freezes the user had after it.',
  pause: 'The pause.',
  'pause.id': 'The id of the pause.',
  'pause.start': 'The first day.',
  'pause.end': 'The last day.',
}
const STREAK_RUN = {
  started: 'The first day of the streak.',
  firstPeriod: 'The first day of its first period.',
  lastPeriod: 'The first day of its last period.',
  periods:
    'The kinds of its periods, as counts and letters, such as `5e1f2e`: `e` extended, `x` extended on a day off, `d` kept by a day off, `f` kept by a freeze, `p` paused, `s` skipped by travel, `r` restored.',
  length: 'The length that the streak reached.',
}

export const userExport: Chapter = {
  fields: [
    fieldsOf(['UserExport'], {
      exported: 'When the export was made.',
      user: 'The profile.',
      attributes: 'All attribute values, also of attributes that were deleted.',
      ...under('attributes', ATTRIBUTE),
      preferences: 'The preferences of the user.',
      'preferences.notifications': 'The channels by type of notification.',
      ...under('preferences', CHANNELS),
      'preferences.streak': "The user's own settings of the streak.",
      ...under('preferences', STREAK_PREFERENCES),
      ...under('preferences.streak.metrics', OF_METRIC),
      metrics: 'The total of each metric that the user has used.',
      ...under('metrics', OF_METRIC),
      'metrics.total': 'The total now.',
      'metrics.highest': 'The highest total that the user ever had. Triggers count from it.',
      counters: 'The counters of triggers and achievements that count only some events.',
      'counters.id': 'The id of the counter.',
      'counters.total': 'The sum of the events that it counts.',
      'counters.highest': 'The highest sum that the user ever had.',
      points: 'The total of each points system.',
      ...under('points', OF_SYSTEM),
      'points.total': 'The total now.',
      streak: 'The streak, now and before.',
      achievements: 'The achievements that the user has completed.',
      'achievements.id': 'The id of the completion.',
      'achievements.achievementId': 'The id of the achievement.',
      'achievements.achievementKey': 'The key of the achievement. `null` if it was deleted.',
      ...under('achievements', WHEN),
      boosts: 'Boosts that are for this user only.',
      applicationKeys: 'The application keys of the user, without their secrets.',
      'applicationKeys.id': 'The id of the key.',
      'applicationKeys.prefix': 'The public first part of the key.',
      'applicationKeys.scope': '`write`, or `read` for a key that only reads.',
      'applicationKeys.expires': 'When the key ends; null if it does not end.',
      'applicationKeys.created': 'When the key was created.',
      revokedAchievements:
        'Achievements that were taken back from the user and whose condition has been true since, and points triggers that gave points for one and do not give them again.',
      'revokedAchievements.achievementId': 'The id of the achievement.',
      'revokedAchievements.achievementKey': 'The key of the achievement. `null` if it was deleted.',
      'revokedAchievements.triggerId':
        'The id of the points trigger. `null`: the achievement is not completed again while its condition stays true.',
      waitingEvents: 'Events of batches that are not processed yet.',
      parkedEvents: 'Events of batches that could not be processed because of an internal error.',
      'parkedEvents.batchId': 'The id of the batch.',
      'parkedEvents.position': 'The place in the batch, from 0.',
      'parkedEvents.event': 'The event as it was sent.',
      'parkedEvents.reason': 'The error.',
      events: 'All events, oldest first.',
      voidedEvents: 'All voided events.',
      awards: 'All awards of points and all corrections of them, oldest first.',
      adjustmentKeys: "The idempotency keys of adjustments of the user's points.",
      ...under('adjustmentKeys', OF_SYSTEM),
      'adjustmentKeys.key': 'The idempotency key.',
      'adjustmentKeys.awardId': 'The id of the adjustment that it belongs to.',
      changes:
        'Changes of the profile and the preferences, and changes of the streak without an event, oldest first.',
      idempotencyKeys: "The idempotency keys of the user's events.",
      ...under('idempotencyKeys', OF_METRIC),
      'idempotencyKeys.key': 'The idempotency key.',
      'idempotencyKeys.eventId': 'The id of the event that it belongs to.',
      deliveries: 'Deliveries to webhooks about the user.',
      notifications: 'Emails and push messages to the user.',
      leaderboards: 'The places of the user on leaderboards.',
    }),
    fieldsOf(['ExportedStreak'], {
      now: 'The streak as the application interface returns it.',
      stored: 'The stored data of the present streak.',
      'stored.frequency':
        'The length of a period: `daily`, `weekly` or `monthly`. `null` if the user never had a streak.',
      'stored.run': 'The present streak. `null` if its length is 0.',
      ...under('stored.run', STREAK_RUN),
      'stored.run.extended': 'When the streak was last extended.',
      'stored.run.restored': 'When the streak was last restored.',
      'stored.freezes': 'The number of freezes of the user.',
      'stored.sums': 'The changes of metrics that count for the current period so far.',
      'stored.sums.period': 'The first day of the period.',
      ...under('stored.sums', OF_METRIC),
      'stored.sums.change': 'The sum of the changes of the metric.',
      'stored.zoneChanges': 'Recent changes of the time zone.',
      'stored.zoneChanges.date': 'When the zone changed.',
      'stored.zoneChanges.from': 'The local date before.',
      'stored.zoneChanges.to': 'The local date after.',
      'stored.resets': 'The last times at which the streak was set to zero.',
      'stored.resets.date': 'When it was reset.',
      'stored.resets.localDate': 'The local date of the user.',
      'stored.resets.length': 'The length before it.',
      'stored.spared': 'The last date on which travel protected the streak. `null` if there was none.',
      'stored.altered':
        'The last time at which something other than an event or a midnight changed the length, or `null`.',
      past: 'Earlier streaks.',
      'past.lost': 'When it was lost. `null` if that is not known.',
      ...under('past', STREAK_RUN),
      pauses: 'All pauses, including deleted ones.',
      'pauses.id': 'The id of the pause.',
      'pauses.start': 'The first day.',
      'pauses.end': 'The last day.',
      'pauses.deleted': 'When the pause was deleted, or `null`.',
    }),
    fieldsOf(['ExportedBoost'], {
      ...ID,
      ...OF_SYSTEM,
      name: 'The name of the boost.',
      start: 'The first date on which it applies.',
      end: 'The last date on which it applies. `null`: no end.',
      multiplier: 'The factor that awards are multiplied by.',
      rounding: 'How the result is rounded.',
      ...CREATED,
      updated: 'When it was last changed.',
      deleted: 'When it was deleted, or `null`.',
    }),
    fieldsOf(['ExportedWaitingEvent'], {
      batchId: 'The id of the batch.',
      position: 'The place in the batch, from 0.',
      key: 'The key of the metric.',
      idempotencyKey: 'The idempotency key, or `null`.',
      user: 'The user, as sent with the event.',
      value: 'The value of the event.',
      attributes: 'The attributes of the event, by key.',
    }),
    fieldsOf(['ExportedStreakEntry'], {
      kind: 'The kind of the change.',
      ...STREAK_ENTRY,
    }),
    fieldsOf(['ExportedChange'], {
      date: 'When it happened.',
      fields: 'The changed fields of the profile and the preferences, and achievements that were taken back.',
      'fields.field': 'The name of the field. An attribute or an achievement is named by its id.',
      'fields.before': 'The value before. `null`: none.',
      'fields.after': 'The value after. `null`: none.',
      streak: 'The effects of the change on the streak.',
    }),
    fieldsOf(['ExportedEvent', 'ExportedVoidedEvent'], {
      ...ID,
      ...OF_METRIC,
      value: 'The value of the event.',
      ...WHEN,
      attributes: 'The attributes of the event.',
      ...under('attributes', ATTRIBUTE),
      streak: 'The effects of the event on the streak. A loss is in `streak.past`.',
    }),
    fieldsOf(['ExportedAward'], {
      ...ID,
      ...OF_SYSTEM,
      triggerId:
        'The id of the trigger that fired. For a reversal: the trigger of the reversed award. `null` for an adjustment.',
      awarded: 'The points. Negative: points were taken.',
      total: 'The total after this award.',
      ...WHEN,
      boosts: 'The boosts that applied.',
      level:
        'The level before and after, if the award changed it. `null` if the level stayed, or if it is not known.',
      ...under('level.before', LEVEL_THEN),
      ...under('level.after', LEVEL_THEN),
      'level.before': 'The level before. `null`: no level.',
      'level.after': 'The level after. `null`: no level.',
      counter:
        'The highest total that the trigger counts. `null` if it does not count, or if it is not known.',
      'counter.before': 'The highest total before the event.',
      'counter.after': 'The highest total after the event.',
      type: 'Only for a correction: `adjustment` or `reversal`.',
      amount: 'Only for a correction: its points before cap and floor. `null` if they are not known.',
      reason: 'Only for a correction: the reason, or `null`.',
      reverses: 'Only for a correction: the id of the award that it reverses, or `null`.',
    }),
    fieldsOf(['ExportedVoidedEvent'], {
      voided: 'When the event was voided.',
      reason: 'The reason of the void, or `null`.',
    }),
    fieldsOf(['ExportedDelivery', 'ExportedNotification'], {
      ...ID,
      webhookId: 'The id of the webhook.',
      event: 'The type of the event.',
      channel: 'The channel.',
      type: 'The type of the notification.',
      status: 'The status of the delivery.',
      attempts: 'The number of attempts.',
      lastStatus: 'The status of the last response, or `null`.',
      lastError: 'Why the last attempt failed, or `null`.',
      ...CREATED,
      nextAttempt: 'The time of the next attempt, or `null`.',
      payload: 'The body of the message.',
    }),
    fieldsOf(['ExportedPlace'], {
      leaderboardId: 'The id of the leaderboard.',
      leaderboardKey: 'The key of the leaderboard.',
      start: 'The first date of the run.',
      end: 'The last date of the run. `null`: no end.',
      isFinal: 'Whether the rankings of the run are final.',
      group: 'The group: the values of the breakdown attributes. `null` without a breakdown.',
      rank: 'The rank. `null` if the user is outside the ranking.',
      value: 'The exact score, also if the user is outside the ranking.',
      reached: 'When the user reached this score.',
      history: 'The rank and the score on each day on which they changed.',
      'history.date': 'The UTC date.',
      'history.rank': 'The rank at the end of that date.',
      'history.value': 'The score at the end of that date.',
    }),
  ],
}
