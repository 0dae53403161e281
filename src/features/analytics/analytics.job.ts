import { presentState } from '../../config/configuration.service'
import type { Configuration } from '../../config/configuration.types'
import type { Cost } from '../../db/database'
import { isConflict } from '../../db/guard'
import {
  clearRequests,
  type DueWork,
  progressUnchanged,
  rescheduled,
  storeState,
} from '../../jobs/due-work.repository'
import type { Job } from '../../jobs/job.types'
import { type Instant, instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { systemNow } from '../../lib/system-clock'
import { HOUR, MINUTE } from '../../lib/units'
import { utcDay } from '../../lib/zone'
import type { TenantContext } from '../../runtime/context'
import { countUsers, ladderOf, nextRange } from './count.repository'
import { type Pass, type Progress, parseProgress, progressText } from './pass.codec'
import { finishPass, readPasses } from './passes.repository'

declare module '../../jobs/due-kinds.types' {
  interface DueKinds {
    analytics: true
  }
}

/** By how much the moment of a row may be before its commit: clocks differ, and commits may be slow. */
const MARGIN = 10 * MINUTE
/** The most ranges without a changed user that one step passes. */
const MOST_RANGES = 10

/** The analytics: counts the changes of users since the last pass, at each full hour (I1). */
export const analyticsJob: Job = {
  kind: 'analytics',
  run: (context, work) => analyticsStep(context, work),
}

/**
 * Does one step of a pass: finds the next users who have changed, and counts their changes. It is one
 * transaction, so a step that is repeated, or interrupted, counts nothing twice (I1).
 */
export async function analyticsStep(context: TenantContext, work: DueWork): Promise<void> {
  const { db, cost } = context
  const [began, before] = [systemNow(), { ...cost }]
  const { config, clock } = await presentState(context)
  if (config === null) return
  const now = clock ?? systemNow()
  const progress = parseProgress(work.progress)
  const pass = progress.pass ?? (await newPass(context, config, now))
  const { after, last, users, isEnd } = await changedUsers(context, config, pass)
  const counts = users === 0 ? [] : countUsers(db, config, { ...pass, after, last, today: utcDay(now) })
  try {
    await db.batch([
      progressUnchanged(db, work, work.dueAt),
      // The changes from here on need another pass.
      ...(progress.pass === null ? [clearRequests(db, work)] : []),
      ...counts,
      ...(isEnd
        ? end(context, work, pass, now)
        : [advance(context, work, { ...progress, pass: { ...pass, after: last } }, now)]),
    ])
    if (users > 0) console.log(stepLine(context, users, systemNow() - began, before))
  } catch (error) {
    // Another run has done the step, or the clock went back.
    if (!isConflict(error)) throw error
  }
}

/** The next range with changed users after those that a pass has visited, or the last one that was read. */
async function changedUsers({ db }: TenantContext, config: Configuration, { isAll, after: first }: Pass) {
  const levelled = config.systems.filter(({ levels }) => levels.length > 0).length
  let after = first
  let range = await nextRange(db, after, { isAll, levelled })
  for (let ranges = 1; ranges < MOST_RANGES && range.users === 0 && !range.isEnd; ranges += 1) {
    after = range.last
    range = await nextRange(db, after, { isAll, levelled })
  }
  return { after, ...range }
}

/** Stores how far a pass has got. The work is due now, so other work that is due goes first. */
const advance = ({ db }: TenantContext, work: DueWork, progress: Progress, now: Instant) =>
  storeState(db, work, { progress: progressText(progress), dueAt: now })

/** Ends a pass. The work is due again at the next full hour if a user has changed meanwhile. */
const end = ({ db }: TenantContext, work: DueWork, { began, nextSince, ladder }: Pass, now: Instant) => [
  finishPass(db, { updated: began, since: nextSince, ladder }),
  storeState(db, work, { progress: null, dueAt: nextHour(now) }),
  rescheduled(db, { ...work, asked: 0 }, null),
]

/** The log line of a step that has counted users, as JSON: their number, and the cost. */
function stepLine({ db, cost }: TenantContext, users: number, milliseconds: number, before: Cost): string {
  const d1 = {
    roundTrips: cost.roundTrips - before.roundTrips,
    rowsRead: cost.rowsRead - before.rowsRead,
    rowsWritten: cost.rowsWritten - before.rowsWritten,
  }
  return JSON.stringify({ level: 'info', work: 'analytics', tenant: db.tenantId, milliseconds, users, d1 })
}

/** A pass that begins now. */
async function newPass({ db }: TenantContext, config: Configuration, now: Instant): Promise<Pass> {
  const { last, firstLate } = await readPasses(db)
  const ladder = namedId(instant(0), JSON.stringify(ladderOf(config)))
  return {
    began: now,
    since: last?.since ?? 0,
    nextSince: Math.min(now - MARGIN, firstLate ?? now),
    ladder,
    isAll: ladder !== last?.ladder,
    after: '',
  }
}

const nextHour = (now: Instant): Instant => instant((Math.floor(now / HOUR) + 1) * HOUR)
