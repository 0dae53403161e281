import * as z from 'zod'
import { enterAs } from '../access/access'
import { entriesOf, HIDDEN } from '../configuration/audit.rules'
import { configurationOf, configure } from '../configuration/configuration'
import type { Configuration, Webhook } from '../configuration/configuration.types'
import { freeKey, keyTaken, webhookKey } from '../configuration/derived-keys.rules'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  keysIn,
  type ListedPage,
  type Names,
  page,
  revised,
  updateEach,
} from '../configuration/drafts.rules'
import { DAY, type Instant, instant, iso } from '../lib/clock'
import { errors, type FieldError, throwIfInvalid } from '../lib/errors'
import { MOST_ITEMS, MOST_URL_CHARACTERS, MOST_WEBHOOKS } from '../lib/limits'
import { type Target, targetOf, targetRules } from '../lib/net'
import { newId } from '../lib/new-id'
import type { Scope, TenantContext } from '../platform/context'
import type { Statement, TenantDatabase } from '../platform/database'
import { logProblem } from '../platform/log'
import { schedule } from '../time/due-work.sql.ts'
import { newSecret } from './channel'
import { nameOf } from './delivery/messages'
import { clearDeliveryQueues, refreshDeliveryQueues } from './delivery/queue'
import { storeWebhooks } from './webhooks.repository'
import type {
  AdminWebhook,
  CreatedWebhook,
  CreateWebhookRequestItem,
  UpdateWebhookRequestItem,
} from './webhooks.schemas'

const WHAT = 'a webhook'
const THIS = 'This webhook'

/** A webhook in a response, without its secret (W1). */
function webhookResponse({
  id,
  key,
  url,
  events,
  status,
  goneAt,
  previous,
  created,
  updated,
}: Webhook): z.infer<typeof AdminWebhook> {
  return {
    id,
    key,
    url,
    events: [...events],
    status,
    goneAt: goneAt === null ? null : iso(instant(goneAt)),
    previousSecretEnds: previous && iso(instant(previous.until)),
    created: iso(instant(created)),
    updated: iso(instant(updated)),
  }
}

/** The same with the secret, for the only responses that show it. */
function withSecret(webhook: Webhook): z.infer<typeof CreatedWebhook> {
  return { ...webhookResponse(webhook), secret: webhook.secret }
}

/** The target of a URL. Loopback targets are for development (W1). */
function targetIn({ variables }: Scope, url: string): Target {
  return targetOf(url, targetRules(variables))
}

/** Longer lists and URLs are skipped here, because the schemas reject them. */
const GivenItems = z.array(z.unknown()).max(MOST_ITEMS).catch([])
const GivenUrl = z.object({ url: z.string().max(MOST_URL_CHARACTERS) })

/** Every target that is not allowed, in the body of a create or update request of any shape (G3, W1). */
export function targetErrors(scope: Scope, json: unknown): FieldError[] {
  return GivenItems.parse(json).flatMap((item, index) => {
    const given = GivenUrl.safeParse(item)
    const target = given.success ? targetIn(scope, given.data.url) : undefined
    return target !== undefined && 'refused' in target
      ? [{ path: `${index}.url`, message: target.refused }]
      : []
  })
}

/** The target as it is stored. Throws 422 if it is not allowed; `targetErrors` finds that before. */
function stored(scope: Scope, url: string): string {
  const target = targetIn(scope, url)
  if ('refused' in target) throw errors.invalid([{ path: 'url', message: target.refused }])
  return target.url
}

/** The entries of the audit log about the changes of a draft (Z1). */
const audited = ({ changes }: Draft<Webhook>) => entriesOf('webhook', changes, webhookResponse)

/** Statements of a change of the configuration, for new listeners to get events in time (N5, W6). */
export type ListenerStatements = (
  db: TenantDatabase,
  before: Configuration,
  after: Configuration,
  now: Instant,
) => Statement[]

function stores(
  scope: Scope,
  listeners: ListenerStatements,
  config: Configuration,
  draft: Draft<Webhook>,
  called: readonly Statement[] = [],
) {
  const eventWrites = listeners(scope.db, config, { ...config, webhooks: draft.list }, scope.now)
  return {
    statements: storeWebhooks(scope, config.webhooks, draft),
    beside: [...eventWrites, ...called],
    audit: audited(draft),
  }
}

/** A page of the tenant's webhooks, oldest first (G7). */
export async function listWebhooks(scope: Scope, query: ListedPage) {
  const { webhooks } = await configurationOf(scope)
  return page(webhooks, query).map(webhookResponse)
}

/** A webhook, by its id or key (O1). Throws 404 if there is none. */
export async function findWebhook(scope: Scope, idOrKey: string) {
  const { webhooks } = await configurationOf(scope)
  return webhookResponse(byIdOrKey(webhooks, idOrKey, THIS))
}

/** Creates webhooks, and shows the secret of each. A webhook above the limit is an issue (G7, W1). */
export async function createWebhooks(
  scope: Scope,
  listeners: ListenerStatements,
  items: readonly z.output<typeof CreateWebhookRequestItem>[],
) {
  throwIfInvalid(targetErrors(scope, items))
  const { now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const { created, issues } = createEach(draft, items, ({ key, url, events, status }) => {
      if (draft.list.length >= MOST_WEBHOOKS) {
        return `The limit of ${MOST_WEBHOOKS} webhooks is reached. Delete one first.`
      }
      const target = stored(scope, url)
      const taken = keysIn(draft.list)
      if (key !== undefined && taken.has(key)) return keyTaken(key, 'webhook')
      return {
        id: newId(now),
        created: now,
        updated: now,
        key: key ?? freeKey(webhookKey({ url: target }), taken),
        url: target,
        events,
        status,
        secret: newSecret(),
        previous: null,
        goneAt: null,
      }
    })
    return {
      ...stores(scope, listeners, config, draft),
      result: { created: created.map(withSecret), issues },
    }
  })
}

const destinationsOf = ({ db }: Pick<Scope, 'db'>, ids: readonly string[]) =>
  ids.map((webhookId) => ({ kind: 'webhook', tenantId: db.tenantId, webhookId }) as const)

/** Due work that calls the delivery queues, in case the call after the change is lost. */
const calls = (scope: Scope, ids: readonly string[]) =>
  destinationsOf(scope, ids).map((one) =>
    schedule(scope.db, 'delivery', { at: scope.now, subject: nameOf(one) }),
  )

/**
 * Changes webhooks. The secret stays. Deliveries that wait for an inactive webhook are sent when it is active
 * again (G7, W1).
 */
export async function updateWebhooks(
  scope: Scope,
  listeners: ListenerStatements,
  items: readonly z.output<typeof UpdateWebhookRequestItem>[],
) {
  throwIfInvalid(targetErrors(scope, items))
  const { changed, ...result } = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const { updated, issues } = updateEach(
      draft,
      items,
      WHAT,
      (before, { key = before.key, url, events, status }) => {
        if (draft.list.some((other) => other.id !== before.id && other.key === key)) {
          return keyTaken(key, 'webhook')
        }
        return revised(
          before,
          {
            ...before,
            key,
            url: url === undefined ? before.url : stored(scope, url),
            events: events ?? before.events,
            status: status ?? before.status,
            goneAt: status === 'active' ? null : before.goneAt,
          },
          scope.now,
        )
      },
    )
    const changed = draft.changed.map(({ id }) => id)
    const active = draft.changed.filter(({ status }) => status === 'active').map(({ id }) => id)
    return {
      ...stores(scope, listeners, config, draft, calls(scope, active)),
      result: { updated: updated.map(webhookResponse), issues, changed },
    }
  })
  await refreshDeliveryQueues(scope, destinationsOf(scope, changed))
  return result
}

/** Deletes webhooks, with their deliveries. */
export async function deleteWebhooks(scope: Scope, names: Names) {
  const { removed, ...result } = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const outcome = deleteEach(draft, names, WHAT)
    return {
      statements: storeWebhooks(scope, config.webhooks, draft),
      beside: calls(scope, draft.removed),
      audit: audited(draft),
      result: { ...outcome, removed: draft.removed },
    }
  })
  await clearDeliveryQueues(scope, destinationsOf(scope, removed))
  return result
}

/**
 * Gives a webhook a new secret, and shows it. The one before signs too for a day, unless it ends at once. One
 * that was replaced earlier ends now. Throws 404 (W1).
 */
export async function rotateSecret(
  scope: Scope,
  id: string,
  endPrevious: boolean,
): Promise<z.infer<typeof CreatedWebhook>> {
  const result = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const before = byIdOrKey(config.webhooks, id, THIS)
    const previous = endPrevious ? null : { secret: before.secret, until: scope.now + DAY }
    const webhook = { ...before, secret: newSecret(), previous, updated: scope.now }
    draft.put(webhook)
    const audit = entriesOf('webhook', draft.changes, withSecret).map((entry) => ({
      ...entry,
      ...{ action: 'rotate' as const, fields: { ...entry.fields, secret: HIDDEN } },
    }))
    const statements = storeWebhooks(scope, config.webhooks, draft)
    return { statements, audit, result: withSecret(webhook) }
  })
  await refreshDeliveryQueues(scope, destinationsOf(scope, [id]))
  return result
}

/**
 * Makes a webhook inactive, since its receiver has answered 410 at a moment. Does nothing if its URL or its
 * status was changed meanwhile. The actor in the audit log is RECEIVER (W4, Z1).
 */
export async function switchOff(context: TenantContext, { id, url }: Webhook, now: Instant): Promise<void> {
  const { tenantId: tenant } = context.db
  const scope = { ...(await enterAs(context, 'RECEIVER', tenant)), now }
  const isChanged = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const before = draft.find(id)
    if (before?.url === url && before.status === 'active')
      draft.put({ ...before, status: 'inactive', goneAt: now, updated: now })
    const statements = storeWebhooks(scope, config.webhooks, draft)
    return { statements, audit: audited(draft), result: draft.changed.length > 0 }
  })
  if (isChanged) logProblem('warn', { tenant, queue: `webhook:${id}`, error: 'switched off after a 410' })
  await refreshDeliveryQueues(scope, destinationsOf(scope, [id]))
}
