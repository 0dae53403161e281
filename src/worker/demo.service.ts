import { enterAs } from '../access/access.service'
import { IMPLICIT_TENANT_ID } from '../access/tenants.repository'
import { configurationOf, presentConfiguration } from '../configuration/configuration.service'
import type { Configuration } from '../configuration/configuration.types'
import { createAdminKeys, createApplicationKeys } from '../features/account/keys.service'
import { createAchievements } from '../features/achievements/achievements.admin.service'
import { acceptBatch } from '../features/events/batches/batch.service'
import { createAttributes } from '../features/metrics/attributes.service'
import { createMetrics } from '../features/metrics/metrics.service'
import { listenerStatements } from '../features/notifications/listening.service'
import { createTemplates } from '../features/notifications/templates.service'
import { createSystems } from '../features/points/systems.service'
import { updateStreakSettings } from '../features/streaks/settings.service'
import { createPauses } from '../features/streaks/streaks.admin.service'
import { identifyUser } from '../features/users/users.service'
import { createLeaderboards } from '../leaderboards/leaderboards.admin.service'
import type { CivilDate } from '../lib/civil'
import { civilDateAt } from '../lib/zone'
import type { Context, Scope } from '../platform/context'
import { sendSample } from '../webhooks/deliveries.service'
import { createWebhooks } from '../webhooks/webhooks.service'
import * as demo from './demo'

/** A part of the demo's configuration: whether it exists, and the function that creates it. */
type Step = {
  isDone: (config: Configuration) => boolean
  make: (scope: Scope, config: Configuration, today: CivilDate) => Promise<unknown>
}

/**
 * Each step is one change of the configuration, and may refer to earlier steps. The last one completes the
 * demo.
 */
const STEPS: readonly Step[] = [
  {
    isDone: ({ attributes }) => attributes.length > 0,
    make: (scope) => createAttributes(scope, demo.attributes()),
  },
  { isDone: ({ metrics }) => metrics.length > 0, make: (scope) => createMetrics(scope, demo.metrics()) },
  {
    isDone: ({ streaks }) => streaks.metrics.length > 0 || streaks.freezes !== null,
    make: (scope) => updateStreakSettings(scope, demo.streaks()),
  },
  {
    isDone: ({ achievements }) => achievements.length > 0,
    make: (scope, config) => createAchievements(scope, demo.achievementsFor(demo.idsOf(config))),
  },
  {
    isDone: ({ systems }) => systems.length > 0,
    make: (scope, config, today) => createSystems(scope, demo.systemsFor(demo.idsOf(config), today)),
  },
  {
    isDone: ({ templates }) => templates.length > 0,
    make: (scope) => createTemplates(scope, demo.templates()),
  },
  {
    isDone: ({ leaderboards }) => leaderboards.length > 0,
    make: async (scope, config, today) => {
      await populate(scope, config, today)
      await createLeaderboards(scope, demo.leaderboardsFor(demo.idsOf(config), today))
    },
  },
]

/** Whether this deployment has the demo. */
export const hasDemo = ({ variables }: Pick<Context, 'variables'>): boolean =>
  variables.DEMO === 'on' && variables.MULTI_TENANCY === 'off'

/** Enters the tenant of the demo as an admin, for work without a request and its key. */
export const enterDemo = (ctx: Context): Promise<Scope> => enterAs(ctx, 'DEMO', IMPLICIT_TENANT_ID)

/**
 * Whether the demo must still be loaded: nothing was ever configured, except the first steps of the demo
 * itself.
 */
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

/**
 * Loads the demo, unless something else was configured. Continues an earlier attempt that was interrupted.
 */
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

/**
 * Adds the items of the demo that are not in the configuration: users with events, keys, a pause, and a
 * webhook with a delivery.
 */
async function populate(scope: Scope, config: Configuration, today: CivilDate): Promise<void> {
  for (const { id, ...profile } of demo.users()) await identifyUser(scope, id, profile)
  await acceptBatch(scope, demo.events())
  await createPauses(scope, demo.pausesFor(today))
  await createApplicationKeys(scope, demo.APPLICATION_KEYS)
  await createAdminKeys(scope, demo.ADMIN_KEYS)
  // The URLs of these webhooks are on this machine, which only the test clock allows (W1).
  if (scope.variables.TEST_CLOCK === 'off' || config.webhooks.length > 0) return
  const { created } = await createWebhooks(scope, listenerStatements, demo.webhooks())
  const active = created.find(({ status }) => status === 'active')
  const present = at(scope, await presentConfiguration(scope))
  if (active !== undefined) await sendSample(present, active.id, 'leaderboard.finished')
}
