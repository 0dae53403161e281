import * as z from 'zod'
import { NOTIFICATION_CHANNELS, NOTIFICATION_TYPES, SWITCH_STATUSES } from '../../config/enumerations.types'
import {
  createResponse,
  defaulted,
  deleteResponse,
  items,
  optional,
  rule,
  Timestamp,
  text,
  UserId,
  Uuid,
  UuidResponse,
  updateResponse,
} from '../../http/fields'
import { integerQuery } from '../../http/queries'
import { Filters, FiltersResponse } from '../../wire/attribute.schemas'
import { type Form, parseLiquid } from './templates/liquid.service'

/** In characters. */
const TITLE_MAX = 1_000
const BODY_MAX = 65_536
/** So many entries of the log can be skipped, which is more than anybody reads. */
const SKIP_MAX = 100_000

const NotificationType = z.enum(NOTIFICATION_TYPES)
const Channel = z.enum(NOTIFICATION_CHANNELS)
const Status = z.enum(SWITCH_STATUSES)

/** A text in Liquid, whose first fault is told with its place. */
const liquid = (form: Form, max: number) =>
  text(max)
    .refine((given) => given.trim() !== '', 'must not be empty')
    .superRefine((given, context) => {
      const parsed = given.length > max ? null : parseLiquid(form, given)
      if (parsed !== null && 'fault' in parsed) context.addIssue(`is not Liquid: ${parsed.fault}`)
    })

const Title = liquid('text', TITLE_MAX)
// Whether what it puts in is escaped is no matter of syntax.
const Body = liquid('html', BODY_MAX)

const isMissing = (item: { channel?: unknown; subject?: unknown; title?: unknown }, channel: string) =>
  item.channel === channel && (channel === 'email' ? item.subject : item.title) === undefined

const NEEDED = 'must be a string, and is missing'

/** A template to configure; inactive unless said (N3). An email has a subject, a push message a title. */
export const CreateTemplateRequestItem = z
  .object({
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

/** A change to a template: absent fields stay, and null takes its filters away. */
export const UpdateTemplateRequestItem = z
  .object({
    id: Uuid,
    type: optional(NotificationType),
    channel: optional(Channel),
    subject: optional(Title),
    title: optional(Title),
    body: optional(Body),
    userAttributes: Filters,
    status: optional(Status),
  })
  .meta({ id: 'UpdateTemplateRequestItem' })

/** A template as it is served. */
export const AdminTemplate = z
  .object({
    id: UuidResponse,
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

/** For whom a template is rendered. */
export const PreviewTemplateRequest = z.object({ userId: UserId }).meta({ id: 'PreviewTemplateRequest' })

/** What a user would get: subject, HTML, text and headers of an email, title and text of a push message. */
export const PreviewTemplateResponse = z
  .object({
    channel: Channel,
    subject: z.string().optional(),
    title: z.string().optional(),
    body: z.string(),
    text: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: 'PreviewTemplateResponse' })

/** The page of the log. */
export const LogQuery = z.object({
  limit: integerQuery({ min: 1, max: 100, fallback: 10 }),
  skip: integerQuery({ min: 0, max: SKIP_MAX, fallback: 0 }),
})

/** What became of a notification; without a provider it is kept, and not sent (N4). */
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
