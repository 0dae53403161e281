import * as z from 'zod'
import { defaulted, Filters, FiltersResponse, optional, Timestamp, text } from '../../api/fields'
import { keysIn } from '../../api/resources/drafts.rules'
import { DERIVED_KEY, field, filters, ID, required, shown } from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { NOTIFICATION_CHANNELS, NOTIFICATION_TYPES, SWITCH_STATUSES } from '../../configuration/enumerations'
import { freeKey, templateKey } from '../../configuration/keys.rules'
import { notificationTemplates } from '../../configuration/tables.sql.ts'
import { instant, iso } from '../../lib/clock'
import { isLonger } from '../../lib/errors'
import { MOST_TEMPLATE_CHARACTERS, MOST_TITLE_CHARACTERS } from '../../lib/limits'
import { templateProblem, titleIn } from './notification'
import { listenerStatements } from './schedule'
import { type Form, parseLiquid } from './templates/liquid'
import { giveLinkSecret } from './unsubscribe.routes'

const NotificationType = z.enum(NOTIFICATION_TYPES)
const Channel = z.enum(NOTIFICATION_CHANNELS)
const Status = z.enum(SWITCH_STATUSES)

/** A text in Liquid. The validation error names its first problem and its place. */
const liquid = (form: Form, max: number) =>
  text(max)
    .refine((given) => given.trim() !== '', 'must not be empty')
    .superRefine((given, context) => {
      const parsed = isLonger(given, max) ? null : parseLiquid(form, given)
      if (parsed !== null && 'fault' in parsed) context.addIssue(`is not Liquid: ${parsed.fault}`)
    })
    .meta({ minLength: 1 })

const Title = liquid('text', MOST_TITLE_CHARACTERS)
// Escaping does not affect the syntax.
const Body = liquid('html', MOST_TEMPLATE_CHARACTERS)

/** A field that emails or push messages have as their title. */
const title = {
  create: optional(Title),
  update: optional(Title),
  item: z.string().optional(),
  column: null,
}

/** Templates of notifications (G7, N3). An email has a subject, a push message a title. */
export const template = defineResource({
  kind: 'notification_template',
  id: 'admin_notification_templates',
  path: '/notifications/templates',
  one: 'a template',
  title: 'a notification template',
  many: 'notification templates',
  component: 'Template',
  item: 'AdminNotificationTemplate',
  list: 'templates',
  table: notificationTemplates,
  fields: {
    id: ID,
    key: DERIVED_KEY,
    type: required(NotificationType, NotificationType),
    channel: required(Channel, Channel),
    subject: title,
    title,
    body: required(Body, z.string()),
    userAttributes: filters(Filters, FiltersResponse),
    status: field(defaulted(Status, 'inactive'), Status, Status),
    created: shown(Timestamp),
    updated: shown(Timestamp),
  },
  needs: {
    by: 'channel',
    fields: { email: ['subject'], push: ['title'] },
    error: () => 'must be a string, and is missing',
  },
  show: ({ channel, title, created, updated }) => ({
    subject: channel === 'email' ? title : undefined,
    title: channel === 'push' ? title : undefined,
    created: iso(instant(created)),
    updated: iso(instant(updated)),
  }),
  make: (row, { scope, config, draft }, item) => {
    const key = row.key ?? freeKey(templateKey(row), keysIn(draft.list))
    const made = { ...row, key, title: titleIn(item, row.channel) ?? '', origin: scope.origin ?? '' }
    return templateProblem(config, made) ?? made
  },
  /** If the channel changes, the title stays. */
  patch: (named, before, { scope, config }, item) => {
    const after = { ...named, title: titleIn(item, named.channel) ?? before.title }
    const isSame = JSON.stringify(after) === JSON.stringify(before)
    const origin = isSame ? before.origin : (scope.origin ?? before.origin)
    return templateProblem(config, after) ?? { ...after, origin }
  },
  /** With the first template, the tenant gets a secret for links. */
  effects: ({ scope, config, draft: { added, list } }) => ({
    statements: added.length === 0 ? [] : [giveLinkSecret(scope.db)],
    beside: listenerStatements(scope.db, config, { ...config, templates: list }, scope.now),
  }),
})
