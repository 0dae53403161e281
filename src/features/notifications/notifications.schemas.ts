import * as z from 'zod'
import {
  ConfigKey,
  createResponse,
  defaulted,
  deleteResponse,
  isNamed,
  itemName,
  items,
  optional,
  rule,
  Timestamp,
  text,
  UserId,
  UuidResponse,
  updateResponse,
  withIssues,
} from '../../api/fields'
import { integerQuery, ListQuery, longListQuery } from '../../api/queries'
import { Filters, FiltersResponse } from '../../api/shapes/attribute.schemas'
import { NOTIFICATION_CHANNELS, NOTIFICATION_TYPES, SWITCH_STATUSES } from '../../configuration/enumerations'
import { MOST_TEMPLATE_CHARACTERS, MOST_TITLE_CHARACTERS } from '../../lib/limits'
import { type Form, parseLiquid } from './templates/liquid'

/** The most entries of the log that can be skipped. Nobody pages that far. */
const MOST_SKIPPED = 100_000

const NotificationType = z.enum(NOTIFICATION_TYPES)
const Channel = z.enum(NOTIFICATION_CHANNELS)
const Status = z.enum(SWITCH_STATUSES)

/** A text in Liquid. The validation error names its first problem and its place. */
const liquid = (form: Form, max: number) =>
  text(max)
    .refine((given) => given.trim() !== '', 'must not be empty')
    .superRefine((given, context) => {
      const parsed = given.length > max ? null : parseLiquid(form, given)
      if (parsed !== null && 'fault' in parsed) context.addIssue(`is not Liquid: ${parsed.fault}`)
    })

const Title = liquid('text', MOST_TITLE_CHARACTERS)
// Escaping does not affect the syntax.
const Body = liquid('html', MOST_TEMPLATE_CHARACTERS)

const isMissing = (item: { channel?: unknown; subject?: unknown; title?: unknown }, channel: string) =>
  item.channel === channel && (channel === 'email' ? item.subject : item.title) === undefined

const NEEDED = 'must be a string, and is missing'

/** A template to configure; inactive by default (N3). An email has a subject, a push message a title. */
export const CreateTemplateRequestItem = z
  .object({
    key: optional(ConfigKey),
    type: NotificationType,
    channel: Channel,
    subject: optional(Title),
    title: optional(Title),
    body: Body,
    userAttributes: Filters,
    status: defaulted(Status, 'inactive'),
  })
  .refine((item) => !isMissing(item, 'email'), rule('subject', NEEDED))
  .refine((item) => !isMissing(item, 'push'), rule('title', NEEDED))
  .meta({ id: 'CreateTemplateRequestItem' })

/** A change to a template. Absent fields stay, and null removes its filters. */
export const UpdateTemplateRequestItem = z
  .object({
    ...itemName,
    type: optional(NotificationType),
    channel: optional(Channel),
    subject: optional(Title),
    title: optional(Title),
    body: optional(Body),
    userAttributes: Filters,
    status: optional(Status),
  })
  .check(isNamed)
  .meta({ id: 'UpdateTemplateRequestItem' })

/** A template in a response. */
export const AdminTemplate = z
  .object({
    id: UuidResponse,
    key: z.string(),
    type: NotificationType,
    channel: Channel,
    subject: z.string().optional(),
    title: z.string().optional(),
    body: z.string(),
    userAttributes: FiltersResponse,
    status: Status,
    created: Timestamp,
    updated: Timestamp,
  })
  .meta({ id: 'AdminNotificationTemplate' })

export const CreateTemplatesRequest = items(CreateTemplateRequestItem).meta({ id: 'CreateTemplatesRequest' })
export const UpdateTemplatesRequest = items(UpdateTemplateRequestItem).meta({ id: 'UpdateTemplatesRequest' })
export const ListTemplatesResponse = z.array(AdminTemplate).meta({ id: 'ListTemplatesResponse' })
export const CreateTemplatesResponse = createResponse('CreateTemplatesResponse', AdminTemplate)
export const UpdateTemplatesResponse = updateResponse('UpdateTemplatesResponse', AdminTemplate)
export const DeleteTemplatesResponse = deleteResponse('DeleteTemplatesResponse')

/** The user for the preview of a template. */
export const PreviewTemplateRequest = z.object({ userId: UserId }).meta({ id: 'PreviewTemplateRequest' })

/** The user who gets a test message. */
export const TestTemplateRequest = z.object({ userId: UserId }).meta({ id: 'TestTemplateRequest' })

/** A template that is not stored, and the user for its preview. */
export const PreviewDraftRequest = z
  .object({ userId: UserId, template: CreateTemplateRequestItem })
  .meta({ id: 'PreviewDraftRequest' })

/**
 * The notification that a user would get: subject, HTML, text and headers of an email, or title and text of a
 * push message.
 */
export const PreviewTemplateResponse = withIssues(
  'PreviewTemplateResponse',
  z.object({
    channel: Channel,
    subject: z.string().optional(),
    title: z.string().optional(),
    body: z.string(),
    text: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
)

/** The outcome of a test message. `reason` says why it was not sent, and what to do (N4). */
export const TestTemplateResponse = withIssues(
  'TestTemplateResponse',
  z.object({
    channel: Channel,
    status: z.enum(['sent', 'failed', 'unsent: no provider']),
    reason: z.string().nullable(),
  }),
)

/** The place of a message in the log of its channel: moment, number and id. */
const MessagePlace = z.tuple([z.number(), z.number(), z.string()])

/** The last message of each channel on a page and on the pages before it; null if there was none. */
export const LogCursor = z.object({ email: MessagePlace.nullable(), push: MessagePlace.nullable() })

/** The page of the log. */
export const LogQuery = longListQuery(
  LogCursor,
  {},
  ListQuery.extend({ skip: integerQuery({ min: 0, max: MOST_SKIPPED, fallback: 0 }) }),
)

/** The state of a notification. Without a provider it is stored and not sent (N4). */
const LogStatus = z.enum(['pending', 'sent', 'failed', 'unsent: no provider'])

/** An entry of the log (N4). */
export const NotificationLogEntry = z
  .object({
    id: z.string(),
    userId: z.string(),
    type: NotificationType,
    channel: Channel,
    status: LogStatus,
    title: z.string(),
    body: z.string(),
    headers: z.record(z.string(), z.string()),
    created: Timestamp,
  })
  .meta({ id: 'NotificationLogEntry' })

export const NotificationLogResponse = z.array(NotificationLogEntry).meta({ id: 'NotificationLogResponse' })

/** The providers that send email and push messages, by their names. Without any, a channel sends nothing. */
export const NotificationChannelsResponse = z
  .object({
    email: z.array(z.enum(['resend', 'cloudflare'])),
    push: z.array(z.enum(['expo', 'apns', 'fcm'])),
  })
  .meta({ id: 'NotificationChannelsResponse' })
