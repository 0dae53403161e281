import type { Chapter } from '../../api/reference/chapter'

/** The audit log. */
export const audit: Chapter = {
  operations: {
    admin_audit_log: {
      description:
        'The changes that requests to the admin interface made, newest first: who changed what, and when. Each request leaves one entry for each resource that it changed. Entries have no secrets. They are kept for a year. With `MULTI_TENANCY=on`, name a tenant in `Tenant-ID` to read its log, which also works for an archived tenant. Without `Tenant-ID`, you get the log of the account: admin keys, tenants and the test clock. Without multi-tenancy there is one log. A filtered page can have fewer entries than `limit` although there are more: continue as long as the response has a `Link` header.',
      parameters: {
        id: 'Only the entry with this id.',
        kind: 'Only entries about resources of this kind.',
        key: 'Only entries about resources with this key. Of a tenant, the key is its `customerId`.',
        actor: 'Only changes by this admin key: its id or its name.',
      },
      example: { query: { kind: 'metric' } },
    },
  },
  fields: [
    {
      of: ['AuditLogEntry'],
      fields: {
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
      },
    },
  ],
}
