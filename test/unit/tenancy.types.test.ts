import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, expectTypeOf, test } from 'vitest'
import type { AccountDatabase, TenantDatabase } from '../../src/platform/database'

/* `npm run types` checks most of this. Only the types of modules are used: none of their code runs here. */

/** The databases that a function receives, as a parameter or as the `db` of a parameter. */
type Handed<F> = F extends (...args: infer Args) => unknown ? DatabaseOf<Args[number]> : never
type DatabaseOf<Arg> = Arg extends AccountDatabase ? Arg : Arg extends { db: infer Inner } ? Inner : never

/**
 * The exported functions of a module that can be called without a tenant, because they take a database of the
 * whole account.
 */
type Tenantless<Module> = {
  [Name in keyof Module]: [Handed<Module[Name]>] extends [TenantDatabase] ? never : Name
}[keyof Module]

/** The functions of a module that need no tenant, each with the reason. Null if all need one. */
type Exceptions<Module> = [Tenantless<Module>] extends [never] ? null : Record<Tenantless<Module>, string>

type Modules = {
  'features/achievements/achievements.repository': typeof import('../../src/features/achievements/achievements.repository')
  'features/achievements/backdate.repository': typeof import('../../src/features/achievements/backdate.repository')
  'store/counters.repository': typeof import('../../src/store/counters.repository')
  'features/metrics/attributes.repository': typeof import('../../src/features/metrics/attributes.repository')
  'access/clock.repository': typeof import('../../src/access/clock.repository')
  'features/analytics/figures.repository': typeof import('../../src/features/analytics/figures.repository')
  'features/analytics/count.repository': typeof import('../../src/features/analytics/count.repository')
  'features/analytics/range.repository': typeof import('../../src/features/analytics/range.repository')
  'features/analytics/passes.repository': typeof import('../../src/features/analytics/passes.repository')
  'configuration/configuration.repository': typeof import('../../src/configuration/configuration.repository')
  'platform/queries': typeof import('../../src/platform/queries')
  'store/events.repository': typeof import('../../src/store/events.repository')
  'features/events/batches/inbox.repository': typeof import('../../src/features/events/batches/inbox.repository')
  'configuration/audit/audit.repository': typeof import('../../src/configuration/audit/audit.repository')
  'access/keys.repository': typeof import('../../src/access/keys.repository')
  'features/support/adjustments.repository': typeof import('../../src/features/support/adjustments.repository')
  'features/support/ledger.repository': typeof import('../../src/features/support/ledger.repository')
  'features/support/voids.repository': typeof import('../../src/features/support/voids.repository')
  'leaderboards/leaderboards.repository': typeof import('../../src/leaderboards/leaderboards.repository')
  'access/restores/restores.repository': typeof import('../../src/access/restores/restores.repository')
  'leaderboards/object/upkeep-note.repository': typeof import('../../src/leaderboards/object/upkeep-note.repository')
  'leaderboards/object/recount.repository': typeof import('../../src/leaderboards/object/recount.repository')
  'features/metrics/metrics.repository': typeof import('../../src/features/metrics/metrics.repository')
  'webhooks/outbox/pending-notifications.repository': typeof import('../../src/webhooks/outbox/pending-notifications.repository')
  'features/notifications/schedule.repository': typeof import('../../src/features/notifications/schedule.repository')
  'features/notifications/templates.repository': typeof import('../../src/features/notifications/templates.repository')
  'webhooks/outbox/outbox.repository': typeof import('../../src/webhooks/outbox/outbox.repository')
  'webhooks/outbox/points-notifications.repository': typeof import('../../src/webhooks/outbox/points-notifications.repository')
  'features/points/boosts.repository': typeof import('../../src/features/points/boosts.repository')
  'features/points/boost-notifications.repository': typeof import('../../src/features/points/boost-notifications.repository')
  'store/grants.repository': typeof import('../../src/store/grants.repository')
  'features/points/nested.repository': typeof import('../../src/features/points/nested.repository')
  'store/awards.repository': typeof import('../../src/store/awards.repository')
  'features/points/summaries.repository': typeof import('../../src/features/points/summaries.repository')
  'features/points/ticks.repository': typeof import('../../src/features/points/ticks.repository')
  'features/account/status.repository': typeof import('../../src/features/account/status.repository')
  'features/streaks/rankings.repository': typeof import('../../src/features/streaks/rankings.repository')
  'store/streaks/streaks.repository': typeof import('../../src/store/streaks/streaks.repository')
  'store/streaks/pauses.repository': typeof import('../../src/store/streaks/pauses.repository')
  'store/streaks/streak-log.repository': typeof import('../../src/store/streaks/streak-log.repository')
  'store/day-sums/day-sums.repository': typeof import('../../src/store/day-sums/day-sums.repository')
  'features/account/purge.repository': typeof import('../../src/features/account/purge.repository')
  'access/tenants.repository': typeof import('../../src/access/tenants.repository')
  'time/due-work.repository': typeof import('../../src/time/due-work.repository')
  'time/sweeps.repository': typeof import('../../src/time/sweeps.repository')
  'configuration/board-deletions.repository': typeof import('../../src/configuration/board-deletions.repository')
  'configuration/free-keys.repository': typeof import('../../src/configuration/free-keys.repository')
  'features/notifications/links.repository': typeof import('../../src/features/notifications/links.repository')
  'store/user-data/objects.repository': typeof import('../../src/store/user-data/objects.repository')
  'store/user-data/user-rows.repository': typeof import('../../src/store/user-data/user-rows.repository')
  'store/devices.repository': typeof import('../../src/store/devices.repository')
  'features/users/erasure/erasure.repository': typeof import('../../src/features/users/erasure/erasure.repository')
  'features/support/award-explanation.repository': typeof import('../../src/features/support/award-explanation.repository')
  'features/support/timeline.repository': typeof import('../../src/features/support/timeline.repository')
  'store/user-changes.repository': typeof import('../../src/store/user-changes.repository')
  'features/users/export/export.repository': typeof import('../../src/features/users/export/export.repository')
  'features/users/export/export-log.repository': typeof import('../../src/features/users/export/export-log.repository')
  'features/users/export/export-pages.repository': typeof import('../../src/features/users/export/export-pages.repository')
  'store/pages.repository': typeof import('../../src/store/pages.repository')
  'store/portions.repository': typeof import('../../src/store/portions.repository')
  'store/user-ranges.repository': typeof import('../../src/store/user-ranges.repository')
  'store/users.repository': typeof import('../../src/store/users.repository')
  'features/databases/databases.repository': typeof import('../../src/features/databases/databases.repository')
  'features/databases/moves.repository': typeof import('../../src/features/databases/moves.repository')
  'features/databases/users-work.repository': typeof import('../../src/features/databases/users-work.repository')
  'features/databases/copied-logs.repository': typeof import('../../src/features/databases/copied-logs.repository')
  'features/databases/departure.repository': typeof import('../../src/features/databases/departure.repository')
  'webhooks/webhooks.repository': typeof import('../../src/webhooks/webhooks.repository')
  'features/analytics/distributions.repository': typeof import('../../src/features/analytics/distributions.repository')
  'features/analytics/wrapped.repository': typeof import('../../src/features/analytics/wrapped.repository')
  'platform/guard': typeof import('../../src/platform/guard')
}

const ONE_CLOCK = 'there is one test clock for all tenants (C1)'
const STATUS = 'the state of the service is that of all tenants (G12)'
const RESTORE = 'a restore of the database concerns all tenants (M1, M3)'
const TENANTS = 'it concerns the list of tenants (T1, T2)'

const DATABASES = 'it concerns the databases of the account (B3)'
const MOVES = 'users move between two databases, so it names the tenant (B3)'

const exceptions: { [Path in keyof Modules]: Exceptions<Modules[Path]> } = {
  'features/achievements/achievements.repository': null,
  'features/achievements/backdate.repository': null,
  'store/counters.repository': null,
  'features/metrics/attributes.repository': null,
  'access/clock.repository': {
    readTestClock: ONE_CLOCK,
    removeTestClock: ONE_CLOCK,
  },
  'features/analytics/figures.repository': null,
  'features/analytics/count.repository': null,
  'features/analytics/range.repository': null,
  'features/analytics/passes.repository': { forgetSince: ONE_CLOCK },
  'configuration/configuration.repository': null,
  'platform/queries': null,
  'store/events.repository': null,
  'features/events/batches/inbox.repository': {
    deleteBatchesBefore: 'the cron trigger deletes the old batches of all tenants (E9)',
  },
  'configuration/audit/audit.repository': {
    auditEntries: 'the scope names its log, of a tenant or of the account (Z1)',
    auditEntriesIf: 'the scope names its log, of a tenant or of the account (Z1)',
    auditPage: 'the scope names its log, of a tenant or of the account (Z1)',
    deleteEntriesBefore: 'the cron trigger deletes the old entries of all logs (Z1)',
  },
  'access/keys.repository': {
    findKeyRecord: 'a key names its tenant, so it is looked up before the tenant is known (K2)',
    insertKeys: 'admin keys belong to no tenant; each row has its owner (K4)',
    listKeys: 'an owner is a tenant by its database, or the account (K4)',
    nthKey: 'an owner is a tenant by its database, or the account (K4)',
    deleteKeys: 'an owner is a tenant by its database, or the account (K4)',
    replaceKey: 'admin keys belong to no tenant (K4)',
    keysWithIds: 'an owner is a tenant by its database, or the account (K4)',
    removeKeysByPrefix: RESTORE,
  },
  'features/support/adjustments.repository': null,
  'features/support/ledger.repository': null,
  'features/support/voids.repository': null,
  'leaderboards/leaderboards.repository': null,
  'leaderboards/object/recount.repository': null,
  'features/metrics/metrics.repository': null,
  'webhooks/outbox/pending-notifications.repository': null,
  'features/notifications/schedule.repository': null,
  'features/notifications/templates.repository': null,
  'webhooks/outbox/outbox.repository': null,
  'webhooks/outbox/points-notifications.repository': { shortenQuiet: 'the clock belongs to all tenants' },
  'features/points/boosts.repository': null,
  'features/points/boost-notifications.repository': null,
  'store/grants.repository': null,
  'features/points/nested.repository': null,
  'store/awards.repository': null,
  'features/points/summaries.repository': null,
  'features/points/ticks.repository': {
    restartTicks: 'a clock that goes back affects all tenants (C1)',
    restartTicksOfUsers: 'a clock that goes back affects all tenants (C1)',
  },
  'features/account/status.repository': {
    inboxStatement: STATUS,
    outboxStatement: STATUS,
    destinationsStatement: STATUS,
  },
  'features/streaks/rankings.repository': null,
  'store/streaks/streaks.repository': null,
  'store/streaks/pauses.repository': null,
  'store/streaks/streak-log.repository': null,
  'store/day-sums/day-sums.repository': { forgetDaySums: ONE_CLOCK },
  'features/account/purge.repository': null,
  'access/restores/restores.repository': { readRestored: RESTORE, advanceRedo: RESTORE },
  'leaderboards/object/upkeep-note.repository': null,
  'access/tenants.repository': {
    requestSnapshotStatement: TENANTS,
    findTenantId: TENANTS,
    findTenantIdOrArchived: TENANTS,
    listTenants: TENANTS,
    findTenants: TENANTS,
    insertTenants: TENANTS,
    updateTenants: TENANTS,
    archiveTenants: TENANTS,
  },
  'time/due-work.repository': {
    tenantsWithDueWork: 'finds the tenants whose Timekeepers need an alarm (C2)',
    dueWorkOfPart: STATUS,
    capDueTimes: 'a clock that goes back affects all tenants (C1)',
    makeAllDue: ONE_CLOCK,
    makeBegunDue: ONE_CLOCK,
    beginAllAgain: ONE_CLOCK,
  },
  'time/sweeps.repository': { restartSweeps: 'a clock that goes back affects all tenants (C1)' },
  'configuration/board-deletions.repository': null,
  'configuration/free-keys.repository': null,
  'features/notifications/links.repository': {
    linkSecretOf: 'a link names its tenant',
    linkedBy: 'a link names its tenant',
  },
  'store/user-data/objects.repository': null,
  'store/user-data/user-rows.repository': null,
  'store/devices.repository': null,
  'features/users/erasure/erasure.repository': { usersByIid: RESTORE },
  'features/support/award-explanation.repository': null,
  'features/support/timeline.repository': null,
  'store/user-changes.repository': null,
  'features/users/export/export.repository': null,
  'features/users/export/export-log.repository': null,
  'features/users/export/export-pages.repository': null,
  'store/pages.repository': null,
  'store/portions.repository': null,
  'store/user-ranges.repository': null,
  'store/users.repository': null,
  'features/databases/databases.repository': {
    readWeights: DATABASES,
    storeWeights: DATABASES,
    directories: DATABASES,
    unspread: DATABASES,
    holders: DATABASES,
    readSizes: DATABASES,
  },
  'features/databases/moves.repository': {
    readState: MOVES,
    placementIn: MOVES,
    unnumbered: MOVES,
    number: MOVES,
    hasUsers: MOVES,
    lastUsers: MOVES,
    countedEvents: MOVES,
    switchTo: MOVES,
  },
  'features/databases/users-work.repository': { workIn: MOVES },
  'features/databases/copied-logs.repository': {
    seqsIn: MOVES,
    arrivingIn: MOVES,
    readLogs: MOVES,
    readNewer: MOVES,
    readPage: MOVES,
  },
  'features/databases/departure.repository': {
    depart: MOVES,
    readDeparted: MOVES,
    join: MOVES,
    departedUsers: MOVES,
    forgetOthers: MOVES,
    takeLeftovers: MOVES,
  },
  'webhooks/webhooks.repository': null,
  'features/analytics/distributions.repository': null,
  'features/analytics/wrapped.repository': null,
  'platform/guard': null,
}

test('[T3] no repository function is called without a tenant, except functions that concern all tenants', () => {
  const src = join(import.meta.dirname, '..', '..', 'src')
  const found = globSync('**/*.repository.ts', { cwd: src }).map((path) => path.replace(/\.ts$/, ''))
  expect([...found, 'platform/guard', 'platform/queries'].toSorted()).toEqual(
    Object.keys(exceptions).toSorted(),
  )
})

test("a function with a database of the whole account differs from one with a tenant's database", () => {
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
