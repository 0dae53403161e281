import { DEMO_KINDS, type DemoKind } from '../api/shapes/example-kinds.types'
import { configurationOf } from '../configuration/configuration.service'
import type { Configuration, System } from '../configuration/configuration.types'
import { listAdminKeys, listApplicationKeys } from '../features/account/keys.service'
import { firstBatch } from '../features/events/batches/inbox.repository'
import { newestEvent } from '../features/support/voids.repository'
import { addDays } from '../lib/civil'
import type { Instant } from '../lib/clock'
import { ApiError } from '../lib/errors'
import { systemNow } from '../lib/system-clock'
import { civilDateAt } from '../lib/zone'
import type { Context, Scope } from '../platform/context'
import type { StoredAward } from '../rules/points/award.types'
import { newestAwards } from '../store/awards.repository'
import { findUser } from '../store/find-user.service'
import { listDeliveries } from '../webhooks/deliveries.service'
import { enterDemo, hasDemo } from './demo.service'

/** Functions that return an id by a name, for each kind. Undefined if the demo has no such item. */
type Lookups = Readonly<Record<DemoKind, (name: string) => string | undefined>>

/** The id in examples if there is no demo, or if the named item was deleted from it. */
const SAMPLE_ID = '01900000-0000-7000-8000-000000000000'
/** A placeholder in a document for an item of the demo, such as `"demo:metric:demo-lessons"`. */
const NAME = /"demo:(\w+):([^"]*)"/g

/**
 * Fills the examples in an OpenAPI document, given as JSON: ids by the named items of the demo, dates by
 * their distance from today in days.
 */
export async function filledExamples(ctx: Context, document: string): Promise<string> {
  const scope = hasDemo(ctx) ? await enterDemo(ctx) : null
  const lookups = scope && (await lookupsIn(scope))
  const now = scope?.now ?? systemNow()
  return document.replaceAll(NAME, (_, kind, name) => JSON.stringify(filledIn(lookups, now, kind, name)))
}

function filledIn(lookups: Lookups | null, now: Instant, kind: string, name: string): string {
  if (kind === 'day') return addDays(civilDateAt(now, 0), Number(name))
  const known = DEMO_KINDS.find((one) => one === kind)
  return (known && lookups?.[known](name)) ?? SAMPLE_ID
}

/** Reads the items of the demo that the examples can name. */
async function lookupsIn(scope: Scope): Promise<Lookups> {
  const config = await configurationOf(scope)
  const webhook = config.webhooks.find(({ status }) => status === 'active')
  const page = { limit: 100, skip: 0 }
  const xp = config.systems.find(({ key }) => key === 'demo-xp')
  const [batch, event, paused, awards, applicationKeys, adminKeys, deliveries] = await Promise.all([
    firstBatch(scope.db),
    newestEvent(scope.databases.ofUser(scope.tenant.id, 'demo-ada'), 'demo-ada'),
    findUser(scope, 'demo-grace').catch(nobody),
    xp === undefined ? [] : awardsOf(scope, 'demo-ada', xp),
    listApplicationKeys(scope, page),
    listAdminKeys(scope, page),
    webhook && listDeliveries(scope, webhook.id, page),
  ])
  return {
    ...configured(config),
    batch: () => batch ?? undefined,
    event: () => event ?? undefined,
    pause: () => paused?.streak.pauses[0]?.id,
    award: () => awards[0]?.id,
    applicationKey: (name) => applicationKeys.find(({ userId }) => userId === name)?.id,
    adminKey: (name) => adminKeys.find((key) => key.name === name)?.id,
    delivery: () => deliveries?.items.at(-1)?.id,
  }
}

/** The newest award of a user of the demo in a system. */
async function awardsOf(scope: Scope, userId: string, system: System): Promise<StoredAward[]> {
  const user = await findUser(scope, userId).catch(nobody)
  const db = scope.databases.ofUser(scope.tenant.id, userId)
  return user === null ? [] : newestAwards(db, user, system.id, 1)
}

/** Returns null for the 404 of an erased user. Throws all other errors. */
function nobody(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}

/** Lookups of configured items, by key or by another property that is unique in the demo. */
function configured(config: Configuration) {
  const { attributes, metrics, achievements, leaderboards, webhooks, templates, systems } = config
  const byKey = (list: readonly { id: string; key: string }[]) => (name: string) =>
    list.find(({ key }) => key === name)?.id
  const [xp] = systems.filter(({ key }) => key === 'demo-xp')
  return {
    attribute: byKey(attributes),
    metric: byKey(metrics),
    achievement: byKey(achievements),
    leaderboard: byKey(leaderboards),
    system: byKey(systems),
    level: byKey(xp?.levels ?? []),
    trigger: (name: string) => xp?.triggers.find(({ status }) => status === name)?.id,
    boost: (name: string) => xp?.boosts.find((boost) => boost.name === name)?.id,
    webhook: (name: string) => webhooks.find(({ status }) => status === name)?.id,
    template: (name: string) => templates.find(({ channel }) => channel === name)?.id,
  }
}
