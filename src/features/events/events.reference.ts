import { type Chapter, day, demo, fieldsOf, resource } from '../../api/reference/chapter'
import { CHANGED_ID, FIXED_KEY, ID } from '../../api/reference/common.reference'

const WRITABLE_BY =
  "The keys that may set a user attribute: `admin` (only admin keys, the default) or `user` (also the user's own application key). Event attributes don't have this field."

/** Events, the metrics that they add to, and their attributes. */
export const events: Chapter = {
  operations: {
    metrics_event: {
      description: [
        'Records that a user did something, and returns everything that this event changed: the total, the streak, achievements, points and places on leaderboards. A user with an unknown id is created.',
        'With an `Idempotency-Key` the event counts once. The first request gets 201. Each repeat gets 202 with `idempotentReplayed: true`, and changes nothing. The status is 422 if a trigger with `blockIfOutOfPoints` would take more points than the user has. Then the event is not recorded and changes nothing.',
      ].join('\n\n'),
      example: {
        headers: { 'Idempotency-Key': 'lesson-1' },
        body: {
          user: { id: 'demo-ada', tz: 'Europe/Paris' },
          value: 1,
          attributes: { 'demo-device': 'phone' },
        },
      },
    },
    users_all_metrics:
      'The total of the user in every metric, with the achievements that the metric can complete. A metric without events has a total of 0.',
    users_single_metric:
      'The total of the user in one metric, with the achievements that the metric can complete.',
    users_metric_event_summary: {
      description:
        "How the user's total of a metric changed, by day, week or month, in the time zone of the user. Buckets without events are included. The first and the last bucket are complete, even if a date that you pass is in the middle of one.",
      example: { query: { aggregation: 'daily', startDate: day(-6), endDate: day(0) } },
    },
    admin_metrics_batch_events: {
      description:
        'Records 1 to 1,000 events of any users. The batch is checked as a whole. If one event is wrong, no event is accepted (422, or 404 for an unknown metric). Then the batch is stored, and processed in the background: each event once, and the events of a user in the order sent. The header `X-Batch-Id` has the id of the batch.',
      example: {
        body: [
          { key: 'demo-lessons', user: { id: 'demo-ada' }, value: 1, idempotencyKey: 'batch-1' },
          { key: 'demo-minutes', user: { id: 'demo-grace' }, value: 15, idempotencyKey: 'batch-1' },
        ],
      },
    },
    admin_metrics_batch_get:
      'How many events of a batch are processed so far, and whether the batch is done.',
    ...resource({
      id: 'admin_metrics',
      one: 'metric',
      many: 'metrics',
      about: 'A metric counts something that users do. Events name the metric by its key.',
      create: { body: [{ key: 'demo-words', name: 'Words learned', units: 'words' }] },
      update: {
        note: "The key can't be changed.",
        body: [{ id: demo('metrics', 'demo-lessons'), name: 'Lessons completed' }],
      },
      delete: {
        note: 'The triggers and leaderboards of the metric are deleted too. Users keep their points and achievements.',
        id: demo('metrics', 'demo-quizzes'),
      },
    }),
    ...resource({
      id: 'admin_attributes',
      one: 'attribute',
      many: 'attributes',
      about:
        'An attribute describes users or events, such as a plan or a device. Requests can contain it after it is configured.',
      create: { body: [{ key: 'demo-course', name: 'Course', type: 'user' }] },
      update: {
        note: "Key and type can't be changed.",
        body: [{ id: demo('attributes', 'demo-plan'), name: 'Plan' }],
      },
      delete: {
        note: 'If something active uses an attribute, it is not deleted and becomes an issue.',
        id: demo('attributes', 'demo-team'),
      },
    }),
  },
  fields: [
    fieldsOf(['EventRequest', 'BatchMetricEvent'], {
      user: 'The user of the event. A user with an unknown id is created. The fields that you pass are updated.',
      value:
        'The amount, from -1,000,000,000 to 1,000,000,000, rounded to six decimals. A negative value lowers the total.',
      attributes:
        'Attribute values of the event, by attribute key. A number or a boolean is stored as text. Send a string if the exact spelling matters. Each key must be configured.',
      key: 'The key of the metric.',
      idempotencyKey: 'Makes the event count once. The key is for this user and this metric only.',
    }),
    fieldsOf(['EventResponse'], {
      eventId: 'The id of the event. On a repeat, the id of the first event.',
      metricId: 'The id of the metric.',
      total: 'The total of the user in the metric after this event. On a repeat, the total now.',
      achievements: 'The achievements that this event completed.',
      currentStreak: 'The streak after this event.',
      points:
        'The changes of points by this event, by key of the points system. Systems without a change are left out.',
      leaderboards:
        'The leaderboards on which this event changed the score of the user, by key of the leaderboard.',
      idempotencyKey: 'The idempotency key of the request.',
      bodyDiffers:
        '`true` if the event of this idempotency key came with another body. What came now was not recorded. Use a new key for each event. Only there in that case.',
      idempotentReplayed:
        'Whether this is a repeat, which changed nothing. Only present with an idempotency key.',
    }),
    fieldsOf(['BatchEventsResponse'], { accepted: 'The number of accepted events, which is all of them.' }),
    fieldsOf(['EventBatch'], {
      id: 'The id of the batch.',
      status: '`pending`, and `done` after all events are processed, dropped or parked.',
      accepted: 'The number of events in the batch.',
      processed: 'The number of events that were recorded.',
      dropped:
        'The number of events that repeated an idempotency key, could no longer be recorded, or were of an erased user.',
      parked: 'The number of events that could not be processed because of an internal error.',
    }),
    fieldsOf(['CreateMetricRequestItem', 'CreatedMetric'], {
      ...ID,
      name: 'The display name.',
      key: "The key that events name: letters, digits, `_` and `-`. It can't be changed later.",
      unitType: 'Whether values are plain numbers or amounts of money.',
      units: 'The unit of the values, such as `lessons`. Empty if not set.',
    }),
    fieldsOf(['UpdateMetricRequestItem'], {
      ...CHANGED_ID,
      ...FIXED_KEY,
      name: 'The display name.',
      unitType: 'Whether values are plain numbers or amounts of money.',
      units: 'The unit of the values, such as `lessons`.',
    }),
    fieldsOf(['CreateAttributeRequestItem', 'AdminAttribute'], {
      ...ID,
      name: 'The display name.',
      key: "The key that requests name: letters, digits, `_` and `-`. It can't be changed later.",
      type: "Whether it describes users or events. It can't be changed later.",
      writableBy: WRITABLE_BY,
    }),
    fieldsOf(['UpdateAttributeRequestItem'], {
      ...CHANGED_ID,
      ...FIXED_KEY,
      type: 'Which attribute is meant, if a user attribute and an event attribute have the key.',
      name: 'The display name.',
      writableBy: WRITABLE_BY,
    }),
    fieldsOf(['MetricResponse'], {
      ...ID,
      key: 'The key of the metric.',
      name: 'The display name.',
      status: 'Always `active`. For older clients.',
      current: 'The total of the user now.',
      achievements:
        'The achievements that this metric can complete, with the times at which the user completed them.',
    }),
    fieldsOf(['EventSummaryResponse'], {
      date: 'The first date of the bucket.',
      total: 'The total at the end of the bucket. If the bucket is not over, the total now.',
      change: 'The change within the bucket.',
    }),
  ],
}
