import { type Chapter, day, demo, resource } from './chapter'
import { CHANGED_ID, ID } from './common'

const RANGE = {
  aggregation: 'daily',
  startDate: day(-6),
  endDate: day(0),
}

const EVENT = {
  user: 'The user who did it. Created if unknown; fields that are passed are updated.',
  value:
    'How much was done, from -1,000,000,000 to 1,000,000,000, rounded to six decimals. Negative values take back.',
  attributes:
    'Attribute values of the event, by attribute key. A number or a boolean is stored as its text: send a string if the spelling matters. Each key must be configured.',
}

const WRITABLE_BY =
  "Who may set a user attribute: `admin` (only admin keys, the default) or `user` (also the user's own application key). Event attributes have none."

/** Events, the metrics that they count, and the attributes that they carry. */
export const events: Chapter = {
  operations: {
    metrics_event: {
      description: [
        'Records that a user did something, and answers with everything that this event changed: the total, the streak, achievements, points and places on leaderboards. The user is created if unknown.',
        'With an `Idempotency-Key` the event counts once: the first request is answered 201, each repeat 202 with `idempotentReplayed: true`, and a repeat changes nothing. 422 if a trigger with `blockIfOutOfPoints` would take more points than the user has; then nothing of the event happens.',
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
    users_all_metrics: {
      description:
        'The total of the user in every metric, 0 if unused, with the achievements that the metric can complete.',
      example: {},
    },
    users_single_metric: {
      description: 'The total of the user in one metric, with the achievements that the metric can complete.',
      example: {},
    },
    users_metric_event_summary: {
      description:
        "How the user's total of a metric changed, by day, week or month of the user's own calendar. Buckets without events are there too. The first and the last bucket are whole, even if the dates cut through them.",
      example: { query: RANGE },
    },
    admin_metrics_batch_events: {
      description:
        'Records 1 to 1,000 events of any users. The batch is checked as a whole: if one event is wrong, none is accepted (422, or 404 for an unknown metric). Then it is stored, and processed in the background: each event once, those of one user in the order sent. The header `X-Batch-Id` names the batch.',
      example: {
        body: [
          { key: 'demo-lessons', user: { id: 'demo-ada' }, value: 1, idempotencyKey: 'batch-1' },
          { key: 'demo-minutes', user: { id: 'demo-grace' }, value: 15, idempotencyKey: 'batch-1' },
        ],
      },
    },
    admin_metrics_batch_get: {
      description: 'How many events of a batch are processed by now, and whether all of them are.',
      example: {},
    },
    ...resource({
      id: 'admin_metrics',
      one: 'metric',
      many: 'metrics',
      about: 'A metric is something that users do and that is counted. Events name it by its key.',
      create: { body: [{ key: 'demo-words', name: 'Words learned', units: 'words' }] },
      update: {
        note: 'The key is fixed.',
        body: [{ id: demo('metric', 'demo-lessons'), name: 'Lessons completed' }],
      },
      delete: {
        note: 'A deleted metric takes its triggers and leaderboards with it; what users earned stays.',
        id: demo('metric', 'demo-quizzes'),
      },
    }),
    ...resource({
      id: 'admin_attributes',
      one: 'attribute',
      many: 'attributes',
      about:
        'An attribute describes users or events, such as a plan or a device. Requests can carry it once it is configured.',
      create: { body: [{ key: 'demo-course', name: 'Course', type: 'user' }] },
      update: {
        note: 'Key and type are fixed.',
        body: [{ id: demo('attribute', 'demo-plan'), name: 'Plan' }],
      },
      delete: {
        note: 'An attribute that something active uses is an issue.',
        id: demo('attribute', 'demo-team'),
      },
    }),
  },
  fields: [
    {
      of: ['EventRequest', 'BatchMetricEvent'],
      fields: {
        ...EVENT,
        key: 'The key of the metric.',
        idempotencyKey: 'Makes the event count once. It belongs to this user and this metric.',
      },
    },
    {
      of: ['EventResponse'],
      fields: {
        eventId: 'The id of the event; on a repeat, of the first one.',
        metricId: 'The id of the metric.',
        total: 'The total of the user in the metric after this event. On a repeat, the total now.',
        achievements: 'The achievements that this event completed.',
        currentStreak: 'The streak after this event.',
        points:
          'What this event did to points, by key of the points system. Systems without a change are not there.',
        leaderboards:
          'The leaderboards on which this event changed the score of the user, by key of the leaderboard.',
        idempotencyKey: 'The idempotency key of the request.',
        idempotentReplayed:
          'Whether this is a repeat, which changed nothing. Only there with an idempotency key.',
      },
    },
    { of: ['BatchEventsResponse'], fields: { accepted: 'How many events were accepted: all of them.' } },
    {
      of: ['EventBatch'],
      fields: {
        id: 'The id of the batch.',
        status: '`pending` until every event is done, then `done`.',
        accepted: 'How many events the batch has.',
        processed: 'How many of them were recorded.',
        dropped:
          'How many were repeats of an idempotency key, could no longer be done, or were of a user who was erased.',
        parked: 'How many a fault of the service kept from being processed.',
      },
    },
    {
      of: ['CreateMetricRequestItem', 'CreatedMetric'],
      fields: {
        ...ID,
        name: 'The display name.',
        key: 'The key that events name: letters, digits, `_` and `-`. It is fixed once the metric exists.',
        unitType: 'Whether values are plain numbers or amounts of money.',
        units: 'What values count, such as `lessons`. Empty if not set.',
      },
    },
    {
      of: ['UpdateMetricRequestItem'],
      fields: {
        ...CHANGED_ID,
        name: 'The display name.',
        unitType: 'Whether values are plain numbers or amounts of money.',
        units: 'What values count, such as `lessons`.',
      },
    },
    {
      of: ['CreateAttributeRequestItem', 'AdminAttribute'],
      fields: {
        ...ID,
        name: 'The display name.',
        key: 'The key that requests name: letters, digits, `_` and `-`. It is fixed once the attribute exists.',
        type: 'Whether it describes users or events. Fixed once the attribute exists.',
        writableBy: WRITABLE_BY,
      },
    },
    {
      of: ['UpdateAttributeRequestItem'],
      fields: { ...CHANGED_ID, name: 'The display name.', writableBy: WRITABLE_BY },
    },
    {
      of: ['MetricResponse'],
      fields: {
        ...ID,
        key: 'The key of the metric.',
        name: 'The display name.',
        status: 'Always `active`. Older clients need it.',
        current: 'The total of the user now.',
        achievements: 'The achievements that this metric can complete, with when the user completed them.',
      },
    },
    {
      of: ['EventSummaryResponse'],
      fields: {
        date: 'The first date of the bucket.',
        total: 'The total at the end of the bucket; now, for one that is not over.',
        change: 'The change within the bucket.',
      },
    },
  ],
}
