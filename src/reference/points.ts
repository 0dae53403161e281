import { type Chapter, day, demo, resource } from './chapter'
import { BADGE, CHANGED_ID, EVENT_FILTERS, ID, PAIRS, SHOWN_FILTERS, USER_FILTERS } from './common'

const SHOWN = {
  ...ID,
  key: 'The key.',
  name: 'The display name.',
  description: 'The description. `null` or empty if there is none.',
  badgeUrl: 'The address of the badge image, or `null`.',
}

const SUMMARY_FILTER = `Counts only users who have all these attribute values. An application key may name only values that its own user has. ${PAIRS}`

/** Points as users have them. */
export const points: Chapter = {
  operations: {
    users_all_points: {
      description:
        'The total, level and newest awards of the user in every points system, in order of creation. Each item is what the read of that system answers. An answer has 1,000 awards at most, so with many systems each has fewer than asked for.',
      parameters: { awards: 'How many of the newest awards of each system to answer.' },
      example: { query: { awards: 5 } },
    },
    users_points: {
      description:
        'The total of the user in a points system, the level, and the newest awards with the triggers that gave them. A user without awards has a total of 0.',
      parameters: { awards: 'How many of the newest awards to answer.' },
      example: { query: { awards: 5 } },
    },
    users_points_boosts: {
      description:
        'The boosts that apply to the user today, by the local date of the user: those for everybody, those for the attributes of the user, and those for this user only.',
      example: {},
    },
    users_points_event_summary: {
      description:
        "How the user's points changed, by day, week or month of the user's own calendar. Buckets without awards are there too.",
      example: { query: { aggregation: 'daily', startDate: day(-6), endDate: day(0) } },
    },
    points_all: {
      description: 'All points systems with their active triggers, in order of creation.',
      example: {},
    },
    points_system: {
      description:
        'A points system with its active triggers, in order of creation: how users earn and spend points.',
      example: {},
    },
    points_levels: { description: 'The levels of a points system, lowest first.', example: {} },
    points_boosts: {
      description: 'The boosts of a points system that are not for a single user.',
      parameters: { includeFinished: 'Whether boosts that are over are listed too.' },
      example: {},
    },
    points_summary: {
      description:
        'How many users have how many points, in 11 ranges: users without points, then ten equal ranges up to a round number. Above 10,000 users the figures may be 60 seconds old.',
      parameters: { userAttributes: SUMMARY_FILTER },
      example: {},
    },
    points_level_summary: {
      description:
        'How many users are at each level, lowest first. 422 for a system without levels. Above 10,000 users the figures may be 60 seconds old.',
      parameters: { userAttributes: SUMMARY_FILTER },
      example: {},
    },
  },
  fields: [
    {
      of: ['PointsLevel'],
      fields: { ...SHOWN, points: 'The total from which a user has this level.' },
    },
    {
      of: [
        'PointsSystemResponse',
        'ListedPointsSystemResponse',
        'GetUserPointsResponse',
        'MetricEventPointsResponse',
      ],
      fields: {
        ...SHOWN,
        maxPoints: 'The most points that a user can have. `null`: there is no such limit.',
        total: 'The total of the user now.',
        awards: 'The newest awards, newest first.',
        triggers: 'The active triggers, in order of creation.',
      },
    },
    {
      of: ['GetUserPointsResponse'],
      fields: { level: 'The level of the user. `null` if the total reaches none.' },
    },
    {
      of: ['MetricEventPointsResponse'],
      fields: {
        total: 'The total after this change.',
        level: 'The new level, only if it changed. `null` if the user fell below the lowest.',
        added: 'By how much the total changed. Negative: points were taken.',
        awards: 'The awards that make up the change, in the order in which they were made.',
      },
    },
    {
      of: ['PointsAward'],
      fields: {
        ...ID,
        awarded: 'The points that were really given. Negative: points were taken.',
        date: 'When the award was made.',
        total: 'The total after this award.',
        trigger: 'The trigger that fired, as it was then.',
        boosts: 'The boosts that applied, as they were then.',
      },
    },
    {
      of: ['PointsTrigger'],
      fields: {
        ...ID,
        type: 'What makes it fire.',
        points: 'The points each time it fires. Negative: points are taken.',
        status: 'Only active triggers fire.',
        achievementId: 'Of type `achievement`: the achievement that has to be completed.',
        achievementName: 'The name of that achievement.',
        metricId: 'Of type `metric`: the metric that is counted.',
        metricName: 'The name of that metric.',
        metricThreshold: 'It fires each time that the highest total passes a multiple of this.',
        streakLengthThreshold:
          'Of type `streak`: it fires each time that the streak reaches a multiple of this.',
        timeUnit:
          'Of type `time`: the unit of the interval. (The admin interface writes `hours` and `days`.)',
        timeInterval: 'How many units there are between two grants.',
        ...SHOWN_FILTERS,
        created: 'When the trigger was created.',
        updated: 'When the trigger was last changed.',
      },
    },
    {
      of: ['PointsBoost', 'PointsBoostWebhookPayload'],
      fields: {
        ...ID,
        name: 'The display name.',
        status: '`scheduled` before it begins, `active`, or `finished`.',
        start: 'The first local date on which it applies.',
        end: 'The last local date on which it applies. `null`: it has no end.',
        multiplier: 'What awards are multiplied by. Several boosts that apply are multiplied together.',
        rounding: 'How the product is rounded.',
        userId: 'The user whom it is for. `null`: it is not for a single user.',
        pointsSystemId: 'The id of its points system.',
        pointsSystemKey: 'The key of its points system.',
        pointsSystemName: 'The name of its points system.',
      },
    },
    {
      of: ['PointsRange'],
      fields: {
        from: 'The lowest total in the range.',
        to: 'The highest total in the range.',
        users: 'How many users have a total in the range.',
      },
    },
    {
      of: ['PointsLevelSummaryResponse'],
      fields: { level: 'The level.', users: 'How many users have it now.' },
    },
  ],
}

const CONFIGURED = {
  name: 'The display name.',
  key: 'The key: letters, digits, `_` and `-`. It is fixed once created.',
  description: 'The description, at most 2,000 characters. Empty if not set.',
  ...BADGE,
}

const LEVEL = {
  ...CONFIGURED,
  points: 'The total from which a user has this level. No two levels share one.',
}

const BOOST = {
  name: 'The display name.',
  start: 'The first date on which it applies, by the local date of each user.',
  end: 'The last date on which it applies. `null`: it has no end.',
  multiplier:
    'What awards are multiplied by: above 0, below 100, and not 1. Several boosts are multiplied together.',
  rounding: 'How the product is rounded. `down` if the boosts that apply disagree.',
  userId: 'The one user whom it is for. Not together with `userAttributes`.',
  ...USER_FILTERS,
}

const TRIGGER = {
  type: 'What makes it fire: a `metric` that grows, an `achievement`, a `streak`, `time` that passes, or `user_creation`.',
  points: 'The points each time it fires: a whole number up to 1,000,000. Negative: points are taken.',
  status: 'Only active triggers fire. A new one is `inactive` unless you say otherwise.',
  ...USER_FILTERS,
  metricId: 'Of type `metric`: the id of the metric.',
  metricThreshold:
    'Of type `metric`: it fires each time that the highest total a user ever had passes a multiple of this.',
  ...EVENT_FILTERS,
  achievementId: 'Of type `achievement`: the id of the achievement that has to be completed.',
  streakLength: 'Of type `streak`: it fires each time that the streak reaches a multiple of this.',
  timeUnit: 'Of type `time`: the unit of the interval. (The application interface writes `hour` and `day`.)',
  timeInterval: 'Of type `time`: how many units there are between two grants.',
  blockIfOutOfPoints:
    'Of type `metric`, with negative points: refuses an event for which the user has too few points.',
}

const SYSTEM = {
  ...CONFIGURED,
  maxPoints: 'The most points that a user can have. `null`: there is no such limit.',
  status: '`active`, or `archived` once deleted.',
  levels: 'The levels, up to 100.',
  boosts: 'The boosts, up to 100.',
  triggers: 'The triggers, up to 100. They fire in this order.',
}

/** Points as they are configured. */
export const pointsAdmin: Chapter = {
  operations: {
    ...resource({
      id: 'admin_points_systems',
      one: 'points system',
      many: 'points systems',
      about:
        'A points system is a kind of points, such as XP or energy. Its levels, triggers and boosts have operations of their own.',
      create: {
        note: 'Levels, triggers and boosts can be created with it. If one of them is wrong, the system is not created.',
        body: [
          {
            key: 'demo-stars',
            name: 'Stars',
            maxPoints: 500,
            levels: [{ key: 'demo-rich', name: 'Rich', points: 100 }],
            triggers: [
              {
                type: 'metric',
                metricId: demo('metric', 'demo-lessons'),
                metricThreshold: 1,
                points: 2,
                status: 'active',
              },
            ],
          },
        ],
      },
      update: {
        note: 'The key is fixed. A lower `maxPoints` takes nothing away.',
        body: [{ id: demo('system', 'demo-xp'), name: 'XP' }],
      },
      delete: {
        note: 'Its triggers stop firing and its leaderboards disappear. What users earned stays in their history.',
        id: demo('system', 'demo-coins'),
      },
    }),
    ...resource({
      id: 'admin_points_levels',
      one: 'level',
      many: 'levels',
      about: 'The level of a user is the highest one whose `points` are not above the total of the user.',
      create: { body: [{ key: 'demo-hero', name: 'Hero', points: 2_500 }] },
      update: {
        note: 'The key is fixed.',
        body: [{ id: demo('level', 'demo-novice'), name: 'Novice' }],
      },
      delete: { note: 'Users who had it have the level below.', id: demo('level', 'demo-legend') },
    }),
    ...resource({
      id: 'admin_points_triggers',
      one: 'trigger',
      many: 'triggers',
      about: 'A trigger says what gives or takes points, and how many.',
      create: {
        note: 'Which fields are needed depends on `type`.',
        body: [
          {
            type: 'time',
            timeUnit: 'days',
            timeInterval: 1,
            points: 1,
            userAttributes: [{ attributeId: demo('attribute', 'demo-plan'), attributeValue: 'pro' }],
          },
        ],
      },
      update: {
        note: 'A change acts on later events only.',
        body: [{ id: demo('trigger', 'active'), points: 10 }],
      },
      delete: { note: 'What users earned by it stays.', id: demo('trigger', 'inactive') },
    }),
    ...resource({
      id: 'admin_points_boosts',
      one: 'boost',
      many: 'boosts',
      about: 'A boost multiplies what is awarded on its dates. It never multiplies points that are taken.',
      create: { body: [{ name: 'Lucky day', start: day(14), end: day(14), multiplier: 3 }] },
      update: {
        note: 'The user whom it is for is fixed.',
        body: [{ id: demo('boost', 'Pro members'), name: 'Pro members' }],
      },
      delete: { note: 'What was awarded with it stays.', id: demo('boost', 'Double XP') },
    }),
  },
  fields: [
    {
      of: ['CreatePointsLevelRequestItem', 'AdminPointsLevel', 'PatchPointsLevelsRequest'],
      fields: { ...ID, ...LEVEL },
    },
    {
      of: ['CreatePointsBoostRequestItem', 'AdminPointsBoost', 'PatchPointsBoostsRequest'],
      fields: { ...ID, ...BOOST, status: '`scheduled` before it begins, `active`, or `finished`.' },
    },
    {
      of: ['CreatePointsTriggerRequestItem', 'AdminPointsTrigger', 'PatchPointsTriggersRequest'],
      fields: { ...ID, ...TRIGGER },
    },
    {
      of: [
        'CreatePointsSystemRequestItem',
        'AdminPointsSystem',
        'CreatedAdminPointsSystem',
        'UpdatePointsSystemRequestItem',
      ],
      fields: { ...ID, ...SYSTEM },
    },
    {
      of: [
        'PatchPointsLevelsRequest',
        'PatchPointsBoostsRequest',
        'PatchPointsTriggersRequest',
        'UpdatePointsSystemRequestItem',
      ],
      fields: CHANGED_ID,
    },
  ],
}
