import { type Chapter, demo } from './chapter'
import { CREATED, ID } from './common'

const PROFILE = {
  email: 'The email address. `null`, empty or absent: stays as it is.',
  name: 'The display name, at most 255 characters. `null` or absent: stays as it is.',
  tz: 'The IANA time zone, such as `Europe/Paris`. It decides when the day of the user begins. `null` clears it: the user is in UTC. An empty string counts as absent.',
  deviceTokens:
    'The tokens for push messages, at most 25. They replace those from before; `null` clears them.',
  subscribeToEmails: 'Whether the user gets emails. `true` needs an email address.',
  attributes:
    'Attribute values by attribute key. They are merged with those from before; `null` removes one. A number or a boolean is stored as its text, such as `12.5` or `true`: send a string if the spelling matters. Each key must be configured, and an application key may set only those that users may set.',
}

const CHANNELS = {
  'notifications.achievement_completed': 'Channels for messages about completed achievements.',
  'notifications.recap': 'Channels for the recap of a week or a month.',
  'notifications.reactivation': 'Channels for messages to users who have been away.',
  'notifications.streak_reminder': 'Channels for reminders to keep the streak.',
}

const STREAK_PREFERENCES = {
  'streak.enabled': '`false` takes the user out of streaks: the length is 0.',
  'streak.evaluationMode':
    'Whether any of the metrics suffices (`OR`) or all of them are needed (`ALL`, or `AND`, which means the same).',
  'streak.metrics': "The user's own thresholds, of metrics that the settings of streaks name.",
  'streak.metrics.threshold': 'The sum that the metric must reach in a period.',
}

/** Users: who they are, what they want, and everything that is held of them. */
export const users: Chapter = {
  operations: {
    users_create: {
      description:
        'Creates a user. If the id is known already, the passed fields are updated, and the others stay. You rarely need this: the first event of a user creates the user too.',
      example: {
        body: {
          id: 'demo-mary',
          name: 'Mary',
          email: 'mary@example.com',
          tz: 'Europe/London',
          attributes: { 'demo-plan': 'free' },
        },
      },
    },
    users_overview: {
      description:
        'All that a page about a user shows, in one request. Each part is what the read of that part alone answers: 10 awards of each points system, 7 periods of the streak, the completed achievements, and the places on active leaderboards.',
      example: {},
    },
    users_get: { description: 'The profile of a user. 404 if the user is unknown.', example: {} },
    users_identify: {
      description:
        'Creates a user, or updates the passed fields of a user who exists. Fields that are left out stay as they are.',
      example: { body: { name: 'Ada', tz: 'Europe/Paris', attributes: { 'demo-plan': 'pro' } } },
    },
    users_update: {
      description:
        'Updates the passed fields of a user who exists; 404 for an unknown one. Fields that are left out stay as they are.',
      example: { body: { attributes: { 'demo-plan': 'pro' } } },
    },
    users_get_preferences: {
      description:
        'Which notifications the user wants by which channels, and how the streak of the user is counted. A type that the user never set is left out, and comes by both channels.',
      example: {},
    },
    users_update_preferences: {
      description:
        'Changes preferences type by type and field by field; what is left out stays. An empty list of channels switches a type off. `streak.metrics` and `streak.evaluationMode` are 403 while `personalisation` is off in the settings of streaks; `streak.enabled` is always allowed.',
      example: { body: { notifications: { streak_reminder: ['push'] } } },
    },
    admin_users_list: {
      description:
        'A page of the users, oldest first. With `search`, those whose id, name or email contains the text, in upper or lower case. Among millions of users a search takes seconds.',
      parameters: { search: 'A part of the id, the name or the email address.' },
      example: { query: { search: 'demo' } },
    },
    admin_users_export: {
      description:
        'Everything that is held of a user in one document: profile, events, awards, streak, achievements, keys, deliveries, places on leaderboards.',
      example: {},
    },
    admin_users_delete: {
      description:
        'Erases a user everywhere: events, awards, streak, places on leaderboards, application keys, and what still waits to be processed or sent. It answers 200 for an unknown user too. There is no way back. Somebody who comes back under the same id is a new user.',
      example: { path: { id: 'demo-alan' } },
    },
  },
  fields: [
    {
      of: ['UpdatedUser', 'UpsertedUser'],
      fields: { ...PROFILE, id: 'The id of the user in your product, 1 to 255 characters.' },
    },
    {
      of: ['User'],
      fields: {
        id: 'The id of the user in your product.',
        email: 'The email address, or `null`.',
        name: 'The display name, or `null`.',
        tz: 'The IANA time zone. `null`: the user is in UTC.',
        deviceTokens: 'The tokens for push messages, or `null`.',
        subscribeToEmails: 'Whether the user gets emails.',
        attributes: 'Attribute values by attribute key.',
        control:
          'Whether the user is in the control group, who get no notifications. It is decided when the user is created.',
        created: 'When the user was first seen.',
        updated: 'When a field of the profile last changed.',
      },
    },
    {
      of: ['UpdateUserPreferencesRequest', 'UserPreferencesResponse'],
      fields: {
        notifications: 'The channels by type of notification. An empty list switches a type off.',
        ...CHANNELS,
        streak: 'How the streak of this user is counted.',
        ...STREAK_PREFERENCES,
        'streak.metrics.key': 'The key of the metric.',
      },
    },
    {
      of: ['UserOverviewResponse'],
      fields: {
        user: 'The profile.',
        metrics: 'Every metric, in order of creation.',
        points: 'Every points system, in order of creation, each with the 10 newest awards.',
        streak: 'The streak, with its last 7 periods.',
        achievements: 'The completed achievements, oldest first.',
        leaderboards: 'The place on each active leaderboard, in order of creation.',
      },
    },
    { of: ['ErasedUser'], fields: { id: 'The id of the user who was erased.' } },
  ],
}

const METRIC = {
  metricId: 'The id of the metric.',
  metricKey: 'The key of the metric. `null` if the metric was deleted.',
}
const SYSTEM = {
  systemId: 'The id of the points system.',
  systemKey: 'The key of the points system. `null` if it was deleted.',
}
const WHEN = {
  date: 'When it happened, in UTC.',
  localDate: 'The date on the clock of the user at that moment.',
  utcOffsetMinutes: 'How far the clock of the user was ahead of UTC at that moment, in minutes.',
}
const under = (path: string, fields: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(fields).map(([field, note]) => [`${path}.${field}`, note]))

const ATTRIBUTE = {
  id: 'The id of the attribute.',
  key: 'The key of the attribute. `null` if it was deleted.',
  value: 'The value.',
}
const STREAK_RUN = {
  started: 'The first day of the streak.',
  firstPeriod: 'The first day of its first period.',
  lastPeriod: 'The first day of its last period.',
  periods:
    'What each period was, as counts and letters, such as `5e1f2e`: `e` extended, `f` kept by a freeze, `p` paused, `s` skipped by travel, `r` restored.',
  length: 'The length that the streak reached.',
}

/** The export of a user. */
export const userExport: Chapter = {
  fields: [
    {
      of: ['UserExport'],
      fields: {
        exported: 'When the export was made.',
        user: 'The profile.',
        attributes: 'All attribute values, also of attributes that were deleted.',
        ...under('attributes', ATTRIBUTE),
        preferences: 'The preferences of the user.',
        'preferences.notifications': 'The channels by type of notification.',
        ...under('preferences', CHANNELS),
        'preferences.streak': 'How the streak of this user is counted.',
        ...under('preferences', STREAK_PREFERENCES),
        'preferences.streak.metrics.metricId': METRIC.metricId,
        'preferences.streak.metrics.metricKey': METRIC.metricKey,
        metrics: 'The total of each metric that the user has used.',
        ...under('metrics', METRIC),
        'metrics.total': 'The total now.',
        'metrics.highest': 'The highest total there ever was. Triggers count from it.',
        counters: 'The counters of triggers and achievements that count only some events.',
        'counters.id': 'The id of the counter.',
        'counters.total': 'The sum of the events that it counts.',
        'counters.highest': 'The highest sum there ever was.',
        points: 'The total of each points system.',
        ...under('points', SYSTEM),
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
        'applicationKeys.created': 'When the key was created.',
        waitingEvents: 'Events of batches that are not processed yet.',
        parkedEvents: 'Events of batches that could not be processed because of a fault of the service.',
        'parkedEvents.batchId': 'The id of the batch.',
        'parkedEvents.position': 'The place in the batch, from 0.',
        'parkedEvents.event': 'The event as it was sent.',
        'parkedEvents.reason': 'What went wrong.',
        events: 'All events, oldest first.',
        awards: 'All awards of points, oldest first.',
        idempotencyKeys: 'The idempotency keys that events of the user came with.',
        ...under('idempotencyKeys', METRIC),
        'idempotencyKeys.key': 'The idempotency key.',
        'idempotencyKeys.eventId': 'The id of the event that it belongs to.',
        deliveries: 'Deliveries to webhooks about the user.',
        notifications: 'Emails and push messages to the user.',
        leaderboards: 'The places of the user on leaderboards.',
      },
    },
    { of: ['ExportedStreakRun'], fields: STREAK_RUN },
    {
      of: ['ExportedStreak'],
      fields: {
        now: 'The streak as the application interface shows it.',
        stored: 'What is stored of the present streak.',
        'stored.frequency':
          'How the streak is counted: `daily`, `weekly` or `monthly`. `null` if it never began.',
        'stored.run': 'The present streak. `null` if its length is 0.',
        ...under('stored.run', STREAK_RUN),
        'stored.run.extended': 'When the streak was last extended.',
        'stored.run.restored': 'When the streak was last restored.',
        'stored.freezes': 'How many freezes the user has.',
        'stored.sums': 'What counts towards the current period so far.',
        'stored.sums.period': 'The first day of the period.',
        ...under('stored.sums', METRIC),
        'stored.sums.change': 'The sum of the changes of the metric.',
        'stored.zoneChanges': 'Recent changes of the time zone.',
        'stored.zoneChanges.date': 'When the zone changed.',
        'stored.zoneChanges.from': 'The local date before.',
        'stored.zoneChanges.to': 'The local date after.',
        'stored.spared': 'The last date that travel spared. `null` if there was none.',
        'stored.journeys':
          'Changes of zone to a later date that may still be undone, with the streak as it was before.',
        'stored.journeys.date': 'When the zone changed.',
        'stored.journeys.from': 'The first date that was skipped.',
        'stored.journeys.until': 'The last date that was skipped.',
        'stored.journeys.length': 'The length of the streak before.',
        'stored.journeys.freezes': 'How many freezes the user had before.',
        'stored.altered': 'When the length last changed other than by an event or a midnight, or `null`.',
        past: 'Earlier streaks.',
        pauses: 'Pauses, also those that were deleted.',
        'pauses.id': 'The id of the pause.',
        'pauses.start': 'The first day.',
        'pauses.end': 'The last day.',
        'pauses.deleted': 'When the pause was deleted, or `null`.',
      },
    },
    {
      of: ['ExportedBoost'],
      fields: {
        ...ID,
        ...SYSTEM,
        name: 'The name of the boost.',
        start: 'The first date on which it applies.',
        end: 'The last date on which it applies. `null`: it has no end.',
        multiplier: 'What awards are multiplied by.',
        rounding: 'How the product is rounded.',
        ...CREATED,
        updated: 'When it was last changed.',
        deleted: 'When it was deleted, or `null`.',
      },
    },
    {
      of: ['ExportedWaitingEvent'],
      fields: {
        batchId: 'The id of the batch.',
        position: 'The place in the batch, from 0.',
        key: 'The key of the metric.',
        idempotencyKey: 'The idempotency key, or `null`.',
        user: 'The user as the event passes them.',
        value: 'The value of the event.',
        attributes: 'The attributes of the event, by key.',
      },
    },
    {
      of: ['ExportedEvent'],
      fields: {
        ...ID,
        ...METRIC,
        value: 'The value of the event.',
        ...WHEN,
        attributes: 'The attributes of the event.',
        ...under('attributes', ATTRIBUTE),
      },
    },
    {
      of: ['ExportedAward'],
      fields: {
        ...ID,
        ...SYSTEM,
        triggerId: 'The id of the trigger that fired.',
        awarded: 'The points. Negative: points were taken.',
        total: 'The total after this award.',
        ...WHEN,
        boosts: 'The boosts that applied.',
      },
    },
    {
      of: ['ExportedDelivery', 'ExportedNotification'],
      fields: {
        ...ID,
        webhookId: 'The id of the webhook.',
        event: 'The type of the event.',
        channel: 'The channel.',
        type: 'The type of the notification.',
        status: 'What became of it.',
        attempts: 'How often it was tried.',
        lastStatus: 'The status that the last attempt was answered with, or `null`.',
        lastError: 'Why the last attempt failed, or `null`.',
        ...CREATED,
        nextAttempt: 'When it is tried next, or `null`.',
        payload: 'What is, or was, sent.',
      },
    },
    {
      of: ['ExportedPlace'],
      fields: {
        leaderboardId: 'The id of the leaderboard.',
        leaderboardKey: 'The key of the leaderboard.',
        start: 'The first date of the run.',
        end: 'The last date of the run. `null`: it has no end.',
        isFinal: 'Whether the rankings of the run are final.',
        group: 'The values of the breakdown attributes that make the group. `null` without a breakdown.',
        rank: 'The rank. `null` if the user is outside the ranking.',
        value: 'The whole score, also if the user is outside the ranking.',
        reached: 'When the user reached this score.',
        history: 'How rank and score changed from day to day.',
        'history.date': 'The UTC date.',
        'history.rank': 'The rank at the end of that date.',
        'history.value': 'The score at the end of that date.',
      },
    },
  ],
}

/** Keys by which products and their users call the service. */
export const keys: Chapter = {
  operations: {
    admin_application_api_keys_list: {
      description: 'A page of the application keys, oldest first, without their secrets.',
      parameters: { userId: 'Only the keys of this user.' },
      example: {},
    },
    admin_application_api_keys_create: {
      description:
        'Creates 1 to 100 application keys, each for one user, who need not exist yet. A key is shown here and never again. It may live in a browser: it reads and changes only its own user, and sends events of that user.',
      example: { body: [{ userId: 'demo-ada' }] },
    },
    admin_application_api_keys_delete: {
      description: 'Deletes application keys by their ids. They are refused from the next request on.',
      example: { query: { ids: [demo('applicationKey', 'demo-grace')] } },
    },
    admin_admin_keys_list: {
      description:
        'A page of the admin keys, oldest first, without their secrets. The key of the variable `ADMIN_API_KEY` is not among them.',
      example: {},
    },
    admin_admin_keys_create: {
      description:
        'Creates 1 to 100 admin keys. A key is shown here and never again. An admin key may do everything, in all tenants, so it belongs on servers only.',
      example: { body: [{ name: 'Nightly import' }] },
    },
    admin_admin_keys_delete: {
      description: 'Deletes admin keys by their ids. They are refused from the next request on.',
      example: { query: { ids: [demo('adminKey', 'Demo (unused)')] } },
    },
    admin_admin_keys_rotate: {
      description:
        'Replaces an admin key by a new one, which is shown here and never again. Id and name stay. The old key is refused from the next request on.',
      example: {},
    },
  },
  fields: [
    {
      of: ['CreateApplicationKeyRequestItem', 'CreatedApplicationKey', 'ApplicationKey'],
      fields: {
        id: 'The id of the key, by which to delete it.',
        userId: 'The user whom the key speaks for.',
        key: 'The whole key, for the header `X-API-KEY`. It is shown only here.',
        prefix: 'The public first part of the key, safe to log and show.',
        ...CREATED,
      },
    },
    {
      of: ['CreateAdminKeyRequestItem', 'CreatedAdminKey', 'AdminKey'],
      fields: {
        id: 'The id of the key, by which to rotate or delete it.',
        name: 'What the key is for.',
        key: 'The whole key, for the header `X-API-KEY`. It is shown only here.',
        prefix: 'The public first part of the key, safe to log and show.',
        ...CREATED,
      },
    },
  ],
}
