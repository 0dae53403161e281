import type { AdminNotificationTemplate } from '@laurel/client'
import { z } from 'zod'
import { WriteRefused } from '../../api/errors'
import { AskButton } from '../../resource/confirm-write'
import { filtersInWords, switching, USER_FILTERS } from '../../resource/parts'
import type { Field, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { type AllFields, choice, filters, optionalText, text } from '../../resource/schemas'
import { Card } from '../../ui/page'
import { say } from '../../ui/text'
import { ChannelsSection, LogSection } from './sections'
import { ChannelWarning, StarterButton, Variables } from './template-help'
import { TemplatePreview } from './template-preview'
import { nameOf, TIMES, TYPES } from './words'

const Common = z.object({
  type: choice(['streak_reminder', 'achievement_completed', 'recap', 'reactivation']),
  body: text(65_536),
  userAttributes: filters(),
  status: choice(['active', 'inactive']),
  key: optionalText(255).regex(/^[\w-]*$/, 'Use letters, digits, hyphens and underscores only.'),
})

/** An email has a subject, a push message a title. */
const Draft = z
  .discriminatedUnion('channel', [
    Common.extend({ channel: z.literal('email'), subject: text(1000) }),
    Common.extend({ channel: z.literal('push'), title: text(1000) }),
  ])
  .transform(({ key, ...draft }) => ({ ...draft, ...(key !== '' && { key }) }))

/** The form. Its last three parts are not sent: a button that fills an email, a list, and the user of the preview. */
export type Values = AllFields<z.input<typeof Draft>> & { starter: string; variables: string; userId: string }

/** The first text of a message. */
const HEADLINE = { kind: 'text', placeholder: 'Keep your streak, {{ user.name }}' } as const

const FIELDS: readonly Field<Values>[] = [
  {
    kind: 'choice',
    name: 'type',
    label: 'Type',
    options: TYPES,
    hint: ({ type }) => `Is sent ${TIMES[type]}, in the time zone of the user.`,
  },
  { kind: 'choice', name: 'channel', label: 'Channel', options: { push: 'Push message', email: 'Email' } },
  { ...HEADLINE, name: 'subject', label: 'Subject', when: ({ channel }) => channel === 'email' },
  { ...HEADLINE, name: 'title', label: 'Title', when: ({ channel }) => channel === 'push' },
  {
    kind: 'long-text',
    name: 'body',
    label: 'Body',
    hint: 'HTML for an email, plain text for a push message. Variables such as {{ user.name }} stand for values.',
  },
  {
    kind: 'custom',
    name: 'starter',
    label: 'Begin with an example',
    render: (field) => <StarterButton {...field} />,
  },
  { kind: 'custom', name: 'variables', label: 'All variables', render: (field) => <Variables {...field} /> },
  {
    kind: 'custom',
    name: 'userId',
    label: 'Preview for the user',
    render: ({ values, label }) => (
      <div className="flex flex-col gap-4 rounded-md border border-line bg-sunken p-4">
        <ChannelWarning channel={values.channel} />
        <TemplatePreview label={label} template={values} />
      </div>
    ),
  },
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    options: { inactive: 'Inactive: nothing is sent', active: 'Active' },
  },
  {
    ...USER_FILTERS,
    name: 'userAttributes',
    label: 'Only for some users',
    hint: 'All must match. Of several templates that match, the oldest one is used.',
  },
  {
    kind: 'text',
    name: 'key',
    label: 'Key',
    isOptional: true,
    hint: 'Names the template in the interface. Empty: Laurel makes one.',
  },
]

export const templates: Resource<AdminNotificationTemplate, Values, z.output<typeof Draft>> = {
  name: 'Notifications',
  one: 'template',
  path: '/notifications',
  intro: 'Emails and push messages to users, at the right time of their day. A template says their text.',
  empty: {
    title: 'No templates yet',
    text: 'Create one, for example a reminder in the evening for users whose streak would end.',
  },
  nameOf,
  statusOf: ({ status }) => status,
  needs: ['attributes'],
  operations: (admin) => admin.notifications.templates,
  columns: () => [
    {
      name: 'Text',
      cell: ({ subject, title }) => <span className="text-quiet">{subject ?? title}</span>,
      isMinor: true,
    },
  ],
  summary: ({ type, status }) =>
    status === 'active' ? `Is sent ${TIMES[type]}.` : 'Is inactive: nothing is sent with it.',
  Sections: ({ item }) => (
    <Card title="Preview" about="With the present data of a user. Nothing is sent, except by “Send a test”.">
      {item.status === 'active' && (
        <div className="mb-4 empty:hidden">
          <ChannelWarning channel={item.channel} />
        </div>
      )}
      <TemplatePreview
        template={item}
        after={(userId) => <TestSend key={`${item.id} ${userId}`} template={item} userId={userId} />}
      />
    </Card>
  ),
  ListSections: () => (
    <>
      <ChannelsSection />
      <LogSection />
    </>
  ),
  form: {
    schema: Draft,
    fields: FIELDS,
    preview: ({ type, channel, status, userAttributes }, lookups) => {
      const whom = filtersInWords(userAttributes, lookups, 'users whose ') || 'all users'
      const sent = `${channel === 'email' ? 'An email' : 'A push message'} to ${whom}, ${TIMES[type]}.`
      return status === 'active' ? sent : `${sent} Nothing is sent until it is active.`
    },
  },
  moves: ({ status }) => [switching(status)],
  deletion: { text: 'Messages that wait are not sent any more. This cannot be undone.' },
}

export default resourcePage(templates)

/** Sends the message to the user now, after a question that shows why it was not sent. */
const TestSend = ({ template, userId }: { template: AdminNotificationTemplate; userId: string }) => (
  <AskButton
    label="Send a test"
    button={{ className: 'self-start' }}
    path="/notifications"
    title={say`Send this message to ${userId}?`}
    confirm="Confirm: send the test"
    write={{
      what: say`The test to ${userId}`,
      did: 'was sent',
      act: async (admin) => {
        const sent = await admin.notifications.templates.test(template.id, { userId })
        if (sent.status === 'sent') return sent
        const by = sent.status === 'failed' ? 'The provider said: ' : ''
        throw new WriteRefused([{ path: null, message: `The message was not sent. ${by}${sent.reason}` }])
      },
      more: ({ reason }) => (reason === null ? undefined : `Some devices were not reached: ${reason}.`),
    }}
  >
    The user really gets it, now and once. Choose yourself, or a user for tests.
  </AskButton>
)
