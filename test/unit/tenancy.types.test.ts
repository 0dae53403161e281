import { globSync, readFileSync } from 'node:fs'
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

/** Names the exceptions of a module. */
const of = <Module>(exceptions: Exceptions<Module>) => exceptions

const ONE_CLOCK = 'there is one test clock for all tenants (C1)'
const STATUS = 'the state of the service is that of all tenants (G12)'
const RESTORE = 'a restore of the database concerns all tenants (M1, M3)'
const TENANTS = 'it concerns the list of tenants (T1, T2)'
const OWNER = 'an owner is a tenant by its database, or the account (K4)'
const LOG = 'the scope names its log, of a tenant or of the account (Z1)'
const OLD_ENTRIES = 'the cron trigger deletes the old entries of all logs (Z1)'
const OLD_BATCHES = 'the cron trigger deletes the old batches of all tenants (E9)'
const LINK = 'a link names its tenant'
const CLOCK_BACK = 'a clock that goes back affects all tenants (C1)'
const DATABASES = 'it concerns the databases of the account (B3)'
const MOVES = 'users move between two databases, so it names the tenant (B3)'

const exceptions = {
  'access/clock.sql': of<typeof import('../../src/access/clock.sql')>({
    ...{ beginMove: ONE_CLOCK, noteMove: ONE_CLOCK, readMove: ONE_CLOCK, readTestClock: ONE_CLOCK },
    removeTestClock: ONE_CLOCK,
  }),
  'access/keys.sql': of<typeof import('../../src/access/keys.sql')>({
    findKeyRecord: 'a key names its tenant, so it is looked up before the tenant is known (K2)',
    insertKeys: 'admin keys belong to no tenant; each row has its owner (K4)',
    replaceKey: 'admin keys belong to no tenant (K4)',
    ...{ listKeys: OWNER, nthKey: OWNER, deleteKeys: OWNER, keysWithIds: OWNER, removeKeysByPrefix: RESTORE },
    recordsWithoutKey: RESTORE,
  }),
  'access/restores.sql': of<typeof import('../../src/access/restores.sql')>({
    ...{ readRestored: RESTORE, advanceRedo: RESTORE },
  }),
  'access/tenants.sql': of<typeof import('../../src/access/tenants.sql')>({
    ...{ requestSnapshotStatement: TENANTS, findTenantId: TENANTS, findTenantIdOrArchived: TENANTS },
    ...{ listTenants: TENANTS, findTenants: TENANTS, insertTenants: TENANTS, updateTenants: TENANTS },
    archiveTenants: TENANTS,
  }),
  'configuration/audit.sql': of<typeof import('../../src/configuration/audit.sql')>({
    ...{ auditEntries: LOG, auditEntriesIf: LOG, auditPage: LOG, isNoted: LOG },
    deleteEntriesBefore: OLD_ENTRIES,
    deleteOutdatedEntries: OLD_ENTRIES,
  }),
  'configuration/configuration': of<typeof import('../../src/configuration/configuration')>(null),
  'features/account/purge.sql': of<typeof import('../../src/features/account/purge.sql')>(null),
  'features/account/status.routes': of<typeof import('../../src/features/account/status.routes')>(null),
  'features/achievements/backdate': of<typeof import('../../src/features/achievements/backdate')>(null),
  'features/analytics/count.sql': of<typeof import('../../src/features/analytics/count.sql')>(null),
  'features/analytics/figures.sql': of<typeof import('../../src/features/analytics/figures.sql')>(null),
  'features/analytics/counting': of<typeof import('../../src/features/analytics/counting')>({
    ...{ requestPasses: ONE_CLOCK, requestNewPasses: ONE_CLOCK, restartPasses: ONE_CLOCK },
  }),
  'features/analytics/wrapped/distributions':
    of<typeof import('../../src/features/analytics/wrapped/distributions')>(null),
  'features/analytics/wrapped/wrapped.sql':
    of<typeof import('../../src/features/analytics/wrapped/wrapped.sql.ts')>(null),
  'features/databases/copies.sql': of<typeof import('../../src/features/databases/copies.sql')>({
    ...{ seqsIn: MOVES, arrivingIn: MOVES, readLogs: MOVES, readNewer: MOVES, readPage: MOVES },
    ...{ depart: MOVES, readDeparted: MOVES, join: MOVES, departedUsers: MOVES, forgetOthers: MOVES },
    takeLeftovers: MOVES,
  }),
  'features/achievements/anniversaries':
    of<typeof import('../../src/features/achievements/anniversaries')>(null),
  'features/databases/databases.sql': of<typeof import('../../src/features/databases/databases.sql')>({
    ...{ storeWeights: DATABASES, spreads: DATABASES, holders: DATABASES, readSizes: DATABASES },
    ...{ readState: MOVES, placementIn: MOVES, unnumbered: MOVES, number: MOVES, hasUsers: MOVES },
    ...{ lastUsers: MOVES, countedEvents: MOVES, switchTo: MOVES, workIn: MOVES },
  }),
  'features/events/batches/batches.sql': of<typeof import('../../src/features/events/batches/batches.sql')>({
    ...{ deleteBatchesBefore: OLD_BATCHES, deleteOutdatedBatches: OLD_BATCHES },
  }),
  'features/notifications/schedule.sql':
    of<typeof import('../../src/features/notifications/schedule.sql')>(null),
  'features/notifications/unsubscribe.routes': of<
    typeof import('../../src/features/notifications/unsubscribe.routes')
  >({
    linkSecretOf: LINK,
    linkedBy: LINK,
    unsubscribe: LINK,
  }),
  'features/points/boosts.sql': of<typeof import('../../src/features/points/boosts.sql')>(null),
  'features/points/summaries.sql': of<typeof import('../../src/features/points/summaries.sql')>(null),
  'features/points/ticks': of<typeof import('../../src/features/points/ticks')>({
    ...{ restartTicks: CLOCK_BACK, restartTicksElsewhere: CLOCK_BACK },
  }),
  'features/streaks/admin.routes': of<typeof import('../../src/features/streaks/admin.routes')>({
    capSettings: CLOCK_BACK,
  }),
  'features/streaks/rankings': of<typeof import('../../src/features/streaks/rankings')>(null),
  'features/support/adjustments.routes':
    of<typeof import('../../src/features/support/adjustments.routes')>(null),
  'features/support/award-explanation':
    of<typeof import('../../src/features/support/award-explanation')>(null),
  'features/support/timeline.sql': of<typeof import('../../src/features/support/timeline.sql')>(null),
  'features/support/voids.sql': of<typeof import('../../src/features/support/voids.sql')>(null),
  'features/users/erasure': of<typeof import('../../src/features/users/erasure')>({ eraseAgain: RESTORE }),
  'features/users/export/export.sql': of<typeof import('../../src/features/users/export/export.sql')>(null),
  'leaderboards/object/recount.sql': of<typeof import('../../src/leaderboards/object/recount.sql')>(null),
  'platform/guard': of<typeof import('../../src/platform/guard')>(null),
  'store/awards.sql': of<typeof import('../../src/store/awards.sql')>(null),
  'store/day-sums/day-sums.sql': of<typeof import('../../src/store/day-sums/day-sums.sql')>({
    forgetSums: ONE_CLOCK,
  }),
  'store/events.sql': of<typeof import('../../src/store/events.sql.ts')>(null),
  'store/commit/recount': of<typeof import('../../src/store/commit/recount')>(null),
  'store/users/streaks.sql': of<typeof import('../../src/store/users/streaks.sql.ts')>(null),
  'store/ticks.sql': of<typeof import('../../src/store/ticks.sql')>(null),
  'store/user-data/user-data.sql': of<typeof import('../../src/store/user-data/user-data.sql')>(null),
  'store/users/counters.sql': of<typeof import('../../src/store/users/counters.sql')>(null),
  'store/users/devices.sql': of<typeof import('../../src/store/users/devices.sql')>(null),
  'store/users/pages.sql': of<typeof import('../../src/store/users/pages.sql')>(null),
  'store/users/portions.sql': of<typeof import('../../src/store/users/portions.sql')>(null),
  'store/users/users.sql': of<typeof import('../../src/store/users/users.sql.ts')>(null),
  'time/due-work.sql': of<typeof import('../../src/time/due-work.sql.ts')>({ restartSweeps: CLOCK_BACK }),
  'time/moved-work.sql': of<typeof import('../../src/time/moved-work.sql')>({
    scheduleForTenants: DATABASES,
  }),
  'time/timekeeper.sql': of<typeof import('../../src/time/timekeeper.sql')>({
    tenantsWithDueWork: 'finds the tenants whose Timekeepers need an alarm (C2)',
    ...{ dueWorkOfPart: STATUS, countAhead: ONE_CLOCK, scheduleEverywhere: ONE_CLOCK },
    ...{ capDueTimes: CLOCK_BACK, scheduleAll: ONE_CLOCK, scheduleBegun: ONE_CLOCK },
    beginAllAgain: ONE_CLOCK,
  }),
  'webhooks/outbox/outbox.sql': of<typeof import('../../src/webhooks/outbox/outbox.sql')>(null),
  'webhooks/outbox/pending.sql': of<typeof import('../../src/webhooks/outbox/pending.sql')>({
    capPendingNotifications: ONE_CLOCK,
  }),
  'webhooks/outbox/points-changed.sql': of<typeof import('../../src/webhooks/outbox/points-changed.sql')>({
    shortenQuiet: 'the clock belongs to all tenants',
  }),
}

test('[T3] no function that makes a statement is called without a tenant, except functions that concern all tenants', () => {
  const src = join(import.meta.dirname, '..', '..', 'src')
  const found = globSync('**/*.ts', { cwd: src }).filter((path) =>
    readFileSync(join(src, path), 'utf8').includes('.statement('),
  )
  // The schema, the directory of databases, copies and deleted keys concern the whole account.
  const ofAccount = [
    'platform/schema-version.sql',
    'platform/databases/directory',
    'configuration/copies',
    'access/deleted-keys',
  ]
  const known = [...ofAccount, ...Object.keys(exceptions)]
  expect(found.map((path) => path.replace(/\.ts$/, '')).filter((path) => !known.includes(path))).toEqual([])
  expect(known.filter((path) => !found.includes(`${path}.ts`))).toEqual([])
  expect(known.length).toBeGreaterThan(50)
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
