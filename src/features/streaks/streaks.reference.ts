import { type Chapter, day, demo, fieldsOf } from '../../api/reference/chapter'

const STREAK = {
  length: 'The length, in periods. 0: no streak.',
  frequency: 'The length of a period: a day, a week or a month.',
  started: 'The first day of the period in which the streak began. `null` if there is no streak.',
  periodStart: 'The first day of the current period. `null` if there is no streak.',
  periodEnd: 'The last day of the current period. `null` if there is no streak.',
  expires: 'The last day on which activity can still save the streak. `null` if there is no streak.',
  freezes: 'The number of freezes of the user. Only present while freezes are on.',
  maxFreezes: 'The most freezes that a user can have.',
  freezeAutoEarnInterval: 'The number of days after which freezes are earned.',
  freezeAutoEarnAmount: 'The number of freezes that are earned each time.',
}

const SETTINGS = {
  enabled: 'Whether streaks are on.',
  frequency: 'The length of a period: a day, a week or a month. Weeks begin on Monday.',
  metrics: 'The metrics that count. Empty: any positive event counts.',
  'metrics.key': 'The key of the metric.',
  'metrics.threshold': 'The sum that the metric must reach in a period.',
  evaluationMode:
    'Whether one of the metrics is enough (`OR`) or all of them are needed (`AND`). `ALL` means `AND`.',
  customizationEnabled:
    'Whether users may choose thresholds, the mode and days off themselves, in their preferences.',
  daysOff:
    'The days of the week on which no activity is needed, from 0 (Sunday) to 6. Only daily streaks have some. They are local days of each user.',
  freezes: 'Freezes keep a streak over a missed period. `null`: off.',
  'freezes.startCount': 'The number of freezes of a new user, at most `maxCount`.',
  'freezes.maxCount': 'The most freezes that a user can have.',
  'freezes.autoEarnInterval': 'The number of days after which freezes are earned. `null`: never.',
  'freezes.autoEarnAmount':
    'The number of freezes that are earned each time. It is set together with `autoEarnInterval`, or both are `null`.',
}

const PAUSE = {
  id: 'The id of the pause. Delete the pause with it.',
  userId: 'The user whose streak is paused.',
  start: 'The first day of the pause, by the local date of the user.',
  end: 'The last day of the pause.',
}

/** Streaks: the number of periods in which users have been active without a gap. */
export const streaks: Chapter = {
  operations: {
    users_streak: {
      description:
        'The streak of a user, its last periods, and the pauses of the user. If the length is 0, the dates are `null`.',
      parameters: { historyPeriods: 'The number of periods in the history, up to the current one.' },
    },
    streaks_list: {
      description:
        'The streak lengths of up to 100 users, longest first, then by user id. Unknown users are left out. With an application key, only its own user is allowed.',
      parameters: {
        userIds:
          'The ids of the users, repeated (`userIds=…&userIds=…`). A value that is no id of a user is a list of ids, separated by commas.',
      },
      example: { query: { userIds: ['demo-ada', 'demo-grace'] } },
    },
    streaks_rankings: {
      description:
        'The users with the longest streaks, longest first, then by user id. An application key sees the ids and names of all of them.',
      parameters: {
        type: '`active`: the present streaks. `longest`: the longest streak that each user ever had.',
      },
    },
    admin_streaks_settings_get: 'The settings of streaks, for all users.',
    admin_streaks_settings_update: {
      description:
        'Changes the settings that you pass. The others stay. A change affects the current and later periods. Periods that are over stay as they are. `metrics`, `daysOff` and `freezes` are replaced as a whole. After a new `frequency`, all streaks are counted again from the event log, in the background, and one other than `daily` clears `daysOff`.',
      example: {
        body: {
          metrics: [
            { key: 'demo-lessons', threshold: 1 },
            { key: 'demo-minutes', threshold: 10 },
          ],
          daysOff: [0, 6],
          freezes: { startCount: 1, maxCount: 2 },
        },
      },
    },
    admin_streaks_freezes_create: {
      description:
        'Grants one freeze to each of up to 100 users. A user who has the maximum gets none, and the response has a warning. The status is 201 if at least one freeze was granted, otherwise 200.',
      example: { body: { freezes: [{ userId: 'demo-ada' }] } },
    },
    admin_streaks_pauses_list: {
      description:
        "A page of the pauses of a user's streak, in order of creation, without deleted pauses. Empty if the user is unknown.",
      parameters: { userId: 'The id of the user.' },
      example: { query: { userId: 'demo-grace' } },
    },
    admin_streaks_pauses_create: {
      description:
        "Pauses the streaks of up to 100 users. On the days of a pause, the user needs no activity, and the streak keeps its length. A pause can't begin before the present local date of the user.",
      example: { body: { pauses: [{ userId: 'demo-ada', start: day(30), end: day(36) }] } },
    },
    admin_streaks_pauses_delete: {
      description: 'Deletes pauses by their ids. Periods that are over stay as they are.',
      example: { query: { ids: [demo('pause', 'demo-grace')] } },
    },
    admin_streaks_restore: {
      description:
        'Gives up to 100 users their longest recent streak back: of the last 90 days (daily), of this year (weekly), or since the start of last year (monthly). If that streak is not longer than the present one, nothing happens, and the response has a warning.',
      example: { body: { users: [{ id: 'demo-ada' }] } },
    },
    admin_streaks_reset: {
      description:
        'Sets the streaks of up to 100 users to zero at once. What they did in the present period does not count for it any more; later events do. Earlier periods, freezes, pauses, points and achievements stay. Restoring gives the length back.',
      example: { body: { users: [{ id: 'demo-grace' }] } },
    },
  },
  fields: [
    fieldsOf(['BaseStreakResponse', 'MetricEventStreakResponse', 'StreakResponse'], {
      ...STREAK,
      extended: 'When the streak was last extended. `null` if never.',
      streakHistory: 'The last periods, oldest first.',
      'streakHistory.periodStart': 'The first day of the period.',
      'streakHistory.periodEnd': 'The last day of the period.',
      'streakHistory.length': 'The length of the streak at that time. 0 if it was lost.',
      'streakHistory.usedFreeze': 'Whether a freeze kept the streak. Only present while freezes are on.',
      'streakHistory.usedPause': 'Whether a pause or a day off kept the streak.',
      'streakHistory.dayOff': '`true` if the date was a day off, with or without activity. Absent otherwise.',
      'streakHistory.resetAt': 'When the streak was last reset in this period. Absent if it was not.',
      pauses: 'The pauses of the user.',
      'pauses.id': PAUSE.id,
      'pauses.start': PAUSE.start,
      'pauses.end': PAUSE.end,
    }),
    fieldsOf(['MetricEventStreakResponse'], { extended: 'Whether this event extended the streak.' }),
    fieldsOf(['WrappedStreak'], {
      length: 'The length, in periods. 0 if there was no streak.',
      frequency: 'The length of a period: a day, a week or a month.',
      started: 'The first day of the streak.',
      periodStart: 'The first day of the period in which it reached this length.',
      periodEnd: 'The last day of that period.',
    }),
    fieldsOf(['BulkStreakResponse', 'StreakRankingUser'], {
      userId: 'The id of the user.',
      name: 'The display name of the user, or `null`.',
      streakLength: 'The length of the streak.',
      extended: 'When the streak was last extended. `null` if never.',
    }),
    fieldsOf(['UpdateStreakSettingsRequest', 'StreakSettings', 'UpdatedStreakSettings'], SETTINGS),
    fieldsOf(['UpdateStreakSettingsRequest'], {
      freezes: 'Freezes keep a streak over a missed period. `null` switches freezes off.',
    }),
    fieldsOf(['CreateStreakFreezesRequest'], {
      freezes: 'The freezes to grant.',
      'freezes.userId': 'The id of the user who gets a freeze.',
    }),
    fieldsOf(['CreateStreakPausesRequest'], {
      pauses: 'The pauses to create.',
      'pauses.userId': PAUSE.userId,
      'pauses.start': PAUSE.start,
      'pauses.end': PAUSE.end,
    }),
    fieldsOf(['AdminStreakPause'], { ...PAUSE, status: '`active`, or `archived` after it was deleted.' }),
    fieldsOf(['RestoreStreaksRequest'], {
      users: 'The users that get their streak back.',
      'users.id': 'The id of the user.',
    }),
    fieldsOf(['RestoreStreaksResponse'], {
      restoredUsers: 'The ids of the users that got their streak back.',
      issues: 'An entry for each user without a restored streak, with the reason.',
    }),
    fieldsOf(['ResetStreaksRequest'], {
      users: 'The users whose streaks are set to zero.',
      'users.id': 'The id of the user.',
    }),
    fieldsOf(['ResetStreaksResponse'], {
      resetUsers: 'The ids of the users whose streak was reset.',
      issues: 'An entry for each user without a streak to reset.',
    }),
  ],
}
