import type * as z from 'zod'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import type { Configuration, Template } from '../../configuration/configuration.types'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  keysIn,
  type ListedPage,
  type Names,
  page,
  updateEach,
} from '../../configuration/drafts.rules'
import { withIds } from '../../configuration/references.rules'
import { instant, iso } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import type { UserState } from '../../rules/state'
import { parseUser, userStatement } from '../../store/users/users.sql.ts'
import type { Notification } from './notification'
import type {
  AdminTemplate,
  CreateTemplateRequestItem,
  PreviewDraftRequest,
  PreviewTemplateRequest,
  PreviewTemplateResponse,
  UpdateTemplateRequestItem,
} from './notifications.schemas'
import { listenerStatements } from './schedule'
import { textOfHtml } from './templates/plain-text.rules'
import { composer, sampleReason } from './templates/render'
import { storeTemplates } from './templates.repository'
import { templateFrom, templatePatched, templateProblem } from './templates.rules'

const WHAT = 'a template'

function templateResponse(template: Template): z.infer<typeof AdminTemplate> {
  const { id, key, type, channel, title, body, status, created, updated } = template
  return {
    id,
    key,
    type,
    channel,
    ...titled(template.channel, title),
    body,
    userAttributes: [...template.userAttributes],
    status,
    created: iso(instant(created)),
    updated: iso(instant(updated)),
  }
}

/** The title, in the field of its channel. */
const titled = (channel: Template['channel'], title: string) =>
  channel === 'email' ? { subject: title } : { title }

/** A page of the tenant's templates, oldest first (G7). */
export async function listTemplates(scope: Scope, query: ListedPage) {
  const { templates } = await configurationOf(scope)
  return page(templates, query).map(templateResponse)
}

/** A template, by its id or key (O1). Throws 404 if there is none. */
export async function findTemplate(scope: Scope, idOrKey: string): Promise<Template> {
  const { templates } = await configurationOf(scope)
  return byIdOrKey(templates, idOrKey, 'This template')
}

/** A template for the response. Throws 404. */
export const getTemplate = async (scope: Scope, id: string) => templateResponse(await findTemplate(scope, id))

function configureTemplates<T>(
  scope: Scope,
  change: (config: Configuration, draft: Draft<Template>) => T,
): Promise<T> {
  return configure(scope, (config) => {
    const draft = new Draft(config.templates)
    const result = change(config, draft)
    const eventWrites = listenerStatements(scope.db, config, { ...config, templates: draft.list }, scope.now)
    const audit = entriesOf('notification_template', draft.changes, templateResponse)
    const statements = storeTemplates(scope, config.templates, draft)
    return { statements, beside: eventWrites, audit, result }
  })
}

/** Creates templates (G7, N3). */
export function createTemplates(scope: Scope, items: readonly z.output<typeof CreateTemplateRequestItem>[]) {
  const { now, origin } = scope
  return configureTemplates(scope, (config, draft) => {
    const { created, issues } = createEach(draft, items, (asked) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const made = templateFrom(newId(now), now, origin ?? '', item, keysIn(draft.list))
      return templateProblem({ ...config, templates: draft.list }, made) ?? made
    })
    return { created: created.map(templateResponse), issues }
  })
}

/** Changes templates (G7, N3). */
export function updateTemplates(scope: Scope, items: readonly z.output<typeof UpdateTemplateRequestItem>[]) {
  const { now, origin } = scope
  return configureTemplates(scope, (config, draft) => {
    const { updated, issues } = updateEach(draft, items, WHAT, (before, asked) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const made = templatePatched(before, now, origin ?? before.origin, item)
      return templateProblem({ ...config, templates: draft.list }, made) ?? made
    })
    return { updated: updated.map(templateResponse), issues }
  })
}

/** Deletes templates. */
export function deleteTemplates(scope: Scope, names: Names) {
  return configureTemplates(scope, (_config, draft) => deleteEach(draft, names, WHAT))
}

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
  { userId, template }: z.output<typeof PreviewDraftRequest>,
): Promise<z.infer<typeof PreviewTemplateResponse>> {
  const { now, origin } = scope
  const draft = templateFrom(newId(now), now, origin ?? '', template, new Set())
  return previewTemplate(scope, draft, { userId })
}
