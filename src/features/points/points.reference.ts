import { type Chapter, day, demo, fieldsOf, resource } from '../../api/reference/chapter'
import {
  BADGE,
  CHANGED_ID,
  CHANGED_KEY,
  EVENT_FILTERS,
  FIXED_KEY,
  ID,
  OWN_KEY,
  PAIRS,
  SHOWN_FILTERS,
  USER_FILTERS,
} from '../../api/reference/common.reference'

const SHOWN = {
  ...ID,
  key: 'The key.',
  name: 'The display name.',
  description: 'The description. `null` or empty if there is none.',
  badgeUrl: 'The address of the badge image, or `null`.',
}

const SUMMARY_FILTER = `Counts only users who have all these attribute values. With an application key, only values of its own user are allowed. ${PAIRS}`

/** Points: reading them. */
export const points: Chapter = {
  operations: {
    users_all_points: {
      description:
        'The total, level and newest awards of the user in every points system, in order of creation. Each item equals the response of the operation for that single system. The response has at most 1,000 awards. With many systems, each one has fewer awards than you ask for.',
      parameters: { awards: 'The number of newest awards to return for each system.' },
      example: { query: { awards: 5 } },
    },
    users_points: {
      description:
        'The total and the level of the user in a points system, and the newest awards with their triggers. A user without awards has a total of 0.',
      parameters: { awards: 'The number of newest awards to return.' },
      example: { query: { awards: 5 } },
    },
    users_points_boosts:
      'The boosts that apply to the user today, by the local date of the user: boosts for all users, boosts for attribute values of the user, and boosts for this user only.',
    users_points_event_summary: {
      description:
        "How the user's points changed, by day, week or month, in the time zone of the user. Buckets without awards are included.",
      example: { query: { aggregation: 'daily', startDate: day(-6), endDate: day(0) } },
    },
    points_all: 'All points systems with their active triggers, in order of creation.',
    points_system:
      'A points system with its active triggers, in order of creation: how users earn and spend points.',
    points_levels: 'The levels of a points system, lowest first.',
    points_boosts: {
      description: 'The boosts of a points system that are not for a single user.',
      parameters: { includeFinished: 'Whether finished boosts are included.' },
    },
    points_summary: {
      description:
        'The number of users in each of 11 ranges of points: users without points, then ten ranges of equal width up to a round number. If a total is above 1,000,000,000, there are fewer ranges, and the last one ends at 2,147,483,647. If there are more than 10,000 users, the figures may be up to 60 seconds old.',
      parameters: { userAttributes: SUMMARY_FILTER },
    },
    points_level_summary: {
      description:
        'The number of users at each level, lowest level first. The status is 422 for a system without levels. If there are more than 10,000 users, the figures may be up to 60 seconds old.',
      parameters: { userAttributes: SUMMARY_FILTER },
    },
  },
  fields: [
    fieldsOf(['PointsLevel'], { ...SHOWN, points: 'The total from which a user has this level.' }),
    fieldsOf(
      [
        'PointsSystemResponse',
        'ListedPointsSystemResponse',
        'GetUserPointsResponse',
        'MetricEventPointsResponse',
      ],
      {
        ...SHOWN,
        maxPoints: 'The most points that a user can have. `null`: no limit.',
        total: 'The total of the user now.',
        awards: 'The newest awards, newest first.',
        triggers: 'The active triggers, in order of creation.',
      },
    ),
    fieldsOf(['GetUserPointsResponse'], {
      level: 'The level of the user. `null` if the total is below all levels.',
    }),
    fieldsOf(['MetricEventPointsResponse'], {
      total: 'The total after this change.',
      level: 'The new level, only if it changed. `null` if the total is now below all levels.',
      added: 'The change of the total. Negative: points were taken.',
      awards: 'The awards of this change, in the order in which they were made.',
    }),
    fieldsOf(['PointsAward'], {
      ...ID,
      awarded: 'The points that were actually given. Negative: points were taken.',
      date: 'When the award was made.',
      total: 'The total after this award.',
      trigger: 'The trigger that fired, as it was at that time. Missing for a correction by an admin.',
      type: 'Only for a correction by an admin: `adjustment` for points by hand, `reversal` if an award was taken back. A reversal has the date of that award.',
      boosts: 'The boosts that applied, as they were at that time.',
    }),
    fieldsOf(['PointsTrigger'], {
      ...ID,
      type: 'The kind of change that makes it fire.',
      points: 'The points that it gives each time it fires. Negative: points are taken.',
      status: 'Only active triggers fire.',
      achievementId: 'With the type `achievement`: the achievement that the user must complete.',
      achievementName: 'The name of that achievement.',
      metricId: 'With the type `metric`: the metric that it counts.',
      metricName: 'The name of that metric.',
      metricThreshold: 'It fires each time the highest total passes a multiple of this value.',
      streakLengthThreshold:
        'With the type `streak`: it fires each time the streak reaches a multiple of this length.',
      timeUnit:
        'With the type `time`: the unit of the interval. (The admin interface writes `hours` and `days`.)',
      timeInterval: 'The number of units between two awards.',
      ...SHOWN_FILTERS,
      created: 'When the trigger was created.',
      updated: 'When the trigger was last changed.',
    }),
    fieldsOf(['PointsBoost', 'PointsBoostWebhookPayload'], {
      ...ID,
      name: 'The display name.',
      status: '`scheduled` before it begins, `active`, or `finished`.',
      start: 'The first local date on which it applies.',
      end: 'The last local date on which it applies. `null`: no end.',
      multiplier:
        'The factor that awards are multiplied by. If several boosts apply, their factors are multiplied.',
      rounding: 'How the result is rounded.',
      userId: 'The id of the user that it is for. `null`: it is not for a single user.',
      pointsSystemId: 'The id of its points system.',
      pointsSystemKey: 'The key of its points system.',
      pointsSystemName: 'The name of its points system.',
    }),
    fieldsOf(['PointsRange'], {
      from: 'The lowest total in the range.',
      to: 'The highest total in the range.',
      users: 'The number of users with a total in the range.',
    }),
    fieldsOf(['PointsLevelSummaryResponse'], {
      level: 'The level.',
      users: 'The number of users who have this level now.',
    }),
  ],
}

const CONFIGURED = {
  name: 'The display name.',
  key: "The key: letters, digits, `_` and `-`. It can't be changed later.",
  description: 'The description, at most 2,000 characters. Empty if not set.',
  ...BADGE,
}

const LEVEL = {
  ...CONFIGURED,
  points: 'The total from which a user has this level. Each level of a system has a different one.',
}

const BOOST = {
  ...OWN_KEY,
  name: 'The display name.',
  start: 'The first date on which it applies, by the local date of each user.',
  end: 'The last date on which it applies. `null`: no end.',
  multiplier:
    'The factor that awards are multiplied by: above 0, below 100, and not 1. If several boosts apply, their factors are multiplied.',
  rounding: 'How the result is rounded. If the boosts that apply differ, `down`.',
  userId: 'The id of the single user that it is for. Not allowed together with `userAttributes`.',
  ...USER_FILTERS,
}

const TRIGGER = {
  ...OWN_KEY,
  type: 'The kind of change that makes it fire: a `metric` grows, an `achievement` is completed, a `streak` grows, `time` passes, or a user is created (`user_creation`).',
  points:
    'The points that it gives each time it fires: a whole number from -1,000,000 to 1,000,000, and not 0. Negative: points are taken.',
  status: 'Only active triggers fire. A new trigger is `inactive` unless you say otherwise.',
  ...USER_FILTERS,
  metricId: 'With the type `metric`: the id of the metric.',
  metricKey: 'The key of the metric, instead of its id.',
  metricThreshold:
    'With the type `metric`: it fires each time the highest total of a user passes a multiple of this value.',
  ...EVENT_FILTERS,
  achievementId: 'With the type `achievement`: the id of the achievement that the user must complete.',
  achievementKey: 'The key of the achievement, instead of its id.',
  streakLength: 'With the type `streak`: it fires each time the streak reaches a multiple of this length.',
  timeUnit:
    'With the type `time`: the unit of the interval. (The application interface writes `hour` and `day`.)',
  timeInterval: 'With the type `time`: the number of units between two awards.',
  blockIfOutOfPoints:
    'With the type `metric` and negative points: refuses an event if the user has too few points for it.',
}

const SYSTEM = {
  ...CONFIGURED,
  maxPoints: 'The most points that a user can have. `null`: no limit.',
  status: '`active`, or `archived` after it was deleted.',
  levels: 'The levels, up to 100.',
  boosts: 'The boosts, up to 100.',
  triggers: 'The triggers, up to 100. They fire in this order.',
}

/** Points: configuring them. */
export const pointsAdmin: Chapter = {
  operations: {
    ...resource({
      id: 'admin_points_systems',
      one: 'points system',
      many: 'points systems',
      about:
        'A points system is a kind of points, such as XP or energy. Its levels, triggers and boosts have operations of their own.',
      create: {
        note: 'You can create levels, triggers and boosts with it. If one of them is wrong, the system is not created.',
        body: [
          {
            key: 'demo-stars',
            name: 'Stars',
            maxPoints: 500,
            levels: [{ key: 'demo-rich', name: 'Rich', points: 100 }],
            triggers: [
              {
                type: 'metric',
                metricId: demo('metrics', 'demo-lessons'),
                metricThreshold: 1,
                points: 2,
                status: 'active',
              },
            ],
          },
        ],
      },
      update: {
        note: "The key can't be changed. A lower `maxPoints` takes no points away.",
        body: [{ id: demo('system', 'demo-xp'), name: 'XP' }],
      },
      delete: {
        note: 'Its triggers stop firing and its leaderboards are deleted. Awards stay in the history of users.',
        id: demo('system', 'demo-coins'),
      },
    }),
    ...resource({
      id: 'admin_points_levels',
      one: 'level',
      many: 'levels',
      about: 'A user has the highest level with `points` that are not above the total of the user.',
      create: { body: [{ key: 'demo-hero', name: 'Hero', points: 2_500 }] },
      update: {
        note: "The key can't be changed.",
        body: [{ id: demo('level', 'demo-novice'), name: 'Novice' }],
      },
      delete: { note: 'Its users then have the next lower level.', id: demo('level', 'demo-legend') },
    }),
    ...resource({
      id: 'admin_points_triggers',
      one: 'trigger',
      many: 'triggers',
      about: 'A trigger says when users get or lose points, and how many.',
      create: {
        note: 'Which fields are needed depends on `type`.',
        body: [
          {
            type: 'time',
            timeUnit: 'days',
            timeInterval: 1,
            points: 1,
            userAttributes: [{ attributeId: demo('attributes', 'demo-plan'), attributeValue: 'pro' }],
          },
        ],
      },
      update: {
        note: 'A change affects later events only.',
        body: [{ id: demo('trigger', 'active'), points: 10 }],
      },
      delete: { note: 'Points that it gave or took stay.', id: demo('trigger', 'inactive') },
    }),
    ...resource({
      id: 'admin_points_boosts',
      one: 'boost',
      many: 'boosts',
      about:
        'A boost multiplies the points that users get on its dates. It never multiplies points that are taken.',
      create: { body: [{ name: 'Lucky day', start: day(14), end: day(14), multiplier: 3 }] },
      update: {
        note: "Its `userId` can't be changed.",
        body: [{ id: demo('boost', 'Pro members'), name: 'Pro members' }],
      },
      delete: { note: 'Awards that it multiplied stay.', id: demo('boost', 'Double XP') },
    }),
  },
  fields: [
    fieldsOf(['CreatePointsLevelRequestItem', 'AdminPointsLevel', 'PatchPointsLevelsRequest'], {
      ...ID,
      ...LEVEL,
    }),
    fieldsOf(['CreatePointsBoostRequestItem', 'AdminPointsBoost', 'PatchPointsBoostsRequest'], {
      ...ID,
      ...BOOST,
      status: '`scheduled` before it begins, `active`, or `finished`.',
    }),
    fieldsOf(['CreatePointsTriggerRequestItem', 'AdminPointsTrigger', 'PatchPointsTriggersRequest'], {
      ...ID,
      ...TRIGGER,
    }),
    fieldsOf(
      [
        'CreatePointsSystemRequestItem',
        'AdminPointsSystem',
        'CreatedAdminPointsSystem',
        'UpdatePointsSystemRequestItem',
      ],
      { ...ID, ...SYSTEM },
    ),
    fieldsOf(
      [
        'PatchPointsLevelsRequest',
        'PatchPointsBoostsRequest',
        'PatchPointsTriggersRequest',
        'UpdatePointsSystemRequestItem',
      ],
      CHANGED_ID,
    ),
    fieldsOf(['PatchPointsLevelsRequest', 'UpdatePointsSystemRequestItem'], FIXED_KEY),
    fieldsOf(['PatchPointsBoostsRequest', 'PatchPointsTriggersRequest'], CHANGED_KEY),
  ],
}
