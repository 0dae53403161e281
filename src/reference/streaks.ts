import { type Chapter, day, demo } from './chapter'

const STREAK = {
  length: 'The length, in periods. 0: there is no streak.',
  frequency: 'How long a period is.',
  started: 'The first day of the period in which the streak began. `null` if there is none.',
  periodStart: 'The first day of the current period. `null` if there is no streak.',
  periodEnd: 'The last day of the current period. `null` if there is no streak.',
  expires: 'The last day on which activity can still save the streak. `null` if there is none.',
  freezes: 'How many freezes the user has. Only there while freezes are on.',
  maxFreezes: 'How many freezes a user can have.',
  freezeAutoEarnInterval: 'Every how many days freezes are earned.',
  freezeAutoEarnAmount: 'How many freezes are earned then.',
}

const SETTINGS = {
  enabled: 'Whether there are streaks at all.',
  frequency: 'How long a period is. Weeks begin on Monday.',
  metrics: 'The metrics that count. Empty: any positive event counts.',
  'metrics.key': 'The key of the metric.',
  'metrics.threshold': 'The sum that the metric must reach in a period.',
  evaluationMode: 'Whether any of the metrics suffices (`OR`) or all of them are needed (`ALL`).',
  personalisation: 'Whether users may choose thresholds and the mode themselves, in their preferences.',
  freezes: 'Freezes keep a streak over a missed period. `null`: there are none.',
  'freezes.initial': 'How many a new user gets.',
  'freezes.max': 'How many a user can have.',
  'freezes.autoEarnInterval': 'Every how many days freezes are earned. `null`: never.',
  'freezes.autoEarnAmount': 'How many are earned then.',
}

const PAUSE = {
  id: 'The id of the pause, by which to delete it.',
  userId: 'The user whose streak is paused.',
  start: 'The first day of the pause, by the local date of the user.',
  end: 'The last day of the pause.',
}

/** Streaks: how long users have been active without a gap. */
export const streaks: Chapter = {
  operations: {
    users_streak: {
      description:
        'The streak of a user, its last periods, and pauses. A streak of length 0 has `null` for its dates.',
      parameters: { historyPeriods: 'How many periods the history has, up to the current one.' },
      example: {},
    },
    streaks_list: {
      description:
        'The streak lengths of up to 100 users, longest first, then by user id. Unknown users are left out. An application key may ask for its own user only.',
      parameters: { userIds: 'The ids of the users, repeated (`userIds=…&userIds=…`).' },
      example: { query: { userIds: ['demo-ada', 'demo-grace'] } },
    },
    streaks_rankings: {
      description:
        'The users with the longest streaks, longest first, then by user id. An application key sees the ids and names of all of them.',
      parameters: { type: '`active`: streaks as they are now. `longest`: the longest that users ever had.' },
      example: {},
    },
    admin_streaks_settings_get: { description: 'How streaks are counted, for all users.', example: {} },
    admin_streaks_settings_update: {
      description:
        'Changes the passed settings; the others stay. A change acts from the current period on, and takes nothing back. A new `frequency` has all streaks counted again from the event log, in the background.',
      example: {
        body: {
          metrics: [
            { key: 'demo-lessons', threshold: 1 },
            { key: 'demo-minutes', threshold: 10 },
          ],
          freezes: { max: 2 },
        },
      },
    },
    admin_streaks_freezes_create: {
      description:
        'Grants one freeze to each of up to 100 users. A user who has the maximum gets none, which is a warning. The status is 201 if at least one was granted, else 200.',
      example: { body: { freezes: [{ userId: 'demo-ada' }] } },
    },
    admin_streaks_pauses_list: {
      description:
        "A page of the pauses of a user's streak, in order of creation, without deleted ones. Empty if the user is unknown.",
      parameters: { userId: 'The id of the user.' },
      example: { query: { userId: 'demo-grace' } },
    },
    admin_streaks_pauses_create: {
      description:
        "Pauses the streaks of up to 100 users on days on which nothing is expected of them: the streak keeps its length. A pause can't begin before the user's today.",
      example: { body: { pauses: [{ userId: 'demo-ada', start: day(30), end: day(36) }] } },
    },
    admin_streaks_pauses_delete: {
      description: 'Deletes pauses by their ids. Periods that are over stay as they were judged.',
      example: { query: { ids: [demo('pause', 'demo-grace')] } },
    },
    admin_streaks_restore: {
      description:
        'Gives up to 100 users back the longest streak that they had recently: in the last 90 days (daily), this year (weekly), or since the start of last year (monthly). If that is not longer than the present streak, nothing happens, which is a warning.',
      example: { body: { users: [{ id: 'demo-ada' }] } },
    },
  },
  fields: [
    {
      of: ['BaseStreakResponse', 'MetricEventStreakResponse', 'StreakResponse'],
      fields: {
        ...STREAK,
        extended: 'When the streak was last extended. `null` if never.',
        streakHistory: 'The last periods, oldest first.',
        'streakHistory.periodStart': 'The first day of the period.',
        'streakHistory.periodEnd': 'The last day of the period.',
        'streakHistory.length': 'The length of the streak at that time. 0 if it was lost.',
        'streakHistory.usedFreeze': 'Whether a freeze kept the streak. Only there while freezes are on.',
        'streakHistory.usedPause': 'Whether a pause kept the streak.',
        pauses: 'The pauses of the user.',
        'pauses.id': PAUSE.id,
        'pauses.start': PAUSE.start,
        'pauses.end': PAUSE.end,
      },
    },
    {
      of: ['MetricEventStreakResponse'],
      fields: { extended: 'Whether this event extended the streak.' },
    },
    {
      of: ['WrappedStreak'],
      fields: {
        length: 'The length, in periods. 0 if there was none.',
        frequency: 'How long a period is.',
        started: 'The first day of the streak.',
        periodStart: 'The first day of the period in which it first was this long.',
        periodEnd: 'The last day of that period.',
      },
    },
    {
      of: ['BulkStreakResponse', 'StreakRankingUser'],
      fields: {
        userId: 'The id of the user.',
        name: 'The display name of the user, or `null`.',
        streakLength: 'The length of the streak.',
        extended: 'When the streak was last extended. `null` if never.',
      },
    },
    { of: ['UpdateStreakSettingsRequest', 'StreakSettings'], fields: SETTINGS },
    {
      of: ['UpdateStreakSettingsRequest'],
      fields: { freezes: 'Freezes keep a streak over a missed period. `null` switches them off.' },
    },
    {
      of: ['CreateStreakFreezesRequest'],
      fields: { freezes: 'The freezes to grant.', 'freezes.userId': 'The user who gets one.' },
    },
    {
      of: ['CreateStreakPausesRequest'],
      fields: {
        pauses: 'The pauses to create.',
        'pauses.userId': PAUSE.userId,
        'pauses.start': PAUSE.start,
        'pauses.end': PAUSE.end,
      },
    },
    {
      of: ['AdminStreakPause'],
      fields: { ...PAUSE, status: '`active`, or `archived` once deleted.' },
    },
    {
      of: ['RestoreStreaksRequest'],
      fields: { users: 'The users whose streaks to restore.', 'users.id': 'The id of the user.' },
    },
    {
      of: ['RestoreStreaksResponse'],
      fields: {
        restoredUsers: 'The ids of the users whose streaks were restored.',
        issues: 'The users whose streaks were not restored, and why.',
      },
    },
  ],
}
