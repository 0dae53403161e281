import * as z from 'zod'
import { configurationOf, configure } from '../../config/configuration.service'
import { type Configuration, MOST_WEBHOOKS, type Webhook } from '../../config/configuration.types'
import { byId, createEach, Draft, deleteEach, page, revised, updateEach } from '../../config/drafts.rules'
import { nameOf } from '../../delivery/queue.messages'
import { clearDeliveryQueues, refreshDeliveryQueues } from '../../delivery/queue.service'
import { makeDue } from '../../jobs/due-work.repository'
import { instant, iso } from '../../lib/clock'
import { errors, type FieldError, throwIfInvalid } from '../../lib/errors'
import { TARGET_MAX, type Target, targetOf, targetRules } from '../../lib/net/webhook-targets'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../runtime/context'
import { listenerStatements } from '../notifications/schedule/listening.service'
import { newSecret } from './secrets.service'
import { storeWebhooks } from './webhooks.repository'
import type {
  AdminWebhook,
  CreatedWebhook,
  CreateWebhookRequestItem,
  UpdateWebhookRequestItem,
} from './webhooks.schemas'

/** What issues call a webhook, and what a 404 does. */
const WHAT = 'a webhook'
const THIS = 'This webhook'

/** A webhook as it is served: without its secret (W1). */
function webhookResponse({
  id,
  url,
  events,
  status,
  created,
  updated,
}: Webhook): z.infer<typeof AdminWebhook> {
  return {
    id,
    url,
    events: [...events],
    status,
    created: iso(instant(created)),
    updated: iso(instant(updated)),
  }
}

/** The same with the secret, for the one answer that shows it. */
function withSecret(webhook: Webhook): z.infer<typeof CreatedWebhook> {
  return { ...webhookResponse(webhook), secret: webhook.secret }
}

/** Loopback targets are for development (W1). */
function targetIn({ variables }: Scope, url: string): Target {
  return targetOf(url, targetRules(variables))
}

/** What is longer than the schemas have it, they refuse by themselves. */
const GivenItems = z.array(z.unknown()).max(100).catch([])
const GivenUrl = z.object({ url: z.string().max(TARGET_MAX) })

/** What is wrong with the targets in the body of a create or an update, whatever its shape: every one that is not allowed (G3, W1). */
export function targetErrors(scope: Scope, json: unknown): FieldError[] {
  return GivenItems.parse(json).flatMap((item, index) => {
    const given = GivenUrl.safeParse(item)
    const target = given.success ? targetIn(scope, given.data.url) : undefined
    return target !== undefined && 'refused' in target
      ? [{ path: `${index}.url`, message: target.refused }]
      : []
  })
}

/** The target as it is stored. Throws 422 if it is none, which `targetFaults` finds before. */
function stored(scope: Scope, url: string): string {
  const target = targetIn(scope, url)
  if ('refused' in target) throw errors.invalid([{ path: 'url', message: target.refused }])
  return target.url
}

/** The statements for webhooks; what somebody listens to from now on is told in time (N5, W6). */
function stores(
  scope: Scope,
  config: Configuration,
  draft: Draft<Webhook>,
  called: readonly D1PreparedStatement[] = [],
) {
  const eventWrites = listenerStatements(scope.db, config, { ...config, webhooks: draft.list }, scope.now)
  return { statements: storeWebhooks(scope, draft), beside: [...eventWrites, ...called] }
}

/** A page of the tenant's webhooks, oldest first (G7). */
export async function listWebhooks(scope: Scope, query: { limit: number; skip: number }) {
  const { webhooks } = await configurationOf(scope)
  return page(webhooks, query).map(webhookResponse)
}

/** A webhook. Throws 404 where there is none of this id. */
export async function findWebhook(scope: Scope, id: string) {
  const { webhooks } = await configurationOf(scope)
  return webhookResponse(byId(webhooks, id, THIS))
}

/** Creates webhooks, and shows the secret of each; one beyond the most is an issue (G7, W1). */
export async function createWebhooks(
  scope: Scope,
  items: readonly z.output<typeof CreateWebhookRequestItem>[],
) {
  throwIfInvalid(targetErrors(scope, items))
  const { now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const { created, issues } = createEach(draft, items, ({ url, events, status }) => {
      if (draft.list.length >= MOST_WEBHOOKS) {
        return `There are ${MOST_WEBHOOKS} webhooks, which is the most. Delete one first.`
      }
      return {
        id: newId(now),
        created: now,
        updated: now,
        url: stored(scope, url),
        events,
        status,
        secret: newSecret(),
      }
    })
    return {
      ...stores(scope, config, draft),
      result: { created: created.map(withSecret), issues },
    }
  })
}

/** Where the deliveries of webhooks go. */
const destinationsOf = ({ db }: Pick<Scope, 'db'>, ids: readonly string[]) =>
  ids.map((webhookId) => ({ kind: 'webhook', tenantId: db.tenantId, webhookId }) as const)

/** Has couriers called, should what tells them of a change be lost. */
const calls = (scope: Scope, ids: readonly string[]) =>
  destinationsOf(scope, ids).map((one) => makeDue(scope.db, 'delivery', nameOf(one), scope.now))

/** Changes webhooks; the secret stays. What waited for an inactive one is carried once it is active (G7, W1). */
export async function updateWebhooks(
  scope: Scope,
  items: readonly z.output<typeof UpdateWebhookRequestItem>[],
) {
  throwIfInvalid(targetErrors(scope, items))
  const { changed, ...result } = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const { updated, issues } = updateEach(draft, items, WHAT, (before, { url, events, status }) =>
      revised(
        before,
        {
          ...before,
          url: url === undefined ? before.url : stored(scope, url),
          events: events ?? before.events,
          status: status ?? before.status,
        },
        scope.now,
      ),
    )
    const changed = draft.changed.map(({ id }) => id)
    const active = draft.changed.filter(({ status }) => status === 'active').map(({ id }) => id)
    return {
      ...stores(scope, config, draft, calls(scope, active)),
      result: { updated: updated.map(webhookResponse), issues, changed },
    }
  })
  await refreshDeliveryQueues(scope, destinationsOf(scope, changed))
  return result
}

/** Deletes webhooks, with their deliveries. */
export async function deleteWebhooks(scope: Scope, ids: readonly string[]) {
  const { removed, ...result } = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const outcome = deleteEach(draft, ids, WHAT)
    return {
      statements: storeWebhooks(scope, draft),
      beside: calls(scope, draft.removed),
      result: { ...outcome, removed: draft.removed },
    }
  })
  await clearDeliveryQueues(scope, destinationsOf(scope, removed))
  return result
}

/** Gives a webhook a new secret, and shows it; nothing is signed with the old one any more. Throws 404 (W1). */
export async function rotateSecret(scope: Scope, id: string): Promise<z.infer<typeof CreatedWebhook>> {
  const result = await configure(scope, (config) => {
    const draft = new Draft(config.webhooks)
    const webhook = { ...byId(config.webhooks, id, THIS), secret: newSecret(), updated: scope.now }
    draft.put(webhook)
    return { statements: storeWebhooks(scope, draft), result: withSecret(webhook) }
  })
  await refreshDeliveryQueues(scope, destinationsOf(scope, [id]))
  return result
}
