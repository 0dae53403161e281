import * as z from 'zod'
import { configurationAt, recentConfiguration } from '../../configuration/configuration'
import type { Configuration, Trigger } from '../../configuration/model'
import { bulkStep } from '../../leaderboards/updates'
import { type Instant, instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import { Moment } from '../../platform/columns'
import type { Scope, TenantContext } from '../../platform/context'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { configurationUnchanged, isConflict } from '../../platform/guard'
import {
  earliest,
  endOfSweep,
  granting,
  isTicking,
  nextDue,
  type Tick,
  type TickChange,
  type TickUser,
  ticksBetween,
} from '../../rules/points/ticks.rules'
import { type Asked, outboxInsertsOfTicks, readTickUsers, writeTicks } from '../../store/ticks.sql.ts'
import {
  betweenSweeps,
  findWork,
  parseState,
  restartSweeps,
  type State,
  scheduleForUsers,
  stillAhead,
  TENANTS_AHEAD,
  type Work,
} from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'
import { catchUpKind } from '../../time/timekeeper'

/**
 * The progress of a tenant's ticks. All ticks up to the moment `through` are granted. A sweep grants the
 * ticks after that and up to its own `to`, user by user in order of their ids. Users up to `after` have them,
 * except the skipped ones, which come first in the next step.
 */
export const TickProgress = z.object({
  through: Moment,
  sweep: z.object({ to: Moment, after: z.string().nullable(), skipped: z.array(z.string()) }).nullable(),
})

type Progress = z.infer<typeof TickProgress>

const NOTHING_GRANTED: Progress = { through: instant(0), sweep: null }

const TICKING = "type = 'time' AND status = 'active' AND deleted IS NULL"

const RESTART = [
  `UPDATE tenants SET config_version = config_version + 1
   WHERE id IN (${TENANTS_AHEAD} UNION SELECT tenant_id FROM points_triggers WHERE ${TICKING}
     AND anchor > ?1)`,
  `UPDATE points_triggers SET anchor = ?1 WHERE ${TICKING} AND (anchor > ?1 OR tenant_id IN (${TENANTS_AHEAD}))`,
] as const

const OTHERS = `${TICKING} AND tenant_id IN (SELECT value FROM json_each(?2))`
const RESTART_OTHERS = [
  `UPDATE tenants SET config_version = config_version + 1
   WHERE id IN (SELECT tenant_id FROM points_triggers WHERE ${OTHERS} AND anchor <> ?1)`,
  `UPDATE points_triggers SET anchor = ?1 WHERE ${OTHERS}`,
] as const

const TenantsAhead = z.array(z.object({ tenant_id: z.string() }))

/**
 * Restarts the time triggers of all tenants whose ticks have run ahead of `now`, when the clock goes back
 * (C1, P4). `elsewhere` are the results of `restartTicksElsewhere` in each other database.
 */
export function restartTicks(
  db: AccountDatabase,
  now: Instant,
  elsewhere: readonly (readonly D1Result[])[],
): Statement[] {
  const ahead = elsewhere.flatMap(([first]) => TenantsAhead.parse(first?.results ?? []))
  const ids = ahead.map((row) => row.tenant_id)
  const others = ids.length === 0 ? [] : RESTART_OTHERS
  return [
    ...RESTART.map((sql) => db.statement(sql, now, 'ticks')),
    ...others.map((sql) => db.statement(sql, now, JSON.stringify(ids))),
    ...restartSweeps(db, 'ticks', now),
  ]
}

/**
 * The first statements of the batch in each other database (C1, P4). The first of them reads the tenants
 * whose ticks have run ahead of `now` there. Triggers are a part of the configuration, so only the first
 * database restarts them (B4).
 */
export const restartTicksElsewhere = (db: AccountDatabase, now: Instant): Statement[] => [
  db.statement(TENANTS_AHEAD, now, 'ticks'),
  ...restartSweeps(db, 'ticks', now),
]

/** Schedules the ticks of triggers with a new first tick, in the batch that stores the triggers (P4). */
export function scheduleTicks({ db }: Scope, triggers: readonly Trigger[]): Statement[] {
  const first = earliest(triggers, 0)
  if (first === null) return []
  // If the clock was moved past the first tick meanwhile, no user would get it. So the guard makes the write
  // fail.
  return [stillAhead(db, 'ticks', first), scheduleForUsers(db, 'ticks', { at: first, on: 'sooner' })]
}

/**
 * Grants the ticks that are due by now, before one of these triggers is changed or deleted (P4): they became
 * due under the present trigger. Returns guards for the batch of the change, so that it is not stored in the
 * middle of a later sweep of any database, nor between the sweeps of two databases.
 */
export async function settleTicks(scope: Scope, triggers: readonly Trigger[]): Promise<Statement[]> {
  if (!triggers.some(isTicking)) return []
  const { db, databases, tenant, now } = scope
  const stateOf = async (one: TenantDatabase) =>
    (await findWork(one, 'ticks', TickProgress))?.progress ?? NOTHING_GRANTED
  const own = await stateOf(db)
  // If a database has granted a tick already, all others must have granted it too.
  const others = await databases
    .usersOf(tenant.id)
    .askAll(async (one) => (one.name === db.name ? own : stateOf(one)))
  const reached = [own, ...others].map(({ through, sweep }) => sweep?.to ?? through)
  const to = Math.max(now, ...reached)
  await catchUpKind(scope, 'ticks', instant(to))
  return [betweenSweeps(db, 'ticks'), stillAhead(db, 'ticks', instant(to + 1))]
}

/** The row of due work after a step, the users that it has changed, and the configuration that it used. */
export type TickStep = State<Progress> & { changes: readonly TickChange[]; config: Configuration }

const MOST_USERS = 1_000
/** The most awards of one step. Boosts inside of awards are counted too. */
const MOST_AWARDS = 20_000

/** The ticks that the next step grants, and the users that it reads for that. */
type Plan = { progress: Progress; sweep: Progress['sweep']; ticks: readonly Tick[]; asked: Asked }

/** Changes of users, and the row of due work: `done` if all users are still as read, else `open`. */
type Chunk = { changes: readonly TickChange[]; done: State<Progress>; open: State<Progress> }

/**
 * Does one step of granting a tenant's ticks that are due by `to` (P4). A chunk of users gets all ticks of a
 * sweep in one guarded batch. Call it again with the row that it returns, until nothing is due by `to`.
 * Throws the error of D1 if nothing was stored because of it.
 */
export async function tickStep(context: TenantContext, work: Work<Progress>, to: Instant): Promise<TickStep> {
  const { db } = context
  const progress = work.progress ?? NOTHING_GRANTED
  let config = await recentConfiguration(context)
  for (;;) {
    const plan = planOf(config, progress, to)
    const { version, ...found } = await readTickUsers(db, plan.asked, plan.ticks[0]?.due ?? to)
    if (version === config.version) {
      const chunk = chunkOf(config, work, plan, found)
      return { ...(await write(db, config, work, chunk, to)), config }
    }
    config = await configurationAt(context, version)
  }
}

function planOf(config: Configuration, progress: Progress, to: Instant): Plan {
  const end = progress.sweep?.to ?? endOfSweep(config, progress.through, to)
  if (end === null) return { progress, sweep: null, ticks: [], asked: { ids: [] } }
  const sweep = progress.sweep ?? { to: end, after: null, skipped: [] }
  const ticks = ticksBetween(config, progress.through, end)
  const { after, skipped } = sweep
  if (ticks.length === 0 || skipped.length > 0) return { progress, sweep, ticks, asked: { ids: skipped } }
  const limit = Math.min(MOST_USERS, Math.ceil(MOST_AWARDS / ticks.length))
  return { progress, sweep, ticks, asked: { after, limit } }
}

function chunkOf(
  config: Configuration,
  work: Work<Progress>,
  { progress: { through }, sweep, ticks, asked }: Plan,
  { users, isAll }: { users: readonly TickUser[]; isAll: boolean },
): Chunk {
  const [first] = ticks
  if (sweep === null || first === undefined) {
    const progress = sweep === null ? work.progress : { through: sweep.to, sweep: null }
    const done = { dueAt: nextDue(config, sweep?.to ?? through), progress }
    return { changes: [], done, open: done }
  }
  const { changes, last } = granted(granting(config, ticks, newId), users, asked)
  const after = 'ids' in asked ? sweep.after : (last?.id ?? sweep.after)
  const open = { dueAt: first.due, progress: { through, sweep: { to: sweep.to, after, skipped: [] } } }
  const isEnd = 'limit' in asked && isAll && last === users.at(-1)
  if (!isEnd) return { changes, done: open, open }
  // If no tick is due any more, the next step finds that out and deletes the row.
  const dueAt = nextDue(config, sweep.to) ?? first.due
  return { changes, done: { dueAt, progress: { through: sweep.to, sweep: null } }, open }
}

/** Grants ticks until they are too many for one batch. Users read by id fit: they were in one before. */
function granted(
  grant: (user: TickUser) => TickChange | null,
  users: readonly TickUser[],
  asked: Asked,
): { changes: TickChange[]; last: TickUser | undefined } {
  const changes: TickChange[] = []
  let weight = 0
  for (const user of users) {
    const change = grant(user)
    if (change === null) continue
    changes.push(change)
    for (const { boosts } of change.awards) weight += 1 + boosts.length
    if (weight >= MOST_AWARDS && 'limit' in asked) return { changes, last: user }
  }
  return { changes, last: users.at(-1) }
}

async function write(
  db: TenantDatabase,
  config: Configuration,
  work: Work<Progress>,
  { changes, done, open }: Chunk,
  to: Instant,
): Promise<State<Progress> & Pick<TickStep, 'changes'>> {
  const isAsItWas = ({ dueAt, progress }: State<Progress>) =>
    dueAt === work.dueAt && JSON.stringify(progress) === JSON.stringify(work.progress)
  if (changes.length === 0 && isAsItWas(done)) return { ...done, changes }
  const rows = { done, open }
  try {
    const outbox = changes.length === 0 ? [] : await outboxInsertsOfTicks(db, config, changes)
    const written = await db.batchOf({
      configuration: configurationUnchanged(db, config.version),
      progress: work.progressUnchanged(),
      ...(changes.length === 0
        ? { row: work.put(done) }
        : writeTicks(db, 'ticks', changes, to, rows, outbox)),
    })
    if (changes.length === 0) return { ...done, changes }
    const row = parseState(TickProgress, written.row)
    const skipped = new Set(row.progress?.sweep?.skipped)
    return { ...row, changes: changes.filter(({ before }) => !skipped.has(before.id)) }
  } catch (error) {
    const { dueAt = null, progress = null } = (await findWork(db, 'ticks', TickProgress)) ?? {}
    const row = { dueAt, progress }
    if (!isConflict(error) && isAsItWas(row)) throw error
    return { ...row, changes: [] }
  }
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    ticks: true
  }
}

/** Ticks of time triggers (P4). */
export const ticksJob = defineJob({
  kind: 'ticks',
  of: 'users',
  progress: TickProgress,
  // `restartTicks` schedules ticks again when the clock goes back.
  keepsItsTime: true,
  isFirst: true,
  step: (context, work, { by }) =>
    bulkStep(context, 'ticks', async () => {
      const { changes, config } = await tickStep(context, work, by)
      const last = changes.reduce((latest, { awards }) => Math.max(latest, ...awards.map(({ at }) => at)), 0)
      return { changes, config, changedAt: instant(last) }
    }),
})
