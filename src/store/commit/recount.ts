import * as z from 'zod'
import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { configurationAt } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { micros } from '../../lib/decimal'
import { newId } from '../../lib/new-id'
import { systemNow } from '../../lib/system-clock'
import { bytesOf, idOf, localDayOf, Moment } from '../../platform/columns'
import type { TenantContext } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { configurationUnchanged, isConflict, nullIfConflict } from '../../platform/guard'
import { type BulkChange, streakOnly } from '../../rules/change.rules'
import type { UserState } from '../../rules/state'
import { Recount } from '../../rules/streaks/streak-change.rules'
import {
  NO_STREAK_EVENTS,
  type Pause,
  type StreakRun,
  type StreakState,
} from '../../rules/streaks/streak-state.rules'
import type { Work } from '../../time/due-work.sql.ts'
import { portionOf, portionStatement, shortAmong } from '../users/portions.sql.ts'
import { PauseRows, pausesOfSeveral, scheduleEarliestDeadline } from '../users/streaks.sql.ts'
import { userOf } from '../users/users.sql.ts'
import { storedBy, writeBulk } from './writer'

/** The most users of one step. Each user may have entries for a thousand resources of the tenant. */
export const CHUNK = 200

/** The progress of a walk: the last user who was visited. */
export const WalkProgress = z.object({ after: z.string() })
export type WalkProgress = z.infer<typeof WalkProgress>

/** Visits a chunk of users. Returns the changes, and how many users, from the first on, it has visited. */
type Visit = (
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
) => Promise<{ changes: BulkChange[]; visited: number }>

/** The changes of a step, and when they happened. */
export type WalkStep = { changes: readonly BulkChange[]; config: Configuration; changedAt: Instant }

/**
 * Runs one step of a walk over all users of a tenant, in order of their ids. A step changes a chunk of users
 * in one guarded batch.
 * The batch skips users who have changed since the read. The next step visits them again, and perhaps other
 * users too, so `visit` must do nothing on a second visit. `last` is called at the end of the walk, and its
 * statements are stored with that end. If `last` fails, the last step is repeated. If the configuration has
 * changed, the step does nothing.
 */
export async function walkStep(
  context: TenantContext,
  work: Work<WalkProgress>,
  visit: Visit,
  last?: (config: Configuration) => Promise<readonly Statement[]>,
): Promise<WalkStep> {
  const after = work.progress?.after ?? ''
  return walkOn(context, visit, {
    after,
    found: portionStatement(context.db, { after, limit: CHUNK }),
    goOn: (after) => work.goOn({ after }),
    end: async (config) => [work.end(), ...((await last?.(config)) ?? [])],
  })
}

/** The users of a step, at most `CHUNK` in order of their ids, and what a step stores: it goes on, or it ends. */
type Route = {
  after: string
  found: Statement
  goOn: (after: string) => Statement
  end: (config: Configuration) => Promise<readonly Statement[]>
}

/** The same for some users in order of their ids. */
export async function walkOn(
  context: TenantContext,
  visit: Visit,
  { after, found: read, goOn, end }: Route,
): Promise<WalkStep> {
  const { db } = context
  const { snapshot, found } = await db.batchOf({
    snapshot: requestSnapshotStatement(db, db.tenantId, []),
    found: read,
  })
  const { tenant, clock } = parseRequestSnapshot(snapshot)
  if (tenant === null) throw new Error('the tenant is gone')
  const config = await configurationAt(context, tenant.configVersion)
  const now = clock ?? systemNow()
  const { rows, isCut } = await portionOf(db, found.results, { short: shortAmong(CHUNK) })
  const users = rows.map(userOf)
  const { changes, visited } = await visit(config, users, now)
  try {
    const done = await storeBulk(db, config, changes)
    const skipped = users.findIndex(
      ({ id }) => changes.some(({ before }) => before.id === id) && !done.has(id),
    )
    const passed = Math.min(visited, skipped === -1 ? users.length : skipped)
    const isEnd = passed === users.length && !isCut && found.results.length < CHUNK
    await db.batch(isEnd ? await end(config) : [goOn(users[passed - 1]?.id ?? after)])
    return { changes: changes.filter(({ before }) => done.has(before.id)), config, changedAt: now }
  } catch (error) {
    if (isConflict(error)) return { changes: [], config, changedAt: now }
    throw error
  }
}

/** Stores changes of users who are still as read, and returns their ids. Guards the configuration. */
async function storeBulk(db: TenantDatabase, config: Configuration, changes: readonly BulkChange[]) {
  const { stores } = await db.batchOf({
    configuration: configurationUnchanged(db, config.version),
    ...writeBulk(db, config, changes),
    deadline: scheduleEarliestDeadline(db, changes),
  })
  return storedBy(changes, stores)
}

const LOG = `
  SELECT at, seq, ${idOf('metrics', 'e.metric_no')} AS metricId, value, ${localDayOf()} AS day
  FROM (SELECT at, seq, metric_no, value, utc_offset FROM events
    WHERE user_iid = ${bytesOf('?1')} AND seq <= ?2 AND (at, seq) > (?3, ?4) ORDER BY at, seq LIMIT ?5) e
  ORDER BY at, seq`

const LoggedRow = z.object({
  at: Moment,
  seq: z.number(),
  metricId: z.string(),
  value: z.number().transform(micros),
  day: z.number(),
})
const LoggedRows = z.array(LoggedRow)
type LoggedEvent = z.output<typeof LoggedRow>

const byTime = (a: LoggedEvent, b: LoggedEvent) => a.at - b.at || a.seq - b.seq

const PAGE = 20_000

/** The events of a user as read, in order of time. Events with a later `seq` are left out. */
export async function* logOf(
  db: TenantDatabase,
  { iid, seq }: { iid: string; seq: number },
): AsyncGenerator<LoggedEvent> {
  let after = { at: -1, seq: -1 }
  for (;;) {
    const rows = LoggedRows.parse(await db.rows(db.statement(LOG, iid, seq, after.at, after.seq, PAGE)))
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last
  }
}

const LOGS_PAGE = 30_000

// CROSS JOIN reads one user after the other, so the read stops at its limit. A sort would read all events
// first.
const LOGS = `
  SELECT asked.value ->> 0 AS userIid, e.at, e.seq, ${idOf('metrics', 'e.metric_no')} AS metricId, e.value,
    ${localDayOf('e')} AS day
  FROM json_each(?1) asked CROSS JOIN events e ON e.user_iid = ${bytesOf('asked.value ->> 0')}
    AND e.seq <= asked.value ->> 1
  LIMIT ?2`

/** The whole logs of the first of these users, by iid and in order of time, as many as one read takes. */
async function logsOf(
  db: TenantDatabase,
  users: readonly { iid: string; seq: number }[],
): Promise<ReadonlyMap<string, readonly LoggedEvent[]>> {
  const asked = JSON.stringify(users.map(({ iid, seq }) => [iid, seq]))
  const rows = await db.list(LoggedRow.extend({ userIid: z.string() }), LOGS, asked, LOGS_PAGE)
  const logs = Map.groupBy(rows, ({ userIid }) => userIid)
  const complete = new Map<string, readonly LoggedEvent[]>()
  // The log of the last user of a full read may be longer.
  const last = rows.length < LOGS_PAGE ? undefined : rows.at(-1)?.userIid
  for (const { iid } of users) {
    if (iid === last) break
    complete.set(iid, (logs.get(iid) ?? []).toSorted(byTime))
  }
  return complete
}

const STALE_IID = `(SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2
  AND streak ->> 'frequency' IS NOT NULL
  AND (streak ->> 'frequency' <> ?3 OR coalesce(streak ->> 'epoch', 0) <> ?4))`
const STALE_LOG = `
  SELECT at, seq, ${idOf('metrics', 'e.metric_no')} AS metricId, value, ${localDayOf()} AS day
  FROM events e WHERE user_iid = ${bytesOf(STALE_IID)} LIMIT ?5`
const STALE_PAUSES = `
  SELECT id, start, "end" FROM streak_pauses WHERE user_iid = ${STALE_IID} AND "end" >= start
    ORDER BY start, id`

/** A streak's sources: the log by time (null if it is too long), and all pauses that ever counted. */
export type StreakSources = { log: readonly LoggedEvent[] | null; pauses: readonly Pause[] }

/**
 * Reads the data from which a user's streak is counted, by the caller's id of the user. Reads nothing if the
 * stored streak has this frequency and epoch (S9). Parsed by `parseSources`.
 */
export function sourcesIfStale(
  db: TenantDatabase,
  userId: string,
  { frequency, epoch }: Pick<StreakState, 'frequency' | 'epoch'>,
): Statement[] {
  return [
    db.statement(STALE_LOG, db.tenantId, userId, frequency, epoch, LOGS_PAGE),
    db.statement(STALE_PAUSES, db.tenantId, userId, frequency, epoch),
  ]
}

/** Parses the results of `sourcesIfStale`. */
export function parseSources([log, pauses]: readonly (D1Result | undefined)[]): StreakSources {
  const rows = LoggedRows.parse(log?.results ?? [])
  return {
    log: rows.length < LOGS_PAGE ? rows.toSorted(byTime) : null,
    pauses: PauseRows.parse(pauses?.results ?? []),
  }
}

/** A streak as counted from the log, and all streaks that ended before it. */
type Counted = { streak: StreakState; runs: readonly StreakRun[] }

/** Counts streaks by the present settings (S9): of the first users, at least one, whose logs fit one read. */
export async function recounted(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
): Promise<Counted[]> {
  const [logs, pauses] = await Promise.all([
    logsOf(db, users),
    pausesOfSeveral(
      db,
      users.map(({ iid }) => iid),
    ),
  ])
  const counted: Counted[] = []
  for (const [index, user] of users.entries()) {
    const known = logs.get(user.iid)
    if (known === undefined && index > 0) break
    const recount = new Recount(config, user, pauses.get(user.iid) ?? [])
    // A log that is longer than one read is read page by page.
    if (known === undefined) for await (const event of logOf(db, user)) recount.add(event)
    else for (const event of known) recount.add(event)
    counted.push(recount.end(now))
  }
  return counted
}

/** Counts a user's streak by the present settings (S9). Null if the log is longer than one read. */
export function recountedFrom(
  config: Configuration,
  user: UserState,
  { log, pauses }: StreakSources,
  now: Instant,
): Counted | null {
  if (log === null) return null
  const recount = new Recount(config, user, pauses)
  for (const event of log) recount.add(event)
  return recount.end(now)
}

/** The changes by recounts of the first of these users, at least of one (S9). */
export async function recountChanges(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
): Promise<BulkChange[]> {
  const counted = users.length === 0 ? [] : await recounted(db, config, users, now)
  return counted.flatMap(({ streak, runs }, index) => {
    const user = users[index]
    if (user === undefined) return []
    // No streak has ended now. These runs are the past, counted again.
    const told = { ended: [], streakEvents: NO_STREAK_EVENTS, isExtended: streak.run !== null }
    const change = streakOnly(config, user, streak, told, { at: now, id: newId(now) })
    return { ...change, ended: runs, replacesRuns: true }
  })
}

/**
 * Counts streaks of the first of these users from the log and stores them. They then have the tenant's
 * frequency (S9). Returns the stored changes. Users who have changed meanwhile are left out, and all users
 * are left out if the configuration has changed. The caller reads them again.
 */
export async function recountStreaks(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
): Promise<BulkChange[]> {
  const changes = await recountChanges(db, config, users, now)
  const done = await storeBulk(db, config, changes).catch(nullIfConflict)
  return changes.filter(({ before }) => done?.has(before.id))
}
