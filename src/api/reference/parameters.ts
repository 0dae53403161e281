import { demo } from './chapter'

/** Parameters in paths, by the segment before them, with their meaning and their value in examples. */
export const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  'users/{id}': {
    description:
      'The id of the user in your product. If it contains special characters, encode them (`%2F` for a slash).',
    example: 'demo-ada',
  },
  'metrics/{key}': { description: 'The key of the metric.', example: 'demo-lessons' },
  'points/{key}': { description: 'The key of the points system.', example: 'demo-xp' },
  'achievements/{key}': { description: 'The key of the achievement.', example: 'demo-profile' },
  'leaderboards/{key}': { description: 'The key of the leaderboard.', example: 'demo-weekly-xp' },

  'attributes/{id}': {
    description: 'The id or the key of the attribute.',
    example: demo('attribute', 'demo-plan'),
  },
  'metrics/{id}': {
    description: 'The id or the key of the metric.',
    example: demo('metric', 'demo-lessons'),
  },
  'batches/{id}': {
    description: 'The id of the batch, from the header `X-Batch-Id`.',
    example: demo('batch', 'any'),
  },
  'events/{eventId}': { description: 'The id of the event.', example: demo('event', 'newest') },
  'points/{id}': {
    description: 'The id or the key of the points system.',
    example: demo('system', 'demo-xp'),
  },
  'points/{systemId}': {
    description: 'The id or the key of the points system.',
    example: demo('system', 'demo-xp'),
  },
  'levels/{id}': { description: 'The id or the key of the level.', example: demo('level', 'demo-novice') },
  'triggers/{id}': { description: 'The id or the key of the trigger.', example: demo('trigger', 'active') },
  'boosts/{id}': { description: 'The id or the key of the boost.', example: demo('boost', 'Pro members') },
  'awards/{awardId}': {
    description: 'The id of the award.',
    example: demo('award', 'newest'),
  },
  'achievements/{id}': {
    description: 'The id or the key of the achievement.',
    example: demo('achievement', 'demo-first-lesson'),
  },
  'leaderboards/{id}': {
    description: 'The id or the key of the leaderboard.',
    example: demo('leaderboard', 'demo-weekly-xp'),
  },
  'tenants/{id}': {
    description: 'The UUID of the tenant.',
    // The tenant of all data while multi-tenancy is off: the only tenant with an id that is known in advance.
    example: '00000000-0000-7000-8000-000000000000',
  },
  'webhooks/{id}': { description: 'The id or the key of the webhook.', example: demo('webhook', 'active') },
  'deliveries/{deliveryId}': {
    description: 'The id of the delivery, which is also its `webhook-id` header.',
    example: demo('delivery', 'any'),
  },
  'templates/{id}': { description: 'The id or the key of the template.', example: demo('template', 'email') },
  'admin-api-keys/{id}': { description: 'The id of the admin key.', example: demo('adminKey', 'Demo') },
}

/** Parameters in the query and in headers, by name. An operation's own notes take precedence. */
export const QUERY_PARAMETERS: Readonly<Record<string, string>> = {
  limit: 'The most entries on the page.',
  skip: 'The number of entries to skip.',
  after: 'The start of the page: the cursor from the `Link` header of the previous page.',
  ids: 'The ids, repeated (`ids=…&ids=…`) or separated by commas.',
  key: 'Only items with one of these keys, repeated (`key=…&key=…`) or separated by commas.',
  keys: 'Keys, instead of ids or in addition to them, repeated or separated by commas.',
  type: 'Whether a user attribute or an event attribute is meant, if both have the key.',
  aggregation: 'The length of a bucket. Weeks begin on Monday.',
  startDate: 'The first date, `YYYY-MM-DD`. May also be spelled `start_date`.',
  endDate: 'The last date, `YYYY-MM-DD`, at most 400 days after the first. May also be spelled `end_date`.',
  run: 'A date in the run to read, `YYYY-MM-DD`. Without it, the current run.',
  endPrevious: 'Whether the old secret ends at once. Otherwise it signs too for 24 hours.',
  'Idempotency-Key':
    'Makes the event count once, even if it is sent several times. The key is for this user and this metric only, and never expires. It must not contain a comma with a space after it.',
}
