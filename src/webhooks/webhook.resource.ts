import * as z from 'zod'
import { enterAs } from '../access/access'
import { defaulted, Timestamp } from '../api/fields'
import { byIdOrKey, keysIn } from '../api/resources/drafts.rules'
import { DERIVED_KEY, field, ID, required, shown } from '../api/resources/fields'
import { defineResource } from '../api/resources/resource'
import { entriesOf, HIDDEN } from '../configuration/audit.rules'
import { SUBSCRIPTIONS, SWITCH_STATUSES, subscriptions } from '../configuration/enumerations'
import { freeKey, keyTaken, webhookKey } from '../configuration/keys.rules'
import type { Configuration, Webhook } from '../configuration/model'
import { webhooks } from '../configuration/tables.sql.ts'
import { DAY, type Instant, instant, iso } from '../lib/clock'
import { errors, type FieldError } from '../lib/errors'
import { MOST_ITEMS, MOST_URL_CHARACTERS, MOST_WEBHOOKS } from '../lib/limits'
import { targetOf, targetRules } from '../lib/net'
import type { Scope, TenantContext } from '../platform/context'
import type { Statement, TenantDatabase } from '../platform/database'
import { answersOf, logProblem } from '../platform/log'
import { schedule } from '../time/due-work.sql.ts'
import { newSecret } from './channel'
import { Condition, nameOf } from './delivery/messages'
import { conditionOf, notifyDeliveryQueues } from './delivery/queue'

const MOST_GIVEN = 100
/** The most characters of a wrong name that a message repeats. */
const NAME_SHOWN = 100

/** `targetErrors` finds the URLs that are not allowed, because that depends on the deployment. */
const Url = z.string().max(MOST_URL_CHARACTERS).meta({ format: 'uri', minLength: 1 })

const EventName = z.enum(SUBSCRIPTIONS, {
  error: ({ input }) =>
    typeof input === 'string'
      ? `must be the name of an event or *, and ${JSON.stringify(input.slice(0, NAME_SHOWN))} is none`
      : 'must be the name of an event or *',
})

const Events = z.array(EventName).min(1).max(MOST_GIVEN).transform(subscriptions)
const Status = z.enum(SWITCH_STATUSES)

/** Longer lists and URLs are skipped here, because the schemas reject them. */
const GivenItems = z.array(z.unknown()).max(MOST_ITEMS).catch([])
const GivenUrl = z.object({ url: z.string().max(MOST_URL_CHARACTERS) })

const targetIn = ({ variables }: Scope, url: string) => targetOf(url, targetRules(variables))

/** Every target that is not allowed, in the body of a create or update request of any shape (G3, W1). */
function targetErrors(scope: Scope, json: unknown): FieldError[] {
  return GivenItems.parse(json).flatMap((item, index) => {
    const given = GivenUrl.safeParse(item)
    const target = given.success ? targetIn(scope, given.data.url) : undefined
    return target !== undefined && 'refused' in target
      ? [{ path: `${index}.url`, message: target.refused }]
      : []
  })
}

/** The target as it is stored. Throws 422 if it is not allowed; `targetErrors` finds that before. */
function storedTarget(scope: Scope, url: string): string {
  const target = targetIn(scope, url)
  if ('refused' in target) throw errors.invalid([{ path: 'url', message: target.refused }])
  return target.url
}

/** Statements of a change of the configuration, for new listeners to get events in time (N5, W6). */
type ListenerStatements = (
  db: TenantDatabase,
  before: Configuration,
  after: Configuration,
  now: Instant,
) => Statement[]

const destinationsOf = ({ db }: Pick<Scope, 'db'>, ids: readonly string[]) =>
  ids.map((webhookId) => ({ kind: 'webhook', tenantId: db.tenantId, webhookId }) as const)

const queueOf = ({ id }: Pick<Webhook, 'id'>) => `webhook:${id}`

/** How active webhooks do (W4), by their queues. Answers to writes don't have it. */
type Conditions = ReadonlyMap<string, Condition> | undefined

export function readConditions(scope: Scope, list: readonly Webhook[]): Promise<Conditions> {
  const active = list.filter(({ status }) => status === 'active')
  return answersOf('queue', active.map(queueOf), (queue) => conditionOf(scope, queue))
}

const moment = (at: number | null) => (at === null ? null : iso(instant(at)))

/** Webhooks (G7, W1). Only the answer to a create, and to a new secret, shows the secret. */
export const webhookResource = (listeners: ListenerStatements) =>
  defineResource({
    kind: 'webhook',
    id: 'admin_webhooks',
    path: '/webhooks',
    one: 'a webhook',
    many: 'webhooks',
    component: 'Webhook',
    list: 'webhooks',
    table: webhooks,
    columns: { cleared: { secret: '', previous: null } },
    fields: {
      id: ID,
      key: DERIVED_KEY,
      url: required(Url, z.string().meta({ format: 'uri' })),
      events: required(Events, z.array(z.enum(SUBSCRIPTIONS))),
      status: field(defaulted(Status, 'active'), Status, Status),
      goneAt: shown(Timestamp.nullable()),
      previousSecretEnds: shown(Timestamp.nullable()),
      health: shown(Condition.optional().nullable()),
      created: shown(Timestamp),
      updated: shown(Timestamp),
    },
    check: targetErrors,
    readShown: readConditions,
    show: ({ id, goneAt, previous, created, updated }, { facts }) => ({
      goneAt: moment(goneAt),
      previousSecretEnds: moment(previous?.until ?? null),
      health: facts && (facts.get(queueOf({ id })) ?? null),
      created: iso(instant(created)),
      updated: iso(instant(updated)),
    }),
    showOnce: {
      component: 'CreatedWebhook',
      fields: { secret: z.string() },
      of: ({ secret }) => ({ secret }),
      isSecret: true,
    },
    room: ({ draft: { list } }) =>
      list.length < MOST_WEBHOOKS
        ? null
        : `The limit of ${MOST_WEBHOOKS} webhooks is reached. Delete one first.`,
    make: (row, { scope, draft }) => {
      const url = storedTarget(scope, row.url)
      const taken = keysIn(draft.list)
      if (row.key !== undefined && taken.has(row.key)) return keyTaken(row.key, 'webhook')
      const key = row.key ?? freeKey(webhookKey({ url }), taken)
      return { ...row, key, url, secret: newSecret(), previous: null, goneAt: null }
    },
    /** The secret stays. Deliveries that wait for an inactive webhook are sent when it is active again. */
    patch: (after, { id, url }, { scope, draft }) => {
      if (draft.list.some((other) => other.id !== id && other.key === after.key))
        return keyTaken(after.key, 'webhook')
      const goneAt = after.status === 'active' ? null : after.goneAt
      // A target may have been allowed when it was set, and not be allowed any more.
      return { ...after, url: after.url === url ? url : storedTarget(scope, after.url), goneAt }
    },
    effects: ({ scope, config, draft: { list, changed, changes, removed } }) => {
      const { db, now } = scope
      const ids = changed.map(({ id }) => id)
      // Deliveries may wait for another address or status, but not for another secret.
      const active = changes.flatMap(({ before, after }) => {
        const isMoved = before?.url !== after?.url || before?.status !== after?.status
        return before !== null && after?.status === 'active' && isMoved ? after.id : []
      })
      // Due work calls the delivery queues, in case the call after the change is lost.
      const calls = destinationsOf(scope, [...active, ...removed]).map((one) =>
        schedule(db, 'delivery', { at: now, subject: nameOf(one) }),
      )
      return {
        beside: [...listeners(db, config, { ...config, webhooks: list }, now), ...calls],
        after: async () => {
          if (ids.length > 0) await notifyDeliveryQueues(scope, 'refresh', destinationsOf(scope, ids))
          if (removed.length > 0) await notifyDeliveryQueues(scope, 'forget', destinationsOf(scope, removed))
        },
      }
    },
  })

export type WebhookResource = ReturnType<typeof webhookResource>

/** Gives a webhook a new secret. The one before signs for a day, unless it ends at once (W1). */
export async function rotateSecret(
  resource: WebhookResource,
  scope: Scope,
  id: string,
  endPrevious: boolean,
) {
  const show = (webhook: Webhook) => ({
    ...resource.show(webhook, { now: scope.now, facts: undefined }),
    secret: webhook.secret,
  })
  const rotated = await resource.change(
    scope,
    ({ draft }) => {
      const before = byIdOrKey(draft.list, id, 'This webhook')
      const previous = endPrevious ? null : { secret: before.secret, until: scope.now + DAY }
      const webhook = { ...before, secret: newSecret(), previous, updated: scope.now }
      draft.put(webhook)
      return webhook
    },
    (changes) =>
      entriesOf('webhook', changes, show).map((entry) => ({
        ...entry,
        action: 'rotate',
        fields: { ...entry.fields, secret: HIDDEN },
      })),
  )
  return show(rotated)
}

/**
 * Makes a webhook inactive, since its receiver has answered 410 at a moment. Does nothing if the configuration is not
 * that of the attempt any more: then the answer may be older than the repair, and the next one decides. Times do not
 * tell, since a test clock stands still. The actor in the audit log is RECEIVER (W4, Z1).
 */
export async function switchOff(
  resource: WebhookResource,
  context: TenantContext,
  id: string,
  { version }: Pick<Configuration, 'version'>,
  now: Instant,
): Promise<void> {
  const { tenantId: tenant } = context.db
  const scope = { ...(await enterAs(context, 'RECEIVER', tenant)), now }
  const isChanged = await resource.change(scope, ({ config, draft }) => {
    const before = draft.find(id)
    if (config.version !== version || before?.status !== 'active') return false
    draft.put({ ...before, status: 'inactive', goneAt: now, updated: now })
    return true
  })
  if (isChanged) logProblem('warn', { tenant, queue: `webhook:${id}`, error: 'switched off after a 410' })
  else await notifyDeliveryQueues(scope, 'refresh', destinationsOf(scope, [id]))
}
