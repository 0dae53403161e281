import { enterAs } from '../access/access'
import { IMPLICIT_TENANT_ID } from '../access/tenants.sql.ts'
import { DEMO_KINDS } from '../api/shapes/events'
import { configurationOf, presentConfiguration } from '../configuration/configuration'
import type { Configuration, System } from '../configuration/model'
import { LISTS } from '../configuration/tables.sql.ts'
import {
  createAdminKeys,
  createApplicationKeys,
  listAdminKeys,
  listApplicationKeys,
} from '../features/account/keys'
import { updateSettings } from '../features/account/settings.routes'
import { achievement } from '../features/achievements/achievement.resource'
import { acceptBatch } from '../features/events/batches/batches.routes'
import { firstBatch } from '../features/events/batches/batches.sql.ts'
import { template } from '../features/notifications/template.resource'
import { system } from '../features/points/system.resource'
import { createPauses } from '../features/streaks/admin'
import { updateStreakSettings } from '../features/streaks/admin.routes'
import { newestEvent } from '../features/support/voids.sql.ts'
import { identifyUser } from '../features/users/users.routes'
import { leaderboard } from '../leaderboards/leaderboard.resource'
import type { Instant } from '../lib/clock'
import { nullIfNotFound } from '../lib/errors'
import { systemNow } from '../lib/system-clock'
import { addDays, type CivilDate, civilDateAt } from '../lib/zone'
import type { Context, Scope } from '../platform/context'
import type { StoredAward } from '../rules/points/points.rules'
import { newestAwards } from '../store/awards.sql.ts'
import { findUser } from '../store/users/users.sql.ts'
import { listDeliveries, sendSample } from '../webhooks/webhooks.routes'
import * as demo from './demo'
import { webhook as webhooks } from './jobs'
import { firstResources } from './operations'

/** A part of the demo's configuration: whether it exists, and the function that creates it. */
type Step = {
  isDone: (config: Configuration) => boolean
  make: (scope: Scope, config: Configuration, today: CivilDate) => Promise<unknown>
}

/** Each step is one change of the configuration, after earlier steps. The last completes the demo. */
const STEPS: readonly Step[] = [
  ...firstResources.map((one) => one.demo),
  {
    isDone: ({ streaks }) => streaks.metrics.length > 0 || streaks.freezes !== null,
    make: (scope) => updateStreakSettings(scope, demo.streaks()),
  },
  {
    isDone: ({ achievements }) => achievements.length > 0,
    make: (scope, config) => achievement.create(scope, demo.achievementsFor(demo.idsOf(config))),
  },
  {
    isDone: ({ systems }) => systems.length > 0,
    make: (scope, config, today) => system.create(scope, demo.systemsFor(demo.idsOf(config), today)),
  },
  {
    isDone: ({ settings }) => settings.branding.appUrl !== '',
    make: (scope) => updateSettings(scope, demo.settings()),
  },
  {
    isDone: ({ templates }) => templates.length > 0,
    make: (scope) => template.create(scope, demo.templates()),
  },
  {
    isDone: ({ leaderboards }) => leaderboards.length > 0,
    make: async (scope, config, today) => {
      await populate(scope, config, today)
      await leaderboard.create(scope, demo.leaderboardsFor(demo.idsOf(config), today))
    },
  },
]

/** Whether this deployment has the demo. */
export const hasDemo = ({ variables }: Pick<Context, 'variables'>): boolean =>
  variables.DEMO === 'on' && variables.MULTI_TENANCY === 'off'

/** Enters the tenant of the demo as an admin, for work without a request and its key. */
export const enterDemo = (ctx: Context): Promise<Scope> => enterAs(ctx, 'DEMO', IMPLICIT_TENANT_ID)

/** Whether the demo must still be loaded: nothing but its first steps was ever configured. */
export function isDemoDue(ctx: Pick<Context, 'variables'>, config: Configuration): boolean {
  const done = STEPS.map(({ isDone }) => isDone(config))
  const first = done.indexOf(false)
  const { attributes, metrics, achievements, systems, leaderboards } = config
  const keyed = [...attributes, ...metrics, ...achievements, ...systems, ...leaderboards]
  return (
    hasDemo(ctx) &&
    config.version <= STEPS.length &&
    first >= 0 &&
    done.lastIndexOf(true) < first &&
    keyed.every(({ key }) => key.startsWith('demo-'))
  )
}

/** Loads the demo, unless something else was configured. Goes on with an interrupted attempt. */
export async function loadDemo(scope: Scope): Promise<void> {
  const config = await configurationOf(scope)
  if (!isDemoDue(scope, config)) return
  const today = civilDateAt(scope.now, 0)
  let present = config
  for (const { isDone, make } of STEPS) {
    if (isDone(present)) continue
    await make(at(scope, present), present, today)
    present = await presentConfiguration(scope)
  }
}

/** The scope with a configuration that is newer than the one with which it was entered. */
const at = (scope: Scope, { version }: Configuration): Scope => ({
  ...scope,
  tenant: { ...scope.tenant, configVersion: version },
})

async function populate(scope: Scope, config: Configuration, today: CivilDate): Promise<void> {
  for (const { id, ...profile } of demo.users()) await identifyUser(scope, id, profile)
  await acceptBatch(scope, demo.events())
  await createPauses(scope, demo.pausesFor(today))
  await createApplicationKeys(scope, demo.APPLICATION_KEYS)
  await createAdminKeys(scope, demo.ADMIN_KEYS)
  // The URLs of these webhooks are on this machine, which only the test clock allows (W1).
  if (scope.variables.TEST_CLOCK === 'off' || config.webhooks.length > 0) return
  await webhooks.create(scope, demo.webhooks())
  const present = await presentConfiguration(scope)
  const active = present.webhooks.find(({ status }) => status === 'active')
  if (active !== undefined) await sendSample(at(scope, present), active, 'leaderboard.finished')
}

/** Functions that return an id by a name, for each kind. Undefined if the demo has no such item. */
type Lookups = Readonly<Record<(typeof DEMO_KINDS)[number], (name: string) => string | undefined>>

/** The things of the demo that examples can name. */
type Found = { config: Configuration; lookups: Lookups }

/** The id in examples if there is no demo, or if the named item was deleted from it. */
const SAMPLE_ID = '01900000-0000-7000-8000-000000000000'
/** A placeholder in a document for an item of the demo, such as `"demo:metrics:demo-lessons"`. */
const NAME = /"demo:(\w+):([^"]*)"/g

/** Fills the examples of an OpenAPI document, as JSON: ids of the demo, and dates that begin today. */
export async function filledExamples(ctx: Context, document: string): Promise<string> {
  const scope = hasDemo(ctx) ? await enterDemo(ctx) : null
  const found = scope && (await foundIn(scope))
  const now = scope?.now ?? systemNow()
  return document.replaceAll(NAME, (_, kind, name) => JSON.stringify(filledIn(found, now, kind, name)))
}

const isList = (kind: string): kind is keyof typeof LISTS => Object.hasOwn(LISTS, kind)

function filledIn(found: Found | null, now: Instant, kind: string, name: string): string {
  if (kind === 'day') return addDays(civilDateAt(now, 0), Number(name))
  const known = DEMO_KINDS.find((one) => one === kind)
  const find = isList(kind) ? found && byKey(found.config[kind]) : known && found?.lookups[known]
  return find?.(name) ?? SAMPLE_ID
}

async function foundIn(scope: Scope): Promise<Found> {
  const config = await configurationOf(scope)
  const webhook = config.webhooks.find(({ status }) => status === 'active')
  const page = { limit: 100, skip: 0 }
  const xp = config.systems.find(({ key }) => key === 'demo-xp')
  const [batch, event, paused, awards, applicationKeys, adminKeys, deliveries] = await Promise.all([
    firstBatch(scope.db),
    newestEvent(scope.databases.usersOf(scope.tenant.id).of('demo-ada'), 'demo-ada'),
    findUser(scope, 'demo-grace').catch(nullIfNotFound),
    xp === undefined ? [] : awardsOf(scope, 'demo-ada', xp),
    listApplicationKeys(scope, page),
    listAdminKeys(scope, page),
    webhook && listDeliveries(scope, webhook.id, page),
  ])
  const lookups: Lookups = {
    ...configured(config),
    batch: () => batch ?? undefined,
    event: () => event ?? undefined,
    pause: () => paused?.streak.pauses[0]?.id,
    award: () => awards[0]?.id,
    applicationKey: (name) => applicationKeys.find(({ userId }) => userId === name)?.id,
    adminKey: (name) => adminKeys.find((key) => key.name === name)?.id,
    delivery: () => deliveries?.items.at(-1)?.id,
  }
  return { config, lookups }
}

async function awardsOf(scope: Scope, userId: string, system: System): Promise<StoredAward[]> {
  const user = await findUser(scope, userId).catch(nullIfNotFound)
  const db = scope.databases.usersOf(scope.tenant.id).of(userId)
  return user === null ? [] : newestAwards(db, user, system.id, 1)
}

const byKey = (list: readonly { id: string; key: string }[]) => (name: string) =>
  list.find(({ key }) => key === name)?.id

/** Lookups of configured items, by key or by another property that is unique in the demo. */
function configured(config: Configuration) {
  const { webhooks, templates, systems } = config
  const [xp] = systems.filter(({ key }) => key === 'demo-xp')
  return {
    system: byKey(systems),
    level: byKey(xp?.levels ?? []),
    trigger: (name: string) => xp?.triggers.find(({ status }) => status === name)?.id,
    boost: (name: string) => xp?.boosts.find((boost) => boost.name === name)?.id,
    webhook: (name: string) => webhooks.find(({ status }) => status === name)?.id,
    template: (name: string) => templates.find(({ channel }) => channel === name)?.id,
  }
}
