import { type Chapter, demo, fieldsOf, resource } from '../../api/reference/chapter'
import { CHANGED_ID, CREATED, UPDATED } from '../../api/reference/common.reference'

const NO_TENANT = '00000000-0000-7000-8000-00000000abcd'
const IMPLICIT_TENANT = '00000000-0000-7000-8000-000000000000'

const NEEDS_TENANCY = 'Needs `MULTI_TENANCY=on`. Otherwise the status is 422.'

const tenantNotes = resource({
  id: 'admin_tenants',
  one: 'tenant',
  many: 'tenants',
  hasNoKey: true,
  about: 'A tenant keeps the users, configuration and keys of one of your customers apart from all others.',
  create: { body: [{ customerId: 'demo-school', name: 'Demo school' }] },
  update: { body: [{ id: IMPLICIT_TENANT, name: 'The first tenant' }] },
  delete: { note: 'A deleted tenant is archived. From then on, calls for it get 404.', id: NO_TENANT },
})

/** Operations on the whole account, on tenants and on the test clock. */
export const account: Chapter = {
  operations: {
    ...Object.fromEntries(
      Object.entries(tenantNotes).map(([id, note]) => [
        id,
        { ...note, description: `${NEEDS_TENANCY} ${note.description}` },
      ]),
    ),
    admin_tenants_purge: {
      description: `${NEEDS_TENANCY} Erases an archived tenant: its users, configuration, keys and everything else. This runs in the background, and continues after a crash. The status is 202 until everything is erased, and 404 from then on. It is 422 for a tenant that is not archived. Erased data can't be restored.`,
      parameters: { purge: 'Must be `true`.' },
      example: { path: { id: NO_TENANT }, query: { purge: true } },
    },
    admin_settings_get: 'The settings of the tenant.',
    admin_settings_update: {
      description:
        'Changes the fields that you pass, also within `branding` and `experimentation`. The others stay.',
      example: { body: { branding: { brandColor: '#15803D' }, aggregationPeriod: 'weekly' } },
    },
    admin_test_clock_get:
      'The time of the service, and while a move of the clock is under way, how far it is. For development only: without `TEST_CLOCK=on` the status is 404.',
    admin_test_clock_set: {
      description:
        'Moves the time of the service forward, at most 400 days at once. It first runs all work that becomes due: ticks of time triggers, ends of streaks and runs, deliveries, notifications. Then it responds. With the header `Prefer: respond-async` it responds at once, with the status 202, and does the work afterwards: `GET /admin/v1/test-clock` shows its progress. From then on the clock stays at this time until it is moved again. For development only: without `TEST_CLOCK=on` the status is 404.',
      parameters: { Prefer: '`respond-async`: respond before the work is done.' },
      example: { body: { advance: 'PT1H' } },
    },
    admin_test_clock_reset:
      'Returns to real time. Data that was recorded with the test clock keeps its dates. For development only: without `TEST_CLOCK=on` the status is 404.',
    admin_status:
      'The state of the whole service, for monitoring: versions, the sizes of the databases, and the work that waits. Archived tenants do not count. The call is cheap, also with millions of users: large numbers are counted up to a limit only. While the database cannot be reached, the status is 503 with `Retry-After`.',
    admin_databases:
      'The databases, with the number of their users and events. Users belong to 4,096 buckets of each tenant, and each bucket is in one database. While the first database cannot be reached, the status is 503 with `Retry-After`.',
    admin_databases_rebalance: {
      description:
        'Stores the weights of the databases, and spreads the users of all tenants by them. Users move in the background while events arrive, and no event waits for long. The new weights replace all earlier ones. A database that you do not name counts 1, and one of weight 0 is emptied. The first database keeps the configuration in any case. The status is 422 for a name that is no database, for a negative weight, and if all weights are 0.',
      example: { body: { weights: { DB: 1 } } },
    },
    admin_environments_list:
      'The environments of the team. A deployment is one, which the variable `ENVIRONMENT` names: `production` if it is not set.',
    admin_session_get:
      'Whether the key is valid, and what this deployment has: tenants, a test clock. The console asks this when a user signs in. The call costs one round trip to the database.',
  },
  fields: [
    fieldsOf(['RebalanceRequest'], {
      weights: 'Weights by the name of a database: numbers of 0 or more. Missing ones are 1.',
    }),
    fieldsOf(['AdminEnvironment'], {
      name: 'The key with a capital, to show.',
      key: 'The variable `ENVIRONMENT`.',
      priority: '1 for `production`, otherwise 2.',
    }),
    fieldsOf(['RebalanceResponse'], {
      databases: 'The databases as they are before the users move, the first one first.',
    }),
    fieldsOf(['Database'], {
      name: 'The name of its binding in `wrangler.toml`.',
      buckets: 'The buckets that it holds: the sum over all tenants.',
      users: "The users that it holds; `null` if it can't be reached.",
      events:
        "The events of these users; `null` if it can't be reached. In a large database, an estimate from the counts of the analytics.",
      bytes: "Its size in bytes; `null` if it can't be reached. A database of D1 has at most 10 GB.",
      state:
        '`active`; `filling` while it waits for more users; `draining` if its weight is 0, also when it is empty.',
    }),
    fieldsOf(['SessionResponse'], {
      keyId: 'The id of the admin key; `null` for the first one, `ADMIN_API_KEY`.',
      version: 'The version of Laurel.',
      multiTenancy: 'Whether requests name a tenant in the header `Tenant-ID`.',
      testClock: 'Whether there is a test clock.',
      now: 'The time of the service.',
    }),
    fieldsOf(['CreateTenantRequestItem', 'UpdateTenantRequestItem', 'AdminTenant'], {
      id: 'The UUID of the tenant.',
      customerId: 'Your own identifier of the tenant, for the `Tenant-ID` header.',
      name: 'The display name.',
      status: '`active`, or `archived` after it was deleted.',
      purging: '`true` while the tenant is being erased. Missing otherwise.',
      ...CREATED,
      ...UPDATED,
    }),
    fieldsOf(['UpdateTenantRequestItem'], CHANGED_ID),
    fieldsOf(['UpdateSettingsRequest', 'Settings', 'UpdatedSettings'], {
      branding: 'How messages look: templates have these as variables.',
      'branding.appName': 'The name of your app. `My app` until it is set.',
      'branding.appUrl': 'The address of your app. `""` if there is none.',
      'branding.brandColor':
        'The colour of buttons: `#RGB`, `#RRGGBB`, `rgb(r,g,b)` or `rgba(r,g,b,a)`. The numbers `r`, `g` and `b` are 0 to 255, and `a` is 0 to 1.',
      'branding.font': 'The font of emails.',
      'branding.logo': 'The picture at the top of emails. `null`: the name stands there.',
      'branding.logo.url': 'Its address, with `https` or `http`.',
      'branding.appIcon': 'The small picture of your app, or `null`.',
      'branding.appIcon.url': 'Its address, with `https` or `http`.',
      experimentation: 'How you measure what messages are worth.',
      'experimentation.controlRatio':
        'The share of new users, in whole percent, that goes into the control group. These users get no notifications. It does not move users who exist.',
      'experimentation.userActivationWindow':
        'After how many days the analytics count who came back: `window` of `retention`.',
      aggregationPeriod: 'How often users get a recap, if a template for it is active or a webhook wants it.',
    }),
    fieldsOf(['MoveClockRequest'], {
      now: 'The new time, as an ISO 8601 timestamp with an offset, such as `2026-01-31T09:00:00Z`. Pass this or `advance`.',
      advance:
        'How far to move: an ISO 8601 duration such as `P1D` or `PT1H30M`, added in UTC to the present time of the clock. Pass this or `now`.',
    }),
    fieldsOf(['StatusResponse'], {
      version: 'The version of Laurel.',
      databases: 'The databases.',
      'databases.name': 'The name of its binding in `wrangler.toml`.',
      'databases.bytes':
        "Its size in bytes; `null` if it can't be reached. A database of D1 has at most 10 GB.",
      due: 'Work in the background that is due, such as ticks, ends of streaks and upkeep of leaderboards.',
      'due.count': 'How many pieces of work are due. The first 200,000 scheduled pieces are counted.',
      'due.oldest': 'Since when the oldest of them is due; `null` if nothing is due.',
      'due.ahead':
        'How many pieces of work are due further ahead than they can be, because the clock of a machine was ahead. The cron trigger brings them back.',
      inbox: 'Events of batches that wait to be processed, in the first 5,000 parts of batches.',
      outbox: 'Changes whose messages wait to be handed over to the delivery queues; at most 5,000.',
      deliveries: 'Messages to webhooks, email and push, in at most 100 delivery queues.',
      'deliveries.pending': 'Messages that are not delivered yet; at most 10,000 of a queue.',
      'deliveries.dead': 'Messages that were given up, among the newest 10,000 of each queue.',
      'deliveries.unknown':
        'Delivery queues that are not counted: they did not answer, or there are more than 100.',
      failing: 'The active webhooks that fail.',
      leaderboards: 'The leaderboards.',
      'leaderboards.behind':
        'Leaderboards that may lack changes: their upkeep has been due for more than a minute.',
      'leaderboards.unconfirmed':
        'Users whose score on a leaderboard lacks a stored change, once for each leaderboard. It is above 0 for a moment while events are sent.',
      'leaderboards.unknown':
        'Active leaderboards that are not counted in `unconfirmed`: they did not answer, their tenant has too many users, or there are more than 20.',
    }),
    fieldsOf(['ClockResponse', 'ClockState', 'MovedClock'], {
      now: 'The time of the service.',
      moving: 'There while the work of a move goes on that was answered before.',
      'moving.tenants': 'The tenants with work that is due.',
      'moving.progress': 'How much of the move is done, from 0 to 1.',
    }),
  ],
}

export const audit: Chapter = {
  operations: {
    admin_audit_log: {
      description:
        'The changes that requests to the admin interface made, newest first: who changed what, and when. Each request leaves one entry for each resource that it changed. Entries have no secrets. They are kept for a year. With `MULTI_TENANCY=on`, name a tenant in `Tenant-ID` to read its log, which also works for an archived tenant. Without `Tenant-ID`, you get the log of the account: admin keys, tenants and the test clock. Without multi-tenancy there is one log. A filtered page can have fewer entries than `limit` although there are more: continue as long as the response has a `Link` header. Changes of the test clock are there only if `kind` or `id` asks for them.',
      parameters: {
        id: 'Only the entry with this id.',
        kind: 'Only entries about resources of this kind.',
        key: 'Only entries about resources with this key. Of a tenant, the key is its `customerId`.',
        actor: 'Only changes by this admin key: its id or its name.',
        userId: 'Only entries about this user, and about something of this user.',
      },
      example: { query: { kind: 'metric' } },
    },
  },
  fields: [
    fieldsOf(['AuditLogEntry'], {
      id: 'The id of the entry.',
      at: 'When the change was made.',
      actor: 'The admin key of the request.',
      'actor.keyId': 'The id of the admin key. `null` for the first one, from `ADMIN_API_KEY`.',
      'actor.name':
        'The name of the admin key at that time. `ADMIN_API_KEY` for the first one, `DEMO` for data of the demo.',
      action: 'The kind of change.',
      kind: 'The kind of resource.',
      resourceId:
        'The id of the resource. If the entry is about a user or about something of one user, the internal id of the user. `null` if there is only one such resource, such as the settings, or no such user.',
      key: 'The key of the resource, if it has one.',
      fields:
        'The changed fields by name, in the form of the admin interface. URLs have no query. Texts are cut after 2,000 characters. Empty after the erasure of the user.',
      'fields.before': 'The value before the change. `null` if there was none, or if it is secret.',
      'fields.after': 'The value after the change. `null` if there is none, or if it is secret.',
      requestId: 'The `X-Request-Id` of the response to the request.',
    }),
  ],
}

/** API keys: application keys and admin keys. */
export const keys: Chapter = {
  operations: {
    admin_application_api_keys_list: {
      description: 'A page of the application keys, oldest first, without their secrets.',
      parameters: { userId: 'Only the keys of this user.' },
    },
    admin_application_api_keys_create: {
      description:
        'Creates 1 to 100 application keys, each for one user. The user need not exist yet. Only this response shows the keys. You can use an application key in a browser: it reads and changes only its own user, and sends events of that user. A key with the scope `read` only reads.',
      example: { body: [{ userId: 'demo-ada', scope: 'read' }] },
    },
    admin_application_api_keys_delete: {
      description: 'Deletes application keys by their ids. They are refused from the next request on.',
      example: { query: { ids: [demo('applicationKey', 'demo-grace')] } },
    },
    admin_user_tokens_create: {
      description:
        'Makes a signed token with which a page acts for one user, until the token ends. Send it in the header `X-API-KEY`, like an application key. Laurel does not store it, so it cannot be deleted: it ends by itself, or with its user. Only this response shows it.',
      example: { body: { userId: 'demo-ada', ttl: 900 } },
    },
    admin_admin_keys_list:
      'A page of the admin keys, oldest first, without their secrets. The key in the variable `ADMIN_API_KEY` is not in the list.',
    admin_admin_keys_create: {
      description:
        'Creates 1 to 100 admin keys. Only this response shows the keys. An admin key may do everything, in all tenants, so use it on servers only.',
      example: { body: [{ name: 'Nightly import' }] },
    },
    admin_admin_keys_delete: {
      description: 'Deletes admin keys by their ids. They are refused from the next request on.',
      example: { query: { ids: [demo('adminKey', 'Demo (unused)')] } },
    },
    admin_admin_keys_rotate:
      'Replaces an admin key with a new one. Only this response shows the new key. Id and name stay. The old key is refused from the next request on.',
  },
  fields: [
    fieldsOf(['CreateApplicationKeyRequestItem', 'CreatedApplicationKey', 'ApplicationKey'], {
      id: 'The id of the key. Delete the key with it.',
      userId: 'The id of the user that the key acts for.',
      key: 'The whole key, for the header `X-API-KEY`. Only this response shows it.',
      prefix: 'The public first part of the key, safe to log and show.',
      scope: '`write`: the key reads and changes its user, and sends events. `read`: it only reads.',
      expires: 'When the key ends, by the clock of the service. Null if it does not end.',
      ...CREATED,
    }),
    fieldsOf(['CreateUserTokenRequest', 'CreatedUserToken'], {
      userId: 'The id of the user that the token acts for. The user must exist.',
      scope: '`write`: the token reads and changes its user, and sends events. `read`: it only reads.',
      ttl: 'For how many seconds the token is valid.',
      token: 'The token, for the header `X-API-KEY`. Only this response shows it.',
      expires: 'When the token ends, by the clock of the service.',
    }),
    fieldsOf(['CreateAdminKeyRequestItem', 'CreatedAdminKey', 'AdminKey'], {
      id: 'The id of the key. Rotate or delete the key with it.',
      name: 'The display name, such as the purpose of the key.',
      key: 'The whole key, for the header `X-API-KEY`. Only this response shows it.',
      prefix: 'The public first part of the key, safe to log and show.',
      ...CREATED,
    }),
  ],
}
