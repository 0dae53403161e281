import { presentState } from '../../config/configuration.service'
import type { Configuration } from '../../config/configuration.types'
import type { Cost } from '../../db/database'
import { isConflict } from '../../db/guard'
import { type DueWork, progressUnchanged, storeState } from '../../jobs/due-work.repository'
import type { Job } from '../../jobs/job.types'
import { type Instant, instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { systemNow } from '../../lib/system-clock'
import { HOUR, MINUTE } from '../../lib/units'
import { utcDay } from '../../lib/zone'
import type { TenantContext } from '../../runtime/context'
import { type Progress, parseProgress, progressText } from './pass.codec'
import { countUsers, firstLateMoment, ladderOf, nextRange } from './pass.repository'

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
  const isAll = pass.ladder !== progress.ladder
  const levelled = config.systems.filter(({ levels }) => levels.length > 0).length
  let { after } = pass
  let range = await nextRange(db, after, { isAll, levelled })
  for (let ranges = 1; ranges < MOST_RANGES && range.users === 0 && !range.isEnd; ranges += 1) {
    after = range.last
    range = await nextRange(db, after, { isAll, levelled })
  }
  const { last, users, isEnd } = range
  const next: Progress = isEnd
    ? { updated: pass.began, since: pass.since, ladder: pass.ladder, pass: null }
    : { ...progress, pass: { ...pass, after: last } }
  const since = progress.since ?? 0
  const counts = users > 0 ? countUsers(db, config, { after, last, since, isAll, today: utcDay(now) }) : []
  // Due now, so that other work that is due goes first.
  const dueAt = isEnd ? nextHour(now) : now
  try {
    await db.batch([
      progressUnchanged(db, work, work.dueAt),
      ...counts,
      storeState(db, work, { progress: progressText(next), dueAt }),
    ])
    if (users > 0) console.log(stepLine(context, users, systemNow() - began, before))
  } catch (error) {
    // Another run has done the step, or the clock went back.
    if (!isConflict(error)) throw error
  }
}

/** The log line of a step that has counted users, as JSON: their number, and the cost. */
function stepLine({ db, cost }: TenantContext, users: number, milliseconds: number, before: Cost): string {
  const d1 = {
    roundTrips: cost.roundTrips - before.roundTrips,
    rowsRead: cost.rowsRead - before.rowsRead,
    rowsWritten: cost.rowsWritten - before.rowsWritten,
  }
  return JSON.stringify({ level: 'info', work: 'analytics', tenant: db.tenantId, milliseconds, users, d1 })
}

/** A pass that begins now. `since` is for the pass after it. */
async function newPass(
  { db }: TenantContext,
  config: Configuration,
  now: Instant,
): Promise<NonNullable<Progress['pass']>> {
  const late = await firstLateMoment(db)
  const since = Math.min(now - MARGIN, late ?? now)
  const ladder = namedId(instant(0), JSON.stringify(ladderOf(config)))
  return { began: now, since, ladder, after: '' }
}

const nextHour = (now: Instant): Instant => instant((Math.floor(now / HOUR) + 1) * HOUR)
