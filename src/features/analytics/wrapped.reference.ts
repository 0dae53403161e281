import type { Chapter } from '../../api/reference/chapter'

const PERIOD = {
  metrics: 'The metrics that changed, by key.',
  points: 'The points systems that changed, by key.',
  achievements: 'The achievements that the user completed.',
  leaderboards: 'The leaderboards on which the user was ranked, by key, with the best rank.',
}

const under = (path: string, more: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(
    Object.entries({ ...PERIOD, ...more }).map(([field, note]) => [`${path}.${field}`, note]),
  )

const CHANGE = {
  name: 'The display name.',
  currentTotal: 'The total at the end of the period.',
  changeThisPeriod: 'The change in the period.',
  percentChange:
    'The change in percent of the previous total, to one decimal. If that total was 0, it is 100.',
  percentileThisPeriod:
    "The share of users with a smaller change, in percent of the users who were active in the period. It is counted once a day, and missing until then. Days don't have it.",
  units: 'The unit of the values, or `null`.',
}

/** The year of a user. */
export const wrapped: Chapter = {
  operations: {
    users_wrapped: {
      description:
        'Sums up the year of a user, by the local dates of the user. A day with at least one event is active, even if the value of the event is 0. The most active day, week and month are the ones with the most events. If several have the same number, the earliest one counts.',
      parameters: { year: 'The year. Without it, the present year in the time zone of the user.' },
      example: {},
    },
  },
  fields: [
    {
      of: ['WrappedResponse'],
      fields: { user: 'The user.', activity: 'The activity of the user in the year.' },
    },
    {
      of: ['WrappedActivity'],
      fields: {
        daysActive: 'The number of days with an event of the user. An event with a value of 0 counts too.',
        weeksActive: 'The number of weeks with an event.',
        monthsActive: 'The number of months with an event.',
        mostActiveDay: 'The day with the most events.',
        ...under('mostActiveDay', { date: 'The date.' }),
        mostActiveWeek: 'The week with the most events.',
        ...under('mostActiveWeek', { start: 'Its Monday.', end: 'Its Sunday.' }),
        mostActiveMonth: 'The month with the most events.',
        ...under('mostActiveMonth', { month: 'The month, from 0 (January) to 11 (December).' }),
        entireYear: 'The whole year.',
        ...under('entireYear', { longestStreak: 'The longest streak of the year.' }),
      },
    },
    {
      of: ['WrappedMetric', 'WrappedPoints'],
      fields: {
        ...CHANGE,
        description: 'The description, or `null`.',
        byAttribute:
          'The same figures for each value of each event attribute: by attribute key, then by value.',
        ...Object.fromEntries(Object.entries(CHANGE).map(([field, note]) => [`byAttribute.${field}`, note])),
      },
    },
  ],
}
