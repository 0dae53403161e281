import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, expectTypeOf, test } from 'vitest'
import type { AccountDatabase, TenantDatabase } from '../../src/db/database'

/* `npm run types` is what checks most of this. Modules are referred to by their types alone: nothing of them runs here. */

/** The databases that a function is handed, by themselves or as the `db` of something else. */
type Handed<F> = F extends (...args: infer Args) => unknown ? DatabaseOf<Args[number]> : never
type DatabaseOf<Arg> = Arg extends AccountDatabase ? Arg : Arg extends { db: infer Inner } ? Inner : never

/** The exported functions of a module that can be called without a tenant: some database that they take is of the whole account. */
type Tenantless<Module> = {
  [Name in keyof Module]: [Handed<Module[Name]>] extends [TenantDatabase] ? never : Name
}[keyof Module]

/** Which of a module's functions need no tenant, each with the reason; null where all of them do. */
type Exceptions<Module> = [Tenantless<Module>] extends [never] ? null : Record<Tenantless<Module>, string>

type Modules = {
  'modules/achievements/achievements.repository': typeof import('../../src/modules/achievements/achievements.repository')
  'modules/achievements/backdate.repository': typeof import('../../src/modules/achievements/backdate.repository')
  'modules/achievements/tallies.repository': typeof import('../../src/modules/achievements/tallies.repository')
  'modules/attributes/attributes.repository': typeof import('../../src/modules/attributes/attributes.repository')
  'modules/clock/clock.repository': typeof import('../../src/modules/clock/clock.repository')
  'modules/configuration/configuration.repository': typeof import('../../src/modules/configuration/configuration.repository')
  'modules/configuration/items.repository': typeof import('../../src/modules/configuration/items.repository')
  'modules/events/events.repository': typeof import('../../src/modules/events/events.repository')
  'modules/inbox/inbox.repository': typeof import('../../src/modules/inbox/inbox.repository')
  'modules/keys/keys.repository': typeof import('../../src/modules/keys/keys.repository')
  'modules/leaderboards/leaderboards.repository': typeof import('../../src/modules/leaderboards/leaderboards.repository')
  'modules/leaderboards/recount.repository': typeof import('../../src/modules/leaderboards/recount.repository')
  'modules/metrics/metrics.repository': typeof import('../../src/modules/metrics/metrics.repository')
  'modules/notifications/notices.repository': typeof import('../../src/modules/notifications/notices.repository')
  'modules/notifications/schedule.repository': typeof import('../../src/modules/notifications/schedule.repository')
  'modules/notifications/templates.repository': typeof import('../../src/modules/notifications/templates.repository')
  'modules/outbox/outbox.repository': typeof import('../../src/modules/outbox/outbox.repository')
  'modules/outbox/points-told.repository': typeof import('../../src/modules/outbox/points-told.repository')
  'modules/points/boosts.repository': typeof import('../../src/modules/points/boosts.repository')
  'modules/points/boosts.told.repository': typeof import('../../src/modules/points/boosts.told.repository')
  'modules/points/grants.repository': typeof import('../../src/modules/points/grants.repository')
  'modules/points/nested.repository': typeof import('../../src/modules/points/nested.repository')
  'modules/points/points.repository': typeof import('../../src/modules/points/points.repository')
  'modules/points/summaries.repository': typeof import('../../src/modules/points/summaries.repository')
  'modules/points/ticks.repository': typeof import('../../src/modules/points/ticks.repository')
  'modules/streaks/rankings.repository': typeof import('../../src/modules/streaks/rankings.repository')
  'modules/streaks/streaks.repository': typeof import('../../src/modules/streaks/streaks.repository')
  'modules/summaries/day-sums.repository': typeof import('../../src/modules/summaries/day-sums.repository')
  'modules/tenants/purge.repository': typeof import('../../src/modules/tenants/purge.repository')
  'modules/tenants/tenants.repository': typeof import('../../src/modules/tenants/tenants.repository')
  'modules/timekeeper/timekeeper.repository': typeof import('../../src/modules/timekeeper/timekeeper.repository')
  'modules/users/changes.repository': typeof import('../../src/modules/users/changes.repository')
  'modules/users/devices.repository': typeof import('../../src/modules/users/devices.repository')
  'modules/users/erasure.repository': typeof import('../../src/modules/users/erasure.repository')
  'modules/users/export.repository': typeof import('../../src/modules/users/export.repository')
  'modules/users/pages.repository': typeof import('../../src/modules/users/pages.repository')
  'modules/users/portions.repository': typeof import('../../src/modules/users/portions.repository')
  'modules/users/users.repository': typeof import('../../src/modules/users/users.repository')
  'modules/webhooks/webhooks.repository': typeof import('../../src/modules/webhooks/webhooks.repository')
  'modules/wrapped/spreads.repository': typeof import('../../src/modules/wrapped/spreads.repository')
  'modules/wrapped/wrapped.repository': typeof import('../../src/modules/wrapped/wrapped.repository')
  'db/guard': typeof import('../../src/db/guard')
}

const ONE_CLOCK = 'there is one test clock, for all tenants (C1)'
const TENANTS = 'what is told is which tenants there are (T1, T2)'

const exceptions: { [Path in keyof Modules]: Exceptions<Modules[Path]> } = {
  'modules/achievements/achievements.repository': null,
  'modules/achievements/backdate.repository': null,
  'modules/achievements/tallies.repository': null,
  'modules/attributes/attributes.repository': null,
  'modules/clock/clock.repository': {
    moveTestClock: ONE_CLOCK,
    readTestClock: ONE_CLOCK,
    removeTestClock: ONE_CLOCK,
  },
  'modules/configuration/configuration.repository': null,
  'modules/configuration/items.repository': null,
  'modules/events/events.repository': null,
  'modules/inbox/inbox.repository': null,
  'modules/keys/keys.repository': {
    findKeyRecord: 'a key tells the tenant, so it is looked up before there is one (K2)',
    insertKeys: 'admin keys are of no tenant; each row says whose it is (K4)',
    listKeys: 'an owner is a tenant by its database, or the account (K4)',
    nthKey: 'an owner is a tenant by its database, or the account (K4)',
    deleteKeys: 'an owner is a tenant by its database, or the account (K4)',
    replaceKey: 'admin keys are of no tenant (K4)',
  },
  'modules/leaderboards/leaderboards.repository': null,
  'modules/leaderboards/recount.repository': null,
  'modules/metrics/metrics.repository': null,
  'modules/notifications/notices.repository': null,
  'modules/notifications/schedule.repository': null,
  'modules/notifications/templates.repository': null,
  'modules/outbox/outbox.repository': null,
  'modules/outbox/points-told.repository': { shortenQuiet: 'the clock is of all tenants' },
  'modules/points/boosts.repository': null,
  'modules/points/boosts.told.repository': null,
  'modules/points/grants.repository': null,
  'modules/points/nested.repository': null,
  'modules/points/points.repository': null,
  'modules/points/summaries.repository': null,
  'modules/points/ticks.repository': {
    restartTicks: "the clock that has gone back is all tenants' (C1)",
  },
  'modules/streaks/rankings.repository': null,
  'modules/streaks/streaks.repository': null,
  'modules/summaries/day-sums.repository': { forgetDaySums: ONE_CLOCK },
  'modules/tenants/purge.repository': null,
  'modules/tenants/tenants.repository': {
    standingStatement: TENANTS,
    findTenantId: TENANTS,
    findTenantIdOrArchived: TENANTS,
    listTenants: TENANTS,
    findTenants: TENANTS,
    insertTenants: TENANTS,
    updateTenants: TENANTS,
    archiveTenants: TENANTS,
  },
  'modules/timekeeper/timekeeper.repository': {
    tenantsWithDueWork: 'finds the tenants whose Timekeepers are to be woken (C2)',
    hasten: "the clock that has gone back is all tenants' (C1)",
  },
  'modules/users/changes.repository': null,
  'modules/users/devices.repository': null,
  'modules/users/erasure.repository': null,
  'modules/users/export.repository': null,
  'modules/users/pages.repository': null,
  'modules/users/portions.repository': null,
  'modules/users/users.repository': null,
  'modules/webhooks/webhooks.repository': null,
  'modules/wrapped/spreads.repository': null,
  'modules/wrapped/wrapped.repository': null,
  'db/guard': null,
}

test('[T3] no repository function is called without a tenant, but for those that concern all of them', () => {
  const src = join(import.meta.dirname, '..', '..', 'src')
  const found = globSync('**/*.repository.ts', { cwd: src }).map((path) => path.replace(/\.ts$/, ''))
  expect([...found, 'db/guard'].toSorted()).toEqual(Object.keys(exceptions).toSorted())
})

test("a function that takes a database of the whole account is told from one that takes a tenant's", () => {
  type Module = {
    alone: (db: AccountDatabase, id: string) => void
    later: (id: string, db?: AccountDatabase) => Promise<void>
    inside: (source: { db: AccountDatabase; limit: number }) => void
    either: (owner: { db: TenantDatabase } | { db: AccountDatabase }) => void
    pages: (db: AccountDatabase) => AsyncGenerator<string>
    ofTenant: (db: TenantDatabase, id: string) => void
    insideOfTenant: (source: { db: TenantDatabase }) => void
    pure: (id: string) => string
    constant: string
  }
  expectTypeOf<Tenantless<Module>>().toEqualTypeOf<'alone' | 'later' | 'inside' | 'either' | 'pages'>()
  expectTypeOf<Exceptions<Pick<Module, 'ofTenant' | 'pure'>>>().toEqualTypeOf<null>()
})
