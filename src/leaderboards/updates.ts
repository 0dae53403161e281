import * as z from 'zod'
import { readTestClock } from '../access/clock.sql.ts'
import { presentConfiguration, presentState } from '../configuration/configuration'
import type { Configuration, Leaderboard } from '../configuration/model'
import { DAY, HOUR, type Instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { jsonBytes, MOST_AT_ONCE, packsOf } from '../lib/packed'
import { systemNow, within } from '../lib/system-clock'
import { offsetMinutes } from '../lib/zone'
import type { Context, Scope, TenantContext } from '../platform/context'
import type { Statement, TenantDatabase } from '../platform/database'
import { logProblem, logWork } from '../platform/log'
import { statusOf } from '../rules/runs.rules'
import type { AwardRecord, EventRecord, Placement, Placements, Profile, UserState } from '../rules/state'
import { schedule, type Work } from '../time/due-work.sql.ts'
import { defineJob, type When } from '../time/job'
import { wakeTimekeeper } from '../time/timekeeper'
import { type Amount, definitionOf, groupIn, inputOf, type ScoreChange } from './board'
import { BoardEventRow } from './notify/board-events.sql.ts'
import { sendBoardEvents } from './notify/send'
import type { LeaderboardObject } from './object/board.object'
import { scoreOf, scoreOfMetric } from './score.rules'

/** How long an event waits for a leaderboard, in milliseconds. After that it responds without it. */
const PATIENCE = 3_000
/** The most bytes of ids in one queue message, which may have 128,000 bytes, and the most ids. */
const REPAIR_BYTES = 60_000
const MOST_REPAIRED = 100

/** No change has this `seq`. As the previous one, it makes a leaderboard recount the user. */
const NO_CHANGE = -2

type Attributes = { profile: Pick<Profile, 'attributes' | 'tz'> }

/** The part of a user's change that leaderboards may follow. */
export type InputChange = {
  before: (Pick<UserState, 'lastSeqByInput'> & Attributes) | null
  after: Pick<UserState, 'id' | 'iid' | 'seq' | 'changed'> & Attributes
  event: EventRecord | null
  /** The event that the change voids. Boards by its metric count the user again (V2). */
  voided?: Pick<EventRecord, 'metricId' | 'at' | 'utcOffset' | 'value'>
  awards: readonly AwardRecord[]
  /** By how much the length of the streak has changed. */
  growth: number
  /** Whether the streak was extended. It may be as long as before, if it was lost first or recounted. */
  isExtended?: boolean
  /** Whether the streak was recounted, so that it does not continue the streak that was known before (S9). */
  replacesRuns?: boolean
}

/** What is needed to send changes to leaderboards. Objects that act for many users have it too. */
export type BoardContext = Pick<Context, 'env' | 'notes' | 'waitUntil'>

/** The object of a leaderboard. */
export function boardObject(
  { env }: Pick<BoardContext, 'env'>,
  boardId: string,
): DurableObjectStub<LeaderboardObject> {
  return env.LEADERBOARD.getByName(boardId)
}

/**
 * Notifies leaderboards of changes that are in D1, all at once, with one call for each leaderboard that the
 * changes concern. The last of the changes happened at `changedAt`. Returns a promise for each change: it
 * resolves to the placements by leaderboard, as soon as the leaderboards that it concerns have responded.
 * Waits `patience` ms for each leaderboard. One that does not respond in time is left out, and is notified
 * later through the queue (L11). `wanted`: whether placements are wanted.
 */
export function deliverEach(
  context: BoardContext,
  config: Configuration,
  changes: readonly InputChange[],
  changedAt: Instant,
  { patience, wanted } = { patience: PATIENCE, wanted: true },
): Promise<Placements>[] {
  const placements = changes.map(() => new Map<string, Placement>())
  const waits: Promise<void>[][] = changes.map(() => [])
  const calls = config.leaderboards.flatMap((board) => {
    const concerned = changes.flatMap((change, index) => {
      const score = scoreChange(board, change)
      return score === null ? [] : [{ score, index }]
    })
    return concerned.length === 0 || statusOf(board, changedAt) !== 'active' ? [] : [{ board, concerned }]
  })
  if (calls.length > 0) {
    count(context, 'objectWaves', 1)
    count(context, 'objectCalls', calls.length)
  }
  for (const { board, concerned } of calls) {
    const scores = concerned.map(({ score }) => score)
    const work = call(context, config, board, scores, { changedAt, patience, wanted }).then((found) => {
      for (const [nth, placement] of found.entries()) {
        const index = concerned[nth]?.index
        if (placement !== null && index !== undefined) placements[index]?.set(board.id, placement)
      }
    })
    for (const { index } of concerned) waits[index]?.push(work)
  }
  return placements.map((places, index) => Promise.all(waits[index] ?? []).then(() => places))
}

/** The same for all changes together. */
export const deliver = (...changes: Parameters<typeof deliverEach>): Promise<Placements[]> =>
  Promise.all(deliverEach(...changes))

/** The same for changes whose response has no placements. */
export async function updateBoards(
  context: BoardContext,
  config: Configuration,
  changes: readonly InputChange[],
  changedAt: Instant,
): Promise<void> {
  await deliver(context, config, changes, changedAt, { patience: PATIENCE, wanted: false })
}

function count(
  { notes }: BoardContext,
  name: 'objectWaves' | 'objectCalls' | 'objectRows',
  added: number,
): void {
  notes[name] = (notes[name] ?? 0) + added
}

async function call(
  context: BoardContext,
  config: Configuration,
  board: Leaderboard,
  changes: ScoreChange[],
  { changedAt, patience, wanted }: { changedAt: Instant; patience: number; wanted: boolean },
): Promise<(Placement | null)[]> {
  const definition = definitionOf(config, board)
  const given: (Placement | null)[] = []
  // One call, unless groups are very long.
  for (const part of packsOf(changes, MOST_AT_ONCE, changeBytes)) {
    // The event is stored, and must not fail any more, also if the call throws at once.
    try {
      const delivery = { definition, at: changedAt, changes: part, wanted }
      const work = boardObject(context, board.id).deliver(delivery)
      const { placements, rowsWritten } = await within(patience, work)
      count(context, 'objectRows', rowsWritten)
      given.push(...placements)
    } catch (error) {
      logProblem('warn', { leaderboard: board.id, error: `leaderboard not reached: ${String(error)}` })
      sendRepairs(context, config.tenantId, board.id, changes.slice(given.length))
      return given
    }
  }
  return given
}

/** The most bytes of a change in a call: two for each character, and a fixed number for each number. */
const changeBytes = ({ userId, group, input }: ScoreChange): number =>
  200 + 2 * (userId.length + (group?.length ?? 0)) + 60 * (input?.amounts.length ?? 0)

/** Sends the users of missed changes to the queue. If that fails, the hourly comparison finds them (L12). */
function sendRepairs(
  { env, waitUntil }: BoardContext,
  tenantId: string,
  leaderboardId: string,
  changes: readonly ScoreChange[],
): void {
  const missed = [...new Set(changes.map(({ userId }) => userId))]
  const weigh = (userId: string) => Math.max(jsonBytes(userId) + 1, REPAIR_BYTES / MOST_REPAIRED)
  for (const userIds of packsOf(missed, REPAIR_BYTES, weigh)) {
    const message: Repair = { tenantId, leaderboardId, userIds }
    const send = async () => env.REPAIRS.send(message)
    waitUntil(send().catch(() => undefined))
  }
}

/** The queue message that makes a leaderboard recount users. */
export const Repair = z.object({
  tenantId: z.string(),
  leaderboardId: z.string(),
  userIds: z.array(z.string()),
})
export type Repair = z.infer<typeof Repair>

declare module '../platform/env' {
  interface Bindings {
    REPAIRS: Queue<Repair>
  }
}

/** The part of a change that concerns a leaderboard; null if it does not concern it. */
function scoreChange(board: Leaderboard, change: InputChange): ScoreChange | null {
  const { before, after } = change
  const amounts = amountsOf(board, change)
  const [was, is] = [before?.profile.attributes, after.profile.attributes]
  // A change that passes no attributes keeps the map, so most changes need no groups.
  const hasMoved = was !== undefined && was !== is && groupIn(board, was) !== groupIn(board, is)
  if (amounts === null && !hasMoved) return null
  const isRecounted =
    (board.rankBy === 'streak' && change.replacesRuns === true) ||
    (board.rankBy === 'metric' && change.voided !== undefined)
  const previous = isRecounted ? NO_CHANGE : (before?.lastSeqByInput.get(inputOf(board) ?? '') ?? null)
  return {
    userId: after.id,
    iid: after.iid,
    seq: after.seq,
    group: groupIn(board, is),
    input: amounts && { previous, amounts },
  }
}

function amountsOf(
  board: Leaderboard,
  { event, voided, awards, growth, isExtended = false, after }: InputChange,
): Amount[] | null {
  switch (board.rankBy) {
    case 'streak':
      return growth === 0 && !isExtended
        ? null
        : [[after.changed, offsetMinutes(after.profile.tz ?? 'UTC', after.changed), scoreOf(growth)]]
    case 'metric': {
      const counted = event ?? voided ?? null
      return counted !== null && counted.metricId === board.metricId
        ? [[counted.at, counted.utcOffset, scoreOfMetric(counted.value)]]
        : null
    }
    case 'points': {
      const counted = awards.filter(({ systemId }) => systemId === board.systemId)
      return counted.length === 0
        ? null
        : counted.map(({ at, utcOffset, awarded }) => [at, utcOffset, scoreOf(awarded)])
    }
    default:
      return unreachable(board.rankBy)
  }
}

/** Recounts users after missed changes, once or more. The hourly comparison does the rest (L11, L12). */
export async function repair(context: Context, message: Message): Promise<void> {
  try {
    const { tenantId, leaderboardId, userIds } = Repair.parse(message.body)
    // Leaderboards of an archived or erased tenant are not repaired.
    const { config } = await presentState({ ...context, db: context.db.of(tenantId) })
    const board = config?.leaderboards.find(({ id }) => id === leaderboardId)
    if (config !== null && board !== undefined) {
      const now = (await readTestClock(context.db)) ?? systemNow()
      await boardObject(context, board.id).recount({ definition: definitionOf(config, board), now, userIds })
    }
    message.ack()
  } catch (error) {
    logProblem('warn', { error: `not repaired: ${String(error)}` })
    message.retry()
  }
}

/** Makes the upkeep of leaderboards due in the batch of a change, and begins it after that (L3, L7). */
export const upkeepOf = (scope: Scope, ids: readonly string[]) => ({
  statements: ids.map((id) => schedule(scope.db, 'leaderboard', { at: scope.now, subject: id })),
  after: ids.length === 0 ? undefined : () => wakeTimekeeper(scope),
})

/**
 * Statements that make the upkeep of leaderboards that rank by streak due. They are part of the batch that
 * switches the tenant's streaks on or off, so that these leaderboards follow, and webhooks learn of the
 * changes (S10, W5).
 */
export function streakBoardsDue(
  db: TenantDatabase,
  { leaderboards }: Pick<Configuration, 'leaderboards'>,
  now: Instant,
): Statement[] {
  return leaderboards
    .filter(({ rankBy, status }) => rankBy === 'streak' && (status === 'active' || status === 'scheduled'))
    .map(({ id }) => schedule(db, 'leaderboard', { at: now, subject: id }))
}

/** How long a bulk step waits for a leaderboard, in milliseconds. No request waits for the step. */
const BULK_PATIENCE = 10_000

/** The changes of a step, its configuration, and its moment. Ranks move on the day of that moment. */
type Step = { changes: readonly InputChange[]; config: Configuration; changedAt: Instant }

/** Does a step that changes many users, notifies the leaderboards, with one call each, and logs the cost. */
export async function bulkStep(
  context: TenantContext,
  kind: string,
  work: () => Promise<Step | null>,
): Promise<void> {
  const { cost, notes, db } = context
  const [began, before, rowsBefore] = [systemNow(), { ...cost }, notes.objectRows ?? 0]
  const step = await work()
  if (step === null || step.changes.length === 0) return
  const { changes, config, changedAt } = step
  await deliver(context, config, changes, changedAt, { patience: BULK_PATIENCE, wanted: false })
  const facts = {
    work: kind,
    tenant: db.tenantId,
    milliseconds: systemNow() - began,
    users: changes.length,
    awards: changes.reduce((sum, { awards }) => sum + awards.length, 0),
    objectRows: (notes.objectRows ?? 0) - rowsBefore,
  }
  logWork(facts, cost, before)
}

declare module '../time/due-work.sql.ts' {
  interface DueKinds {
    leaderboard: true
  }
}

/** The upkeep of a leaderboard, the subject of the work: begins and ends of runs, comparisons (L7). */
export const boardJob = defineJob({
  kind: 'leaderboard',
  of: 'tenant',
  // Before a run is final, all that belongs to it is processed (L8), also if it failed at first.
  after: ['inbox', 'recount', 'backdate'],
  furthest: DAY + HOUR,
  step: runBoardWork,
})

/** Does the due work, sends its events, and schedules the next call. An interruption loses no events. */
async function runBoardWork(
  context: TenantContext,
  work: Work<never>,
  { until, grace }: When,
): Promise<void> {
  const config = await presentConfiguration(context)
  const board = config.leaderboards.find(({ id }) => id === work.subject)
  const object = boardObject(context, work.subject)
  if (board === undefined) {
    await object.forget()
    await context.db.batch([work.end()])
    return
  }
  const runRequest = { definition: definitionOf(config, board), now: work.dueAt, until, grace }
  const { dueAt, events, hasMore } = await object.runDue(runRequest)
  if (events.length > 0) {
    await sendBoardEvents(
      context,
      config,
      board,
      BoardEventRow.array().parse(events),
      grace === 0 ? work.dueAt : until,
    )
    await object.handed({ rows: events.map(({ no, id }) => [no, id]) })
  }
  await context.db.batch([work.goOnAt(hasMore ? work.dueAt : dueAt)])
}
