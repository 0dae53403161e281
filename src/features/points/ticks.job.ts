import { configurationAt, recentConfiguration } from '../../configuration/configuration.repository'
import type { Configuration } from '../../configuration/configuration.types'
import { bulkStep } from '../../leaderboards/bulk-step.service'
import { type Instant, instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import type { TenantContext } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { configurationUnchanged, isConflict } from '../../platform/guard'
import {
  endOfSweep,
  granting,
  nextDue,
  type Tick,
  type TickChange,
  type TickUser,
  ticksBetween,
} from '../../rules/points/ticks.rules'
import { type Asked, readTickUsers, writeTicks } from '../../store/grants.repository'
import { outboxInsertsOfTicks } from '../../store/tick-outbox.builder'
import {
  type DueWork,
  progressUnchanged,
  storeState,
  type WorkState,
  workState,
} from '../../time/due-work.repository'
import type { Job } from '../../time/job.types'
import { parseState } from '../../time/sweeps.repository'
import { type Progress, parseProgress } from './ticks.repository'

/**
 * The result of a step: the row of due work after it, the users that it has changed, and the configuration
 * that it used.
 */
export type TickStep = WorkState & { changes: readonly TickChange[]; config: Configuration }

/** The most users of one step. */
const MOST_USERS = 1_000
/** The most awards of one step. Boosts inside of awards are counted too. */
const MOST_AWARDS = 20_000

/** The ticks that the next step grants, and the users that it reads for that. */
type Plan = { progress: Progress; sweep: Progress['sweep']; ticks: readonly Tick[]; asked: Asked }

/** Changes of users, and the row of due work: `done` if all users are still as read, else `open`. */
type Chunk = { changes: readonly TickChange[]; done: WorkState; open: WorkState }

/**
 * Does one step of granting a tenant's ticks that are due by `to` (P4). A chunk of users gets all ticks of a
 * sweep, in one guarded batch. Call it again with the row that it returns, until nothing is due by `to`. If
 * another run did the step, or the configuration changed, nothing is stored. Throws the error of D1 if
 * nothing was stored because of it.
 */
export async function tickStep(context: TenantContext, work: DueWork, to: Instant): Promise<TickStep> {
  const { db } = context
  const progress = parseProgress(work.progress)
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
  work: DueWork,
  { progress: { through }, sweep, ticks, asked }: Plan,
  { users, isAll }: { users: readonly TickUser[]; isAll: boolean },
): Chunk {
  const [first] = ticks
  if (sweep === null || first === undefined) {
    const done = {
      dueAt: nextDue(config, sweep?.to ?? through),
      progress: sweep === null ? work.progress : stored({ through: sweep.to, sweep: null }),
    }
    return { changes: [], done, open: done }
  }
  const { changes, last } = granted(granting(config, ticks, newId), users, asked)
  const after = 'ids' in asked ? sweep.after : (last?.id ?? sweep.after)
  const open = {
    dueAt: first.due,
    progress: stored({ through, sweep: { to: sweep.to, after, skipped: [] } }),
  }
  const isEnd = 'limit' in asked && isAll && last === users.at(-1)
  if (!isEnd) return { changes, done: open, open }
  // If no tick is due any more, the next step finds that out and deletes the row.
  const dueAt = nextDue(config, sweep.to) ?? first.due
  return { changes, done: { dueAt, progress: stored({ through: sweep.to, sweep: null }) }, open }
}

const stored = (progress: Progress): string => JSON.stringify(progress)

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

/** Stores a chunk in one batch. Returns the row of due work after it, and the changes that were stored. */
async function write(
  db: TenantDatabase,
  config: Configuration,
  work: DueWork,
  { changes, done, open }: Chunk,
  to: Instant,
): Promise<WorkState & Pick<TickStep, 'changes'>> {
  const isAsItWas = (row: WorkState) => row.dueAt === work.dueAt && row.progress === work.progress
  if (changes.length === 0 && isAsItWas(done)) return { ...done, changes }
  try {
    const written = await db.batchOf({
      configuration: configurationUnchanged(db, config.version),
      progress: progressUnchanged(db, work),
      ...(changes.length === 0
        ? { row: storeState(db, work, done) }
        : writeTicks(
            db,
            'ticks',
            changes,
            to,
            { done, open },
            await outboxInsertsOfTicks(db, config, changes),
          )),
    })
    if (changes.length === 0) return { ...done, changes }
    const row = parseState(written.row)
    const skipped = new Set(parseProgress(row.progress).sweep?.skipped)
    return { ...row, changes: changes.filter(({ before }) => !skipped.has(before.id)) }
  } catch (error) {
    const row = await workState(db, 'ticks')
    if (!isConflict(error) && isAsItWas(row)) throw error
    return { ...row, changes: [] }
  }
}

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    ticks: true
  }
}

/** Ticks of time triggers (P4). */
export const ticksJob: Job = {
  kind: 'ticks',
  isOfUsers: true,
  // `restartTicks` schedules ticks again when the clock goes back.
  keepsItsTime: true,
  isFirst: true,
  run: (context, work, { by }) => grantTicks(context, work, by),
}

async function grantTicks(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  await bulkStep(context, 'ticks', async () => {
    const { changes, config } = await tickStep(context, work, until)
    const last = changes.reduce((latest, { awards }) => Math.max(latest, ...awards.map(({ at }) => at)), 0)
    return { changes, config, changedAt: instant(last) }
  })
}
