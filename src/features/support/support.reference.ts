import { type Chapter, demo, fieldsOf } from '../../api/reference/chapter'
import { LEVEL_THEN, OF_METRIC, OF_SYSTEM, ON_CLOCK, under } from '../../api/reference/common.reference'
import { STREAK_ENTRY } from '../users/users.reference'

const TOTALS = { before: 'The total before.', after: 'The total after.' }

/** Corrections: points by hand, voided events, and completions that are taken back. */
export const corrections: Chapter = {
  operations: {
    admin_points_adjustments_create: {
      description:
        'Adds points to 1 to 100 users, or takes points from them, each by an entry in the ledger. The limit of the points system and the floor of 0 apply, and boosts do not. An item that cannot be done becomes an entry in `issues`. If an adjustment comes to 0, its issue is a warning. The status is 201 if an entry was made, otherwise 200.',
      example: {
        body: [
          { userId: 'demo-ada', amount: 10, reason: 'A reward from support', idempotencyKey: 'demo-case-1' },
        ],
      },
    },
    admin_users_void_event: {
      description:
        'Voids an event: totals, counters, summaries and leaderboards that are not final are as if it had never come. Points that metric triggers gave for it are reversed. The streak and completed achievements stay. If the event is voided already, the response is that of the first void, and nothing changes.',
      example: { body: { reason: 'Sent by a bug in the app' } },
    },
    admin_users_revoke_achievement: {
      description:
        'Takes a completed achievement back from a user. The points that it gave stay unless `points` is `revoke`. The user can complete it again after its condition has been false, or by a call if its trigger is `api`. Points that stayed are not given again.',
      parameters: {
        key: 'The key or the id of the achievement.',
        points: '`revoke`: also reverses the points that this completion gave.',
      },
      example: { path: { key: 'demo-first-lesson' }, query: { points: 'revoke' } },
    },
  },
  fields: [
    fieldsOf(['CreatePointsAdjustmentRequestItem'], {
      userId: 'The id of the user in your product. The user must exist.',
      amount: 'The points to add. Negative: points are taken. Not 0, within ±1,000,000.',
      reason: 'Why, for your records. At most 1,000 characters.',
      idempotencyKey:
        'Makes the adjustment count once, even if it is sent several times. The key is for this user and this points system only, and never expires.',
    }),
    fieldsOf(['CreatePointsAdjustmentsResponse'], {
      created: 'The entries of the ledger. For a repeated idempotency key: the first one.',
    }),
    fieldsOf(['PointsAdjustment'], {
      id: 'The id of the entry in the ledger.',
      userId: 'The id of the user.',
      awarded: 'The points that were really applied, within the limits.',
      total: 'The total of the user after the adjustment.',
    }),
    fieldsOf(['VoidEventRequest'], { reason: 'Why, for your records. At most 1,000 characters.' }),
    fieldsOf(['VoidEventResponse'], {
      event: 'The voided event.',
      'event.id': 'The id of the event.',
      'event.metricId': 'The id of its metric.',
      'event.metricKey': 'The key of its metric.',
      'event.value': 'Its value.',
      'event.attributes': 'Its attributes, by key.',
      'event.at': 'When it happened.',
      'event.localDate': 'The date in the time zone of the user at that time.',
      'event.utcOffsetMinutes': 'The offset of that zone from UTC at that time, in minutes.',
      'event.voided': 'When it was voided.',
      'event.reason': 'The reason of the void, or `null`.',
      metric: 'The total of the metric.',
      ...under('metric', TOTALS),
      points: 'The totals of the points systems in which the event gave or took points, by key.',
      ...under('points', TOTALS),
    }),
    fieldsOf(['RevokeAchievementResponse'], {
      id: 'The id of the achievement.',
      key: 'The key of the achievement.',
      completionId: 'The id of the completion that was taken back.',
      achievedAt: 'When the user had completed it.',
      points:
        'With `points=revoke`: the totals of the points systems in which the completion gave or took points, by key. Otherwise empty.',
      ...under('points', TOTALS),
    }),
  ],
}

const WHEN = { at: 'The time, in UTC.', ...ON_CLOCK }

const EVENT = {
  id: 'The id of the event.',
  ...OF_METRIC,
  value: 'The value of the event.',
  attributes: 'The attributes of the event, by key. A deleted attribute has its id as key.',
  ...WHEN,
}

/** Explanations for support: awards and timelines. */
export const explanations: Chapter = {
  operations: {
    admin_users_explain_award: {
      description:
        'Says why a user has these points: the event, the trigger as it was, the count of the trigger, the boosts, and the cap or the floor. Works for corrections too. `trigger.points` times `firings` is `base`. The boosts make `afterBoosts` of it, and the cap or the floor makes `award.awarded`. A part that is no longer known is `null`.',
      parameters: { key: 'The id or the key of the points system.' },
      example: { path: { key: demo('system', 'demo-xp') } },
    },
    admin_users_timeline: {
      description:
        'Everything that happened to a user, newest first: events, awards, changes of levels, completed achievements, changes of the streak, adjustments of points, voids of events, notifications, and changes of the profile and the preferences. A completion that was taken back is a `change` too. Follow the header `Link` to the next page. A page can be shorter than `limit`, even empty, although more pages follow. Entries whose time is not known come last.',
      parameters: {
        types:
          'Only entries of these types, separated by commas: `event`, `award`, `level_changed`, `achievement`, `streak`, `adjustment`, `void`, `notification`, `change`.',
      },
      example: { query: { types: 'award,streak' } },
    },
  },
  fields: [
    fieldsOf(['AwardExplanation'], {
      award: 'The award.',
      'award.id': 'The id of the award.',
      'award.awarded': 'The points. Negative: points were taken.',
      'award.total': 'The total of the user after this award.',
      ...under('award', WHEN),
      event: 'The event that caused the award. `null` if no event did.',
      trigger: 'The trigger as it was when it fired. `null` for a correction.',
      type: 'Only for a correction: `adjustment` or `reversal`.',
      reason: 'Only for a correction: the reason, or `null`.',
      reverses: 'Only for a reversal: the id of the award that it reverses. `null` for an adjustment.',
      counter:
        'The highest total that the trigger counts, before and after the event. `null` if the trigger does not count, and for awards of older versions of Laurel.',
      'counter.before': 'The highest total before the event.',
      'counter.after': 'The highest total after the event.',
      firings: 'How often the trigger fired at once. `null` if it is not known, and for a correction.',
      base: 'The points before boosts: the points of the trigger times `firings`. `null` for a correction.',
      boosts: 'The boosts that applied, as they were then.',
      afterBoosts: 'The points after the boosts, before cap and floor. Corrections are not boosted.',
      limit:
        '`cap` if the maximum of the points system made the award smaller, `floor` if the total cannot be below 0, else `null`.',
      total: 'The total of the user.',
      'total.before': 'The total before this award.',
      'total.after': 'The total after this award.',
    }),
    fieldsOf(['TimelineEvent'], {
      ...EVENT,
      type: 'The type of the entry.',
      voided: 'When the event was voided, else `null`.',
    }),
    fieldsOf(
      [
        'TimelineAward',
        'TimelineLevelChange',
        'TimelineAchievement',
        'TimelineStreak',
        'TimelineAdjustment',
        'TimelineVoid',
        'TimelineNotification',
        'TimelineChange',
      ],
      {
        id: 'The id of the entry. Of an award, a completion or a notification, it is the id of that.',
        ...WHEN,
        type: 'The type of the entry.',
        ...OF_SYSTEM,
        awarded: 'The points. Negative: points were taken.',
        total: 'The total of the user after this award.',
        trigger: 'The trigger as it was when it fired.',
        boosts: 'The boosts that applied, as they were then.',
        reason: 'The reason that the admin gave, or `null`.',
        achievementId: 'The id of the achievement.',
        achievementKey: 'The key of the achievement. `null` if it was deleted.',
        achievementName: 'The name of the achievement. `null` if it was deleted.',
        channel: 'The channel.',
        notification: 'The type of the notification.',
        status: 'Whether it was sent: `pending`, `sent`, `failed` or `unsent: no provider`.',
        title: 'The subject of the email, or the title of the push message.',
        fields:
          'The changed fields by name. Attributes are `attributes.` and the key. A completion that was taken back is `achievements.` and the key.',
      },
    ),
    fieldsOf(['TimelineLevelChange'], {
      before: 'The level before. `null`: no level.',
      after: 'The level after. `null`: no level.',
      ...under('before', LEVEL_THEN),
      ...under('after', LEVEL_THEN),
    }),
    fieldsOf(['TimelineStreak'], {
      at: 'The time, in UTC. `null` if it is not known.',
      change: 'The kind of the change.',
      ...STREAK_ENTRY,
      started: 'The first day of the lost streak.',
      lastPeriod: 'The first day of the last period of the lost streak.',
    }),
    fieldsOf(['TimelineAdjustment'], {
      reverses:
        'The id of the award whose points were taken back with a completion. `null` for an adjustment.',
    }),
    fieldsOf(['TimelineVoid'], {
      eventId: 'The id of the voided event.',
      metricId: 'The id of the metric.',
      metricKey: 'The key of the metric. `null` if it was deleted.',
      value: 'The value of the event.',
      reversals: 'The points that the void took or gave back, one for each award of the event.',
      ...under('reversals', {
        id: 'The id of the reversal.',
        ...OF_SYSTEM,
        awarded: 'The points. Negative: points were taken.',
        total: 'The total of the user after it.',
        reverses: 'The id of the award that it reverses.',
      }),
    }),
    fieldsOf(['TimelineChange'], {
      'fields.before': 'The value before. `null`: none.',
      'fields.after': 'The value after. `null`: none.',
    }),
    fieldsOf(['ExplainedEvent'], { ...EVENT, idempotencyKey: 'The idempotency key, or `null`.' }),
  ],
}
