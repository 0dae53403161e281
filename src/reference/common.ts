import type { Chapter } from './chapter'

/** Descriptions that fields of many schemas share. */
export const ID = { id: 'The id, a UUID.' }
export const CREATED = { created: 'When it was created.' }
export const UPDATED = { updated: 'When it was last changed.' }

/** Fields of an item that changes something that exists. */
export const CHANGED_ID = { id: 'The id of the one to change.' }

/** Fields of what is configured and has a badge on the admin interface. */
export const BADGE = {
  badge: 'The badge. `null` if there is none; in a change, `null` removes it.',
  'badge.url': 'The address of the badge image, at most 2,048 characters.',
}

/** Fields of filters by attributes of users, and of events, on the admin interface. */
export const USER_FILTERS = {
  userAttributes: 'Only for users who have all these attribute values. Empty or `null`: for everybody.',
  'userAttributes.attributeId': 'The id of a user attribute.',
  'userAttributes.attributeValue': 'The value that the user must have.',
}
export const EVENT_FILTERS = {
  eventAttributes:
    'Counts only events that have all these attribute values. Empty or `null`: counts every event.',
  'eventAttributes.attributeId': 'The id of an event attribute.',
  'eventAttributes.attributeValue': 'The value that the event must have.',
}

/** The same filters on the application interface, which names attributes by key. */
export const SHOWN_FILTERS = {
  userAttributes: 'The attribute values that a user must have. Empty if it is for everybody.',
  'userAttributes.key': 'The key of the user attribute.',
  'userAttributes.value': 'The value that is needed.',
  eventAttribute: 'The first of `eventAttributes`. An older spelling.',
  'eventAttribute.key': 'The key of the event attribute.',
  'eventAttribute.value': 'The value that is needed.',
  eventAttributes: 'The attribute values that an event must have to count. Missing if every event counts.',
  'eventAttributes.key': 'The key of the event attribute.',
  'eventAttributes.value': 'The value that is needed.',
}

/** What all operations have in common. */
export const common: Chapter = {
  fields: [
    {
      of: [/^(Create|Update|Patch|Delete)\w+Response$/],
      fields: {
        created: 'The items that were created.',
        updated: 'The items that were changed, as they are now.',
        deleted: 'The items that were deleted.',
        issues: 'The items that could not be done, and warnings. Empty if all went well.',
      },
    },
    {
      of: ['AdminIssue', 'AdminUserIssue'],
      fields: {
        id: 'The id of the item that the issue is about, on updates and deletes.',
        userId: 'The user whom the issue is about.',
        boostId: 'The id of the boost that the issue is about. The same as `id`.',
        index: 'The place of the item in the request, from 0.',
        severity: '`error`: the item was not done. `warning`: it was done, or there was nothing to do.',
        message: 'What is wrong, and how to fix it.',
        level: 'The same as `severity`. An older spelling.',
        reason: 'The same as `message`. An older spelling.',
      },
    },
    { of: ['DeletedResource'], fields: { id: 'The id of what was deleted.' } },
    {
      of: ['ErrorBody'],
      fields: { error: 'What is wrong with the request and how to fix it, in one sentence.' },
    },
  ],
}

/** How attribute values are named in a query. */
export const PAIRS =
  'Pairs of an attribute key and a value, such as `plan:pro,city:Washington, DC`. A comma separates two pairs only if a key and a colon follow. The parameter may be repeated: each one is then a single pair, whatever its value holds. To send one such pair alone, give it twice.'
