import type { Chapter } from './chapter'

const PERIOD = {
  metrics: 'The metrics that changed, by key.',
  points: 'The points systems that changed, by key.',
  achievements: 'The achievements that the user completed.',
  leaderboards: 'The leaderboards that the user was ranked on, by key, with the best rank.',
}

const under = (path: string, more: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(
    Object.entries({ ...PERIOD, ...more }).map(([field, note]) => [`${path}.${field}`, note]),
  )

const CHANGE = {
  name: 'The display name.',
  currentTotal: 'The total at the end of the period.',
  changeThisPeriod: 'The change in the period.',
  percentChange: 'The change in per cent of the total before, to one decimal. From 0 it is 100.',
  percentileThisPeriod:
    'How many per cent of the users who were active in the period had a smaller change. It is counted daily, and missing until then. Not on days.',
  units: 'What values count, or `null`.',
}

/** The year of a user. */
export const wrapped: Chapter = {
  operations: {
    users_wrapped: {
      description:
        'Sums up the year of a user, by the local dates of the user. A day with at least one event is active, even if the value of the event is 0. Most active are the day, the week and the month with the most events; of equals, the earliest.',
      parameters: { year: 'The year. Without it, the present one where the user is.' },
      example: {},
    },
  },
  fields: [
    {
      of: ['WrappedResponse'],
      fields: { user: 'The user.', activity: 'What the user did in the year.' },
    },
    {
      of: ['WrappedActivity'],
      fields: {
        daysActive: 'On how many days the user sent an event. A value of 0 counts too.',
        weeksActive: 'In how many weeks.',
        monthsActive: 'In how many months.',
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
        byAttribute: 'The same for each value of each event attribute: by attribute key, then by value.',
        ...Object.fromEntries(Object.entries(CHANGE).map(([field, note]) => [`byAttribute.${field}`, note])),
      },
    },
  ],
}
