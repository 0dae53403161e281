import type { Chapter } from '../../api/reference/chapter'

const TOTALS = { before: 'The total before.', after: 'The total after.' }
const POINTS = {
  'points.before': TOTALS.before,
  'points.after': TOTALS.after,
}

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
    {
      of: ['CreatePointsAdjustmentRequestItem'],
      fields: {
        userId: 'The id of the user in your product. The user must exist.',
        amount: 'The points to add. Negative: points are taken. Not 0, within ±1,000,000.',
        reason: 'Why, for your records. At most 1,000 characters.',
        idempotencyKey:
          'Makes the adjustment count once, even if it is sent several times. The key is for this user and this points system only, and never expires.',
      },
    },
    {
      of: ['CreatePointsAdjustmentsResponse'],
      fields: {
        created: 'The entries of the ledger. For a repeated idempotency key: the first one.',
      },
    },
    {
      of: ['PointsAdjustment'],
      fields: {
        id: 'The id of the entry in the ledger.',
        userId: 'The id of the user.',
        awarded: 'The points that were really applied, within the limits.',
        total: 'The total of the user after the adjustment.',
      },
    },
    { of: ['VoidEventRequest'], fields: { reason: 'Why, for your records. At most 1,000 characters.' } },
    {
      of: ['VoidEventResponse'],
      fields: {
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
        'metric.before': TOTALS.before,
        'metric.after': TOTALS.after,
        points: 'The totals of the points systems in which the event gave or took points, by key.',
        ...POINTS,
      },
    },
    {
      of: ['RevokeAchievementResponse'],
      fields: {
        id: 'The id of the achievement.',
        key: 'The key of the achievement.',
        completionId: 'The id of the completion that was taken back.',
        achievedAt: 'When the user had completed it.',
        points:
          'With `points=revoke`: the totals of the points systems in which the completion gave or took points, by key. Otherwise empty.',
        ...POINTS,
      },
    },
  ],
}
