import * as z from 'zod'
import { UserId, withIssues } from '../../../api/fields'
import { configurationOf } from '../../../configuration/configuration'
import type { Template } from '../../../configuration/configuration.types'
import { templateKey } from '../../../configuration/derived-keys.rules'
import { NOTIFICATION_CHANNELS } from '../../../configuration/enumerations'
import { errors } from '../../../lib/errors'
import { newId } from '../../../lib/new-id'
import { systemNow } from '../../../lib/system-clock'
import type { Scope } from '../../../platform/context'
import type { UserState } from '../../../rules/state'
import { parseUser, userStatement } from '../../../store/users/users.sql.ts'
import type { Notification } from '../notification'
import { template } from '../template.resource'
import { titleIn } from '../templates.rules'
import { textOfHtml } from './plain-text.rules'
import { composer, sampleReason } from './render'

/** The user for the preview of a template. */
export const PreviewTemplateRequest = z.object({ userId: UserId }).meta({ id: 'PreviewTemplateRequest' })

/** A template that is not stored, and the user for its preview. */
export const PreviewDraftRequest = z
  .object({ userId: UserId, template: template.CreateItem })
  .meta({ id: 'PreviewDraftRequest' })

/**
 * The notification that a user would get: subject, HTML, text and headers of an email, or title and text of a
 * push message.
 */
export const PreviewTemplateResponse = withIssues(
  'PreviewTemplateResponse',
  z.object({
    channel: z.enum(NOTIFICATION_CHANNELS),
    subject: z.string().optional(),
    title: z.string().optional(),
    body: z.string(),
    text: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
  }),
)

/**
 * The message that a user would get by a template: from the user's real state, or with an invented reason.
 * Throws 422 if there is no such user, or the template can't be rendered.
 */
export async function messageTo(
  scope: Scope,
  template: Template,
  userId: string,
): Promise<{ user: UserState; message: Notification }> {
  const { databases, tenant, now } = scope
  const db = databases.usersOf(tenant.id).of(userId)
  const config = await configurationOf(scope)
  const result = await db.run(userStatement(db, userId, systemNow()))
  const user = parseUser(result)
  if (user === null) {
    throw errors.invalid([{ path: 'userId', message: 'must be the id of an existing user' }])
  }
  const reason = sampleReason(config, user, template.type, now)
  const compose = await composer(scope)
  const message = await compose({ config, template, user, reason, now })
  const { fault } = message
  if (fault !== undefined) throw errors.unprocessable(`The template can't be rendered. ${fault}.`)
  return { user, message }
}

/** A preview of a notification. Throws 422 like `messageTo`. */
export async function previewTemplate(
  scope: Scope,
  template: Template,
  { userId }: z.output<typeof PreviewTemplateRequest>,
): Promise<z.infer<typeof PreviewTemplateResponse>> {
  const { message } = await messageTo(scope, template, userId)
  const { channel, title, body, headers } = message
  return channel === 'push'
    ? { channel, title, body }
    : { channel, subject: title, body, text: textOfHtml(body), headers }
}

/** A preview of a notification by a template that is not stored. Throws 422 like `previewTemplate`. */
export async function previewDraft(
  scope: Scope,
  { userId, template: given }: z.output<typeof PreviewDraftRequest>,
): Promise<z.infer<typeof PreviewTemplateResponse>> {
  const { now, origin } = scope
  const { subject, title, userAttributes, ...fields } = given
  return previewTemplate(
    scope,
    {
      ...fields,
      id: newId(now),
      created: now,
      updated: now,
      key: templateKey(given),
      title: titleIn({ subject, title }, fields.channel) ?? '',
      userAttributes: userAttributes ?? [],
      origin: origin ?? '',
    },
    { userId },
  )
}
