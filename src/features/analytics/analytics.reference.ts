import { type Chapter, demo, fieldsOf } from '../../api/reference/chapter'
import { under } from '../../api/reference/common.reference'

const RANGE = {
  from: 'The first local date. 29 days before `to` if absent.',
  to: 'The last local date, at most 400 days after `from`. Today (UTC) if absent.',
}
const KEY = (one: string) => `The id or the key of the ${one}.`
const KEPT = (path: string, days: string) => ({
  [path]: `The users who came back ${days} after the day of their creation.`,
  [`${path}.users`]: `The users who were created at least ${days} before \`to\`.`,
  [`${path}.kept`]: `The users among these who had an event exactly ${days} after their creation.`,
})
const COHORT = (path: string) => ({
  [`${path}.users`]: 'The users who were created from `from` to `to`.',
  ...KEPT(`${path}.d1`, '1 day'),
  ...KEPT(`${path}.d7`, '7 days'),
  ...KEPT(`${path}.d30`, '30 days'),
  ...KEPT(`${path}.window`, '`days` days'),
  [`${path}.window.days`]: 'The setting `experimentation.userActivationWindow`.',
})

/** The analytics: figures of all users by day. */
export const analytics: Chapter = {
  operations: {
    admin_analytics_overview: {
      description:
        'Figures of all users by local date: new and active users, events, points and completed achievements; the users who were active in the day, the week and the month that end with `to`; how many new users come back, with and without notifications (the control group gets none); and the lengths of streaks. They are counted a minute after the first change, at least each hour while there are changes, and by each move of the test clock. Dates without data have zeros.',
      parameters: RANGE,
      example: { query: {} },
    },
    admin_metrics_analytics: {
      description: 'Figures of a metric by local date: events, the sum of their values, and active users.',
      parameters: { ...RANGE, key: KEY('metric') },
      example: { path: { key: demo('metrics', 'demo-lessons') } },
    },
    admin_points_analytics: {
      description:
        'Figures of a points system by local date: the points that users gained, those by trigger, and how many users have each level at the end of the day.',
      parameters: { ...RANGE, key: KEY('points system') },
      example: { path: { key: demo('system', 'demo-xp') } },
    },
    admin_leaderboards_analytics: {
      description:
        'How many users are ranked at the end of each UTC date, in the run that holds the date. The last date of a run counts until the run is final.',
      parameters: { ...RANGE, key: KEY('leaderboard') },
      example: { path: { key: demo('leaderboards', 'demo-weekly-xp') } },
    },
    admin_achievements_analytics: {
      description: 'How many users completed an achievement on each local date.',
      parameters: { ...RANGE, key: KEY('achievement') },
      example: { path: { key: demo('achievements', 'demo-first-lesson') } },
    },
  },
  fields: [
    fieldsOf(
      [
        'AnalyticsOverview',
        'MetricAnalytics',
        'PointsAnalytics',
        'LeaderboardAnalytics',
        'AchievementAnalytics',
      ],
      {
        updated: 'When the figures were last brought up to date. `null` if that was never done.',
        series: 'A row for each date, oldest first.',
        'series.date': 'The date.',
      },
    ),
    fieldsOf(['AnalyticsOverview'], {
      'series.newUsers': 'Users who were created on this date.',
      'series.activeUsers': 'Different users with an event on this date.',
      'series.events': 'Events on this date, without voided ones.',
      'series.points': 'The points that users gained on this date, by the key of the points system.',
      'series.achievements': 'Achievements that were completed on this date.',
      active: 'Different users with an event in a period that ends with `to`.',
      'active.day': 'On the date `to`.',
      'active.week': 'On the last 7 dates.',
      'active.month': 'On the last 30 dates.',
      retention: 'How many new users come back.',
      'retention.control': 'Users in the control group, who get no notifications.',
      ...COHORT('retention.control'),
      'retention.others': 'All other users.',
      ...COHORT('retention.others'),
      streaks: 'Users by the present length of their streak.',
      'streaks.from': 'The shortest length.',
      'streaks.to': 'The longest length. `null`: no limit.',
      'streaks.users': 'The number of users.',
    }),
    fieldsOf(['MetricAnalytics'], {
      'series.events': 'Events of the metric on this date, without voided ones.',
      'series.total': 'The sum of their values: the change of all users together.',
      'series.activeUsers': 'Different users with such an event.',
    }),
    fieldsOf(['PointsAnalytics'], {
      'series.added': 'The points that users gained on this date. Negative if they lost more.',
      'series.byTrigger':
        'The same by the key of the trigger, without adjustments. A reversal counts for the trigger whose award it reverses.',
      'series.byLevel':
        'The number of users with each level at the end of the date, by the key of the level.',
      'series.users': 'The number of users who have points of this system at the end of the date.',
    }),
    fieldsOf(['LeaderboardAnalytics'], {
      'series.participants': 'Ranked users at the end of this UTC date, in all groups together.',
    }),
    fieldsOf(['AchievementAnalytics'], {
      'series.completions': 'Users who completed it on this date, and still have it.',
    }),
  ],
}

const PERIOD = {
  metrics: 'The metrics that changed, by key.',
  points: 'The points systems that changed, by key.',
  achievements: 'The achievements that the user completed.',
  leaderboards: 'The leaderboards on which the user was ranked, by key, with the best rank.',
}

const CHANGE = {
  name: 'The display name.',
  currentTotal: 'The total at the end of the period.',
  changeThisPeriod: 'The change in the period.',
  percentChange:
    'The change in percent of the previous total, to one decimal. If that total was 0, it is 100.',
  percentileThisPeriod:
    "The share of users with a smaller change, in percent of the users who were active in the period. It is counted once a day, and missing until then. Days and the figures in `byAttribute` don't have it.",
  units: 'The unit of the values, or `null`.',
}

/** The year of a user. */
export const wrapped: Chapter = {
  operations: {
    users_wrapped: {
      description:
        'Sums up the year of a user, by the local dates of the user. A day with at least one event is active, even if the value of the event is 0. The most active day, week and month are the ones with the most events. If several have the same number, the earliest one counts.',
      parameters: { year: 'The year. Without it, the present year in the time zone of the user.' },
    },
  },
  fields: [
    fieldsOf(['WrappedResponse'], { user: 'The user.', activity: 'The activity of the user in the year.' }),
    fieldsOf(['WrappedActivity'], {
      daysActive: 'The number of days with an event of the user. An event with a value of 0 counts too.',
      weeksActive: 'The number of weeks with an event.',
      monthsActive: 'The number of months with an event.',
      mostActiveDay: 'The day with the most events.',
      ...under('mostActiveDay', { ...PERIOD, date: 'The date.' }),
      mostActiveWeek: 'The week with the most events.',
      ...under('mostActiveWeek', { ...PERIOD, start: 'Its Monday.', end: 'Its Sunday.' }),
      mostActiveMonth: 'The month with the most events.',
      ...under('mostActiveMonth', { ...PERIOD, month: 'The month, from 0 (January) to 11 (December).' }),
      entireYear: 'The whole year.',
      ...under('entireYear', { ...PERIOD, longestStreak: 'The longest streak of the year.' }),
    }),
    fieldsOf(['WrappedMetric', 'WrappedPoints'], {
      ...CHANGE,
      description: 'The description, or `null`.',
      byAttribute:
        'The same figures for each value of each event attribute: by attribute key, then by value.',
      ...under('byAttribute', CHANGE),
    }),
  ],
}
