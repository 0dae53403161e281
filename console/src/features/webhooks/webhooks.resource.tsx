import type { AdminWebhook, CreatedWebhook } from '@laurel/client'
import { useNavigate, useParams } from '@tanstack/react-router'
import { z } from 'zod'
import { switching } from '../../resource/parts'
import type { Admin, Field, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { at, choice, optionalText } from '../../resource/schemas'
import { valuesOf } from '../../resource/values'
import { Moment } from '../../ui/format'
import { DeliverySheet } from './deliveries'
import { EVENTS, isEventType } from './events'
import { Health, shortUrl } from './health'
import { DeliveriesSection, SecretSection, SendAgainSection, TestSection } from './sections'

const Draft = z
  .object({
    url: z
      .string()
      .trim()
      .min(1, 'Fill this in.')
      .max(2048, 'Use at most 2,048 characters.')
      .regex(/^https?:\/\/\S+$/i, 'Use a whole address, such as https://example.com/laurel.'),
    key: optionalText(255).regex(/^[\w-]*$/, 'Use letters, digits, hyphens and underscores only.'),
    isAll: z.boolean(),
    events: z.array(z.string()).transform((given) => given.filter(isEventType)),
    status: choice(['active', 'inactive']),
  })
  .refine(({ isAll, events }) => isAll || events.length > 0, at('events', 'Choose at least one event.'))
  .transform(({ isAll, events, key, ...draft }) => ({
    ...draft,
    events: isAll ? (['*'] as const).slice() : events,
    ...(key !== '' && { key }),
  }))

type Values = z.input<typeof Draft>

/** The events of a webhook in words. */
const eventsOf = (events: readonly string[]) =>
  events.includes('*')
    ? 'All events'
    : events.length === 1
      ? '1 type of event'
      : `${events.length} types of events`

const FIELDS: readonly Field<Values>[] = [
  {
    kind: 'text',
    name: 'url',
    label: 'Address',
    placeholder: 'https://example.com/laurel',
    hint: 'Laurel sends a POST request with JSON to it.',
  },
  { kind: 'switch', name: 'isAll', first: true, label: 'All events', hint: 'Also those of later versions.' },
  { kind: 'references', name: 'events', label: 'Events', options: () => EVENTS, when: ({ isAll }) => !isAll },
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    options: { active: 'Active', inactive: 'Inactive: gets nothing' },
  },
  {
    kind: 'text',
    name: 'key',
    label: 'Key',
    isOptional: true,
    hint: 'Names the webhook in the interface. Empty: Laurel makes one.',
  },
]

export const webhooks: Resource<AdminWebhook | CreatedWebhook, Values, z.output<typeof Draft>> = {
  name: 'Webhooks',
  one: 'webhook',
  path: '/webhooks',
  intro: 'Addresses of your servers. Laurel tells them at once what happened, such as a lost streak.',
  empty: {
    title: 'No webhooks yet',
    text: 'Create one to react in your product: unlock something at a new level, or write to a user.',
  },
  nameOf: ({ url }) => shortUrl(url),
  nameTitle: 'Address',
  statusOf: ({ status }) => status,
  operations: (admin) => admin.webhooks,
  columns: () => [
    { name: 'Events', cell: ({ events }) => eventsOf(events), isMinor: true },
    { name: 'Last 24 hours', cell: (webhook) => <Health {...webhook} /> },
  ],
  facts: ({ goneAt, health, previousSecretEnds }) => [
    ['Last 24 hours', <Health key="health" goneAt={goneAt} health={health ?? null} />],
    previousSecretEnds === null
      ? null
      : ['End of the old secret', <Moment key="end" iso={previousSecretEnds} />],
  ],
  secretOf: (item) =>
    'secret' in item
      ? {
          title: 'The webhook was created',
          label: 'Signing secret',
          secret: item.secret,
          children:
            'Each request is signed with this secret. Your server needs it to check that a request is from Laurel.',
        }
      : undefined,
  Sections: ({ item }) => (
    <>
      <DeliveriesSection webhook={item} />
      <SendAgainSection webhook={item} />
      <TestSection webhook={item} />
      <SecretSection webhook={item} />
    </>
  ),
  form: {
    schema: Draft,
    values: (item) => ({
      ...valuesOf(FIELDS, item),
      ...(item && {
        isAll: item.events.includes('*'),
        events: item.events.filter((event) => event !== '*'),
      }),
    }),
    fields: FIELDS,
    preview: ({ url, isAll, events, status }) => {
      if (status === 'inactive') return 'Nothing is sent until it is active.'
      if (!isAll && events.length === 0) return null
      return `${isAll ? 'All events' : eventsOf(events)} go to ${shortUrl(url) || 'your server'} within seconds.`
    },
  },
  moves: ({ id, status, health }) => [
    ...(health?.restsUntil
      ? [
          {
            label: 'Try now',
            did: 'is tried again now',
            act: async (admin: Admin) => ({ updated: [await admin.webhooks.tryNow(id)] }),
          },
        ]
      : []),
    switching(status),
  ],
  deletion: { text: 'Its deliveries are deleted with it, also those that wait. This cannot be undone.' },
}

const Webhooks = resourcePage(webhooks)

/** The pages of webhooks. `/webhooks/$id/$delivery` shows one delivery. */
export default function WebhooksPage() {
  const { id, action } = useParams({ strict: false })
  const navigate = useNavigate()
  return (
    <>
      <Webhooks />
      {id !== undefined && action !== undefined && action !== 'edit' && (
        <DeliverySheet
          webhookKey={id}
          deliveryId={action}
          onClose={() =>
            navigate({ to: `/webhooks/${encodeURIComponent(id)}`, search: true, resetScroll: false })
          }
        />
      )}
    </>
  )
}
