import type { Chapter } from '../../api/reference/chapter'

const PROFILE = {
  email: 'The email address. `null`, empty or missing: stays as it is.',
  name: 'The display name, at most 255 characters. `null` or missing: stays as it is.',
  tz: 'The IANA time zone, such as `Europe/Paris`. It decides when the day of the user begins. `null` clears it: the user is in UTC. An empty string counts as missing.',
  deviceTokens:
    'The tokens for push messages, at most 25. They replace all earlier tokens. A token that another user has is taken from that user. `null` removes all tokens.',
  subscribeToEmails: 'Whether the user gets emails. `true` needs an email address.',
  attributes:
    'Attribute values by attribute key. They are merged with the earlier values. `null` removes a value. A number or a boolean is stored as text, such as `12.5` or `true`. Send a string if the exact spelling matters. Each key must be configured. An application key may set only attributes that users may set.',
}

/** The channels of each type of notification. */
export const CHANNELS = {
  'notifications.achievement_completed': 'Channels for messages about completed achievements.',
  'notifications.recap': 'Channels for the recap of a week or a month.',
  'notifications.reactivation': 'Channels for messages to users who have been away.',
  'notifications.streak_reminder': 'Channels for reminders to keep the streak.',
}

/** The user's own settings of the streak. */
export const STREAK_PREFERENCES = {
  'streak.enabled': '`false`: the user has no streak, so the length is 0.',
  'streak.evaluationMode':
    'Whether one of the metrics is enough (`OR`) or all of them are needed (`ALL` or `AND`, which mean the same).',
  'streak.metrics': "The user's own thresholds, for metrics in the settings of streaks.",
  'streak.metrics.threshold': 'The sum that the metric must reach in a period.',
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
        },
      },
    },
    users_overview: {
      description:
        'All data for a page about a user, in one request. Each part equals the response of the operation for that part: 10 awards of each points system, 7 periods of the streak, the completed achievements, and the places on active leaderboards.',
      example: {},
    },
    users_get: {
      description: 'The profile of a user. The status is 404 if the user is unknown.',
      example: {},
    },
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
    users_get_preferences: {
      description:
        "The channels that the user wants for each type of notification, and the user's own settings of the streak. A type that the user never set is left out, and is sent by both channels.",
      example: {},
    },
    users_update_preferences: {
      description:
        'Changes the types and fields that you pass. The others stay. An empty list of channels switches a type off. `streak.metrics` and `streak.evaluationMode` get 403 while `personalisation` is off in the settings of streaks. `streak.enabled` is always allowed.',
      example: { body: { notifications: { reactivation: ['push'] } } },
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
    admin_users_export: {
      description:
        'All data of a user in one document: profile, events, awards, streak, achievements, keys, deliveries, places on leaderboards.',
      example: {},
    },
    admin_users_delete: {
      description:
        "Erases a user everywhere: events, awards, streak, places on leaderboards, application keys, and all pending events and messages. The status is also 200 for an unknown user. You can't undo this. A later user with the same id is a new user.",
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
          'Whether the user is in the control group, which gets no notifications. This is decided when the user is created.',
        created: 'When the user was first seen.',
        updated: 'When a field of the profile last changed.',
      },
    },
    {
      of: ['UpdateUserPreferencesRequest', 'UserPreferencesResponse'],
      fields: {
        notifications: 'The channels by type of notification. An empty list switches a type off.',
        ...CHANNELS,
        streak: "The user's own settings of the streak.",
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
    { of: ['ErasedUser'], fields: { id: 'The id of the erased user.' } },
  ],
}
