import type { Context, TenantContext } from '../../context'
import { isConflict } from '../../db/guard'
import { type Instant, instant, systemNow } from '../../shared/clock'
import { backdateStep } from '../achievements/backdate.service'
import type { Configuration } from '../configuration/configuration'
import { presentConfiguration } from '../configuration/configuration.service'
import { tendCourier } from '../couriers/couriers.service'
import { inboxStep } from '../inbox/process.service'
import { definitionOf, TendReply } from '../leaderboards/board.messages'
import { boardObject, deliver, type InputChange } from '../leaderboards/delivery.service'
import { tellNews } from '../leaderboards/news.service'
import { noticeStep } from '../notifications/notices.service'
import { scheduleStep } from '../notifications/schedule.service'
import { drain } from '../outbox/drain.service'
import { firstDue } from '../outbox/points-told.repository'
import { boostStep } from '../points/boosts.told.service'
import { tickStep } from '../points/ticks.service'
import { judgeStreaks } from '../streaks/deadlines.service'
import { recountStep } from '../streaks/settings.service'
import { purgeStep } from '../tenants/purge.service'
import { erasureStep } from '../users/erasure.service'
import { spreadStep } from '../wrapped/spreads.service'
import { type DueWork, nextWorkOf, rescheduled, ticksOf } from './timekeeper.repository'

/** How long work is left alone after it has failed, and after live events were faster, in milliseconds. */
const PAUSE = 60_000
const SOON = 1_000
/** How long a step that changes many users waits for a leaderboard, in milliseconds, of which nobody waits to hear. */
const BULK_PATIENCE = 10_000

/** How long after their time, in milliseconds, ticks are granted and streaks judged, and runs are made final, so that what was on its way has arrived. */
export type Grace = { ticks: number; finals: number }

/**
 * Does what of a tenant's work is due by a moment, in order of due time, at most so many steps of it. Every step is idempotent:
 * what it has done is in D1 before the next one begins. Where something fails that is only for one leaderboard, or for one walk over the
 * users, it throws if that is wanted; else that waits, so that it holds up nothing else. Where the
 * clock is moved, `from` is where it stood: what is to be told is told on the way. While a clock is set (`isSet`), couriers are waited for, so that
 * whoever moves it finds their work done or still to be done, never under way (C1).
 */
export async function workOff(
  context: TenantContext,
  {
    to,
    steps,
    mustAll,
    grace,
    from = null,
    isSet = mustAll,
  }: {
    to: Instant
    steps: number
    mustAll: boolean
    grace: Grace
    from?: Instant | null
    isSet?: boolean
  },
): Promise<void> {
  let now = from
  for (let step = 0; step < steps; step += 1) {
    // Where time is made to pass, what was told before is told before anything else happens.
    if (now !== null) await drain(context, { by: now, mustAll: true })
    const work = await nextWorkOf(context.db)
    const [first, ...others] = work.filter((one) => wantedAt(one, grace) <= to)
    if (first === undefined) {
      if (now === null || now === to) return
      // What is told in the end may make a courier's work due.
      now = to
      continue
    }
    if (now !== null) now = instant(Math.max(now, Math.min(first.dueAt, to)))
    // Both come in passes: one ends where something else is due.
    const by = instant(Math.max(first.dueAt, Math.min(to - grace.ticks, others[0]?.dueAt ?? to)))
    if (first.kind === 'ticks') {
      await grantTicks(context, first, by)
      continue
    }
    if (first.kind === 'streaks') {
      await carryOut(context, 'streaks', () => judgeStreaks(context, by))
      continue
    }
    try {
      const next = others[0]?.dueAt ?? null
      await workOn(context, first, { until: to, grace: grace.finals, mustAll, isSet, next })
    } catch (error) {
      const { kind, subject } = first
      const { tenantId } = context.db
      // Live events were faster each time, which is no fault: the others have their turn before it is tried again.
      if (isConflict(error)) {
        if (!mustAll) await context.db.batch([rescheduled(context.db, first, instant(to + SOON))])
        continue
      }
      if (mustAll) throw error
      console.error(JSON.stringify({ level: 'error', tenantId, work: kind, subject, error: String(error) }))
      await context.db.batch([rescheduled(context.db, first, instant(to + PAUSE))])
    }
  }
}

/** Does a step of work that is not for all users alike. */
async function workOn(
  context: TenantContext,
  work: DueWork,
  {
    mustAll,
    isSet,
    ...when
  }: { until: Instant; grace: number; mustAll: boolean; isSet: boolean; next: Instant | null },
): Promise<void> {
  switch (work.kind) {
    case 'leaderboard':
      return tendBoard(context, work, when)
    case 'spreads':
      return spreadStep(context, work)
    case 'recount':
      return carryOut(context, work.kind, () => recountStep(context, work))
    case 'inbox':
      return carryOut(context, work.kind, () => inboxStep(context, work, when.until))
    case 'erasure':
      return erasureStep(context, work, when)
    case 'purge':
      return purgeStep(context, work)
    case 'schedule':
      return scheduleStep(context, work, when.until, when.next)
    case 'notices':
      return noticeStep(context, work, when.until)
    case 'boosts':
      return boostStep(context, work, when.until)
    case 'backdate':
      return carryOut(context, work.kind, () => backdateStep(context, work))
    case 'outbox':
      return tellPoints(context, work, mustAll)
    case 'courier':
      return tendDestination(context, work, when.until, isSet)
    case 'streaks':
    case 'ticks':
      return
  }
}

/** Tells what has become due of points, and notes when the next of them is (W5). */
async function tellPoints(context: TenantContext, work: DueWork, mustAll: boolean): Promise<void> {
  await drain(context, { by: work.dueAt, mustAll })
  await context.db.batch([rescheduled(context.db, work, await firstDue(context.db))])
}

/** When a piece of work is to be done. */
export const wantedAt = ({ kind, dueAt }: DueWork, grace: Grace): Instant =>
  instant(dueAt + (kind === 'ticks' || kind === 'streaks' ? grace.ticks : 0))

/** Grants all ticks that are due by a moment. */
export async function workOffTicks(context: TenantContext, to: Instant): Promise<void> {
  for (;;) {
    const [ticks] = await ticksOf(context.db)
    if (ticks === undefined || ticks.dueAt > to) return
    await grantTicks(context, ticks, to)
  }
}

/** Grants a chunk of ticks, and tells the leaderboards of it. */
async function grantTicks(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  await carryOut(context, 'ticks', async () => {
    const { changes, config } = await tickStep(context, work, until)
    const at = changes.reduce((last, { awards }) => Math.max(last, ...awards.map((award) => award.at)), 0)
    return { changes, config, at: instant(at) }
  })
}

/** What a step did to users, under which configuration, and the day on which ranks move by it. */
type Step = { changes: readonly InputChange[]; config: Configuration; at: Instant }

/** Does a step that changes many users, tells the leaderboards of it, one call each, and logs what it cost. */
async function carryOut(
  context: TenantContext,
  kind: DueWork['kind'],
  work: () => Promise<Step | null>,
): Promise<void> {
  const [began, before] = [systemNow(), spent(context)]
  const step = await work()
  if (step === null || step.changes.length === 0) return
  const { changes, config, at } = step
  await deliver(context, config, changes, at, { patience: BULK_PATIENCE, wanted: false })
  const after = spent(context)
  console.log(stepLine(context.db.tenantId, kind, systemNow() - began, changes, { before, after }))
}

/** What a context has cost so far; `objectRows` are those that leaderboards have written. */
const spent = ({ cost, notes }: Context) => ({ ...cost, objectRows: Number(notes.objectRows ?? 0) })
type Spent = ReturnType<typeof spent>

/** The log line of a step, as JSON: how many users it changed, how many awards they got, and what that cost. Nothing of a user. */
function stepLine(
  tenantId: string,
  kind: DueWork['kind'],
  milliseconds: number,
  changes: readonly InputChange[],
  { before, after }: { before: Spent; after: Spent },
): string {
  return JSON.stringify({
    level: 'info',
    work: kind,
    tenant: tenantId,
    milliseconds,
    users: changes.length,
    awards: changes.reduce((sum, { awards }) => sum + awards.length, 0),
    d1: {
      roundTrips: after.roundTrips - before.roundTrips,
      rowsRead: after.rowsRead - before.rowsRead,
      rowsWritten: after.rowsWritten - before.rowsWritten,
    },
    objectRows: after.objectRows - before.objectRows,
  })
}

/** Has a courier carry what is due; only under a set clock is that waited for, since a slow receiver must hold up nothing else (W4, C1). */
async function tendDestination(
  context: TenantContext,
  work: DueWork,
  until: Instant,
  wait: boolean,
): Promise<void> {
  const now = wait ? work.dueAt : until
  const dueAt = await tendCourier(context, work.subject, { now, wait })
  await context.db.batch([rescheduled(context.db, work, dueAt)])
}

/**
 * Has a leaderboard do what is due, tells what comes of it, and notes when it wants to be called again. Where this breaks off, the
 * leaderboard still has what it had to tell.
 */
async function tendBoard(
  context: TenantContext,
  work: DueWork,
  when: { until: Instant; grace: number },
): Promise<void> {
  const config = await presentConfiguration(context)
  const board = config.leaderboards.find(({ id }) => id === work.subject)
  const object = boardObject(context, work.subject)
  if (board === undefined) {
    await object.forget()
    await context.db.batch([rescheduled(context.db, work, null)])
    return
  }
  const tending = { definition: definitionOf(config, board), now: work.dueAt, ...when }
  const { dueAt, news, hasMore } = TendReply.parse(await object.tend(tending))
  if (news.length > 0) {
    await tellNews(context, config, board, news, when.grace === 0 ? work.dueAt : when.until)
    await object.handed({ rows: news.map(({ no, id }) => [no, id]) })
  }
  await context.db.batch([rescheduled(context.db, work, hasMore ? work.dueAt : dueAt)])
}
