import { type Chapter, fieldsOf } from './chapter'

/** Descriptions that fields of many schemas share. */
export const ID = { id: 'The id, a UUID.' }
export const CREATED = { created: 'When it was created.' }
export const UPDATED = { updated: 'When it was last changed.' }

/** The metric or the points system that an item is about, by its id and its key. */
export const OF_METRIC = {
  metricId: 'The id of the metric.',
  metricKey: 'The key of the metric. `null` if the metric was deleted.',
}
export const OF_SYSTEM = {
  systemId: 'The id of the points system.',
  systemKey: 'The key of the points system. `null` if it was deleted.',
}

/** A moment on the clock of the user. */
export const ON_CLOCK = {
  localDate: 'The local date of the user at that time.',
  utcOffsetMinutes: 'The offset of the user from UTC at that time, in minutes. East of UTC is positive.',
}

/** A level as it was when a user reached or left it. */
export const LEVEL_THEN = {
  id: 'The id of the level.',
  key: 'The key of the level at that time.',
  name: 'The name of the level at that time.',
  points: 'The points at which the level began at that time.',
}

/** The same descriptions for the fields of an inner object at this path. */
export const under = (path: string, fields: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(fields).map(([field, note]) => [`${path}.${field}`, note]))

/** The id of an item that changes something. */
export const CHANGED_ID = { id: 'The id of the item to change.' }

/** The key of an item that changes something, if the key itself never changes (O1). */
export const FIXED_KEY = {
  key: 'The key of the item to change, instead of `id`. The key itself never changes.',
}

/** The same, if the key can change (O1). */
export const CHANGED_KEY = {
  key: 'Without `id`: the key of the item to change. With `id`: the new key of the item.',
}

/** The key of a trigger, boost, webhook or template (O2). */
export const OWN_KEY = {
  key: 'The key: letters, digits, `_` and `-`. Without one, Laurel makes one from the other fields, such as `metric-words-50`. It never changes by itself.',
}

/** The badge of a configured item on the admin interface. */
export const BADGE = {
  badge: 'The badge. `null` if there is none. In a change, `null` removes it.',
  'badge.url': 'The address of the badge image, at most 2,048 characters.',
}

/** Filters by attributes of users and of events on the admin interface. */
export const USER_FILTERS = {
  userAttributes: 'Only for users who have all these attribute values. Empty or `null`: for all users.',
  'userAttributes.attributeId': 'The id of a user attribute.',
  'userAttributes.attributeKey': 'The key of the user attribute, instead of its id.',
  'userAttributes.attributeValue': 'The value that the user must have.',
}
export const EVENT_FILTERS = {
  eventAttributes:
    'Counts only events that have all these attribute values. Empty or `null`: counts all events.',
  'eventAttributes.attributeId': 'The id of an event attribute.',
  'eventAttributes.attributeKey': 'The key of the event attribute, instead of its id.',
  'eventAttributes.attributeValue': 'The value that the event must have.',
}

/** The same filters on the application interface, with the keys of attributes. */
export const SHOWN_FILTERS = {
  userAttributes: 'The attribute values that a user must have. Empty: for all users.',
  'userAttributes.key': 'The key of the user attribute.',
  'userAttributes.value': 'The required value.',
  eventAttribute: 'The first of `eventAttributes`. An older spelling.',
  'eventAttribute.key': 'The key of the event attribute.',
  'eventAttribute.value': 'The required value.',
  eventAttributes: 'The attribute values that an event must have to count. Missing if all events count.',
  'eventAttributes.key': 'The key of the event attribute.',
  'eventAttributes.value': 'The required value.',
}

/** Notes that all operations share. */
export const common: Chapter = {
  fields: [
    fieldsOf([/^(Create|Update|Patch|Delete)\w+Response$/], {
      created: 'The items that were created.',
      updated: 'The items that were changed, as they are now.',
      deleted: 'The items that were deleted.',
      issues: 'The items that failed, and warnings. Empty if there is nothing to report.',
    }),
    fieldsOf(
      [
        'RebalanceResponse',
        'BatchEventsResponse',
        'CreatedUserToken',
        'MovedClock',
        'PreviewTemplateResponse',
        'TestDelivery',
        'BegunRedelivery',
        'TestTemplateResponse',
        'UpdatedSettings',
        'UpdatedStreakSettings',
        'VoidEventResponse',
      ],
      { issues: 'Warnings about unknown fields. Missing if there are none.' },
    ),
    fieldsOf(['AdminIssue', 'AdminUserIssue'], {
      id: 'The id of the item that the issue is about, on updates and deletes.',
      key: 'The key of the item that the issue is about, if the request names it by a key that does not exist.',
      userId: 'The id of the user that the issue is about.',
      boostId: 'The id of the boost that the issue is about. The same as `id`.',
      index:
        'The place of the item in the request, from 0: on creates, and in warnings about unknown fields.',
      severity: '`error`: the item failed. `warning`: it was done, or there was nothing to do.',
      message: 'The problem, and how to fix it.',
      level: 'The same as `severity`. An older spelling.',
      reason: 'The same as `message`. An older spelling.',
    }),
    fieldsOf(['DeletedResource'], { id: 'The id of the deleted item.' }),
    fieldsOf(['ErrorBody'], {
      error: 'The problem with the request, and how to fix it.',
      issues:
        'The problems of `error` one by one, so that nobody has to parse it. Only in a 422, and in the 404 of a batch with unknown metrics.',
      current: 'The resource as it is now, or null if it was deleted. Only in a 412.',
    }),
    fieldsOf(['ErrorIssue'], {
      path: 'The field, such as `user.email` or `0.value`, or the name of a parameter. Empty if the problem is not about one field.',
      message: 'The problem, and how to fix it.',
    }),
  ],
}

/** How attribute values are written in a query. */
export const PAIRS =
  'Pairs of an attribute key and a value, such as `plan:pro,city:Washington, DC`. A comma separates two pairs only if a key and a colon follow it. You can repeat the parameter: each one is then a single pair, and its value may contain anything. To send one such pair alone, pass it twice.'
