import { demo } from './chapter'

/** Parameters in paths, by the segment before them: what they mean, and what they are in examples. */
export const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  'users/{id}': {
    description:
      'The id of the user in your product. Encode it (`%2F` for a slash) if it holds special characters.',
    example: 'demo-ada',
  },
  'metrics/{key}': { description: 'The key of the metric.', example: 'demo-lessons' },
  'points/{key}': { description: 'The key of the points system.', example: 'demo-xp' },
  'achievements/{key}': { description: 'The key of the achievement.', example: 'demo-profile' },
  'leaderboards/{key}': { description: 'The key of the leaderboard.', example: 'demo-weekly-xp' },

  'attributes/{id}': { description: 'The id of the attribute.', example: demo('attribute', 'demo-plan') },
  'metrics/{id}': { description: 'The id of the metric.', example: demo('metric', 'demo-lessons') },
  'batches/{id}': {
    description: 'The id of the batch, as the header `X-Batch-Id` gave it.',
    example: demo('batch', 'any'),
  },
  'points/{id}': { description: 'The id of the points system.', example: demo('system', 'demo-xp') },
  'points/{systemId}': { description: 'The id of the points system.', example: demo('system', 'demo-xp') },
  'levels/{id}': { description: 'The id of the level.', example: demo('level', 'demo-novice') },
  'triggers/{id}': { description: 'The id of the trigger.', example: demo('trigger', 'active') },
  'boosts/{id}': { description: 'The id of the boost.', example: demo('boost', 'Pro members') },
  'achievements/{id}': {
    description: 'The id of the achievement.',
    example: demo('achievement', 'demo-first-lesson'),
  },
  'leaderboards/{id}': {
    description: 'The id of the leaderboard.',
    example: demo('leaderboard', 'demo-weekly-xp'),
  },
  'tenants/{id}': {
    description: 'The UUID of the tenant.',
    // The tenant that everything belongs to while multi-tenancy is off: the only one that is known beforehand.
    example: '00000000-0000-7000-8000-000000000000',
  },
  'webhooks/{id}': { description: 'The id of the webhook.', example: demo('webhook', 'active') },
  'deliveries/{deliveryId}': {
    description: 'The id of the delivery, which is also its `webhook-id` header.',
    example: demo('delivery', 'any'),
  },
  'templates/{id}': { description: 'The id of the template.', example: demo('template', 'email') },
  'admin-api-keys/{id}': { description: 'The id of the admin key.', example: demo('adminKey', 'Demo') },
}

/** Parameters in the query and in headers, by name, if an operation's own notes say nothing else. */
export const QUERY_PARAMETERS: Readonly<Record<string, string>> = {
  limit: 'How many entries the page has at most.',
  skip: 'How many entries to skip.',
  after: 'Where the page begins: the cursor in the `Link` header of the page before.',
  ids: 'The ids, repeated (`ids=…&ids=…`) or separated by commas.',
  aggregation: 'How long a bucket is. Weeks begin on Monday.',
  startDate: 'The first date, `YYYY-MM-DD`. May also be spelled `start_date`.',
  endDate: 'The last date, `YYYY-MM-DD`, at most 400 days after the first. May also be spelled `end_date`.',
  run: 'A date in the run to read, `YYYY-MM-DD`. Without it, the current run.',
  'Idempotency-Key':
    'Makes the event count once, however often it is sent. The key belongs to this user and this metric, and never expires.',
}
