import * as z from 'zod'
import type { Configuration, Leaderboard } from '../config/configuration.types'
import type { Placement, Placements } from '../engine/placement.types'
import { statusOf } from '../engine/runs.rules'
import type { AwardRecord, EventRecord, Profile, UserState } from '../engine/state.types'
import type { Instant } from '../lib/clock'
import { jsonBytes, MOST_AT_ONCE, packsOf } from '../lib/packed'
import { within } from '../lib/timeout'
import { unreachable } from '../lib/unreachable'
import { offsetMinutes } from '../lib/zone'
import type { Context } from '../runtime/context'
import {
  type Amount,
  DeliveryReply,
  definitionOf,
  groupOf,
  inputOf,
  type ScoreChange,
} from './board.messages'
import type { LeaderboardObject } from './object/board.object'
import { scoreOf, scoreOfMetric } from './score.rules'

/** How long an event waits for a leaderboard before it answers without it, in milliseconds. */
const PATIENCE = 3_000
/** Bytes of the ids in one message of the queue, which takes 128,000, and how many there are at most. */
const REPAIR_BYTES = 60_000
const MOST_REPAIRED = 100

/** No change has this `seq`: what is said to follow it has a leaderboard count the user anew. */
const NO_CHANGE = -2

type Attributes = { profile: Pick<Profile, 'attributes' | 'tz'> }

/** What of a user's change leaderboards may follow. */
export type InputChange = {
  before: (Pick<UserState, 'lastSeqByInput'> & Attributes) | null
  after: Pick<UserState, 'id' | 'iid' | 'seq' | 'changed'> & Attributes
  event: EventRecord | null
  awards: readonly AwardRecord[]
  /** By how much the length of the streak is another one. */
  growth: number
  /** Whether it was extended, maybe to the length of before: where it was lost first, or counted anew. */
  isExtended?: boolean
  /** Whether the streak was counted anew, so that what was known of it is not what it grew from (S9). */
  replacesRuns?: boolean
}

/** What a delivery needs of a request, or of an object that acts for many. */
export type DeliveryContext = Pick<Context, 'env' | 'notes' | 'waitUntil'>

/** The object of a leaderboard. */
export function boardObject(
  { env }: Pick<DeliveryContext, 'env'>,
  boardId: string,
): DurableObjectStub<LeaderboardObject> {
  return env.LEADERBOARD.getByName(boardId)
}

/**
 * Tells the leaderboards of changes that are in D1, all of them at once: one call for each that the changes touch. The last of the changes
 * happened at `changedAt`. Answers where each change has put its user. A leaderboard that can't be reached in time is left out, and is told
 * later by the queue (L11).
 */
export async function deliver(
  adapter: DeliveryContext,
  config: Configuration,
  changes: readonly InputChange[],
  changedAt: Instant,
  /** How long to wait for a leaderboard, in milliseconds, and whether anybody wants to know the places. */
  { patience, wanted } = { patience: PATIENCE, wanted: true },
): Promise<Placements[]> {
  return Promise.all(deliverEach(adapter, config, changes, changedAt, { patience, wanted }))
}

/** The same, but answers for each change on its own, as soon as the leaderboards that it touches have answered. */
export function deliverEach(
  adapter: DeliveryContext,
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
    count(adapter, 'objectWaves', 1)
    count(adapter, 'objectCalls', calls.length)
  }
  for (const { board, concerned } of calls) {
    const scores = concerned.map(({ score }) => score)
    const work = call(adapter, config, board, scores, { changedAt, patience, wanted }).then((found) => {
      for (const [nth, placement] of found.entries()) {
        const index = concerned[nth]?.index
        if (placement !== null && index !== undefined) placements[index]?.set(board.id, placement)
      }
    })
    for (const { index } of concerned) waits[index]?.push(work)
  }
  return placements.map((places, index) => Promise.all(waits[index] ?? []).then(() => places))
}

/** Adds to a figure of the log line. */
function count({ notes }: DeliveryContext, name: string, added: number): void {
  notes[name] = Number(notes[name] ?? 0) + added
}

async function call(
  adapter: DeliveryContext,
  config: Configuration,
  board: Leaderboard,
  changes: ScoreChange[],
  { changedAt, patience, wanted }: { changedAt: Instant; patience: number; wanted: boolean },
): Promise<(Placement | null)[]> {
  const definition = definitionOf(config, board)
  const given: (Placement | null)[] = []
  // One call, unless groups are very long.
  for (const part of packsOf(changes, MOST_AT_ONCE, changeBytes)) {
    // What throws at once is caught like what throws later: the event has happened, and can't fail any more.
    const tell = async () =>
      boardObject(adapter, board.id).deliver({ definition, at: changedAt, changes: part, wanted })
    const work = tell()
    try {
      const { placements, rowsWritten } = DeliveryReply.parse(await within(patience, work))
      count(adapter, 'objectRows', rowsWritten)
      given.push(...placements)
    } catch (error) {
      console.warn(JSON.stringify({ level: 'warn', leaderboard: board.id, error: String(error) }))
      work.catch(() => undefined)
      sendRepairs(adapter, config.tenantId, board.id, changes.slice(given.length))
      return given
    }
  }
  return given
}

/** How many bytes a change takes in a call of an object, at most: two for each character, and so much for each number. */
const changeBytes = ({ userId, group, input }: ScoreChange): number =>
  200 + 2 * (userId.length + (group?.length ?? 0)) + 60 * (input?.amounts.length ?? 0)

/** Has the queue tell a leaderboard whose changes it missed; if that is lost too, the hourly comparison finds it (L12). */
function sendRepairs(
  { env, waitUntil }: DeliveryContext,
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

/** The message that has a leaderboard count users anew. */
export const Repair = z.object({
  tenantId: z.string(),
  leaderboardId: z.string(),
  userIds: z.array(z.string()),
})
export type Repair = z.infer<typeof Repair>

declare module '../runtime/env' {
  interface Bindings {
    REPAIRS: Queue<Repair>
  }
}

/** A change as far as it concerns a leaderboard; null where it doesn't. */
function scoreChange(board: Leaderboard, change: InputChange): ScoreChange | null {
  const { before, after } = change
  const amounts = amountsOf(board, change)
  const hasMoved =
    before !== null &&
    board.breakdown.some((id) => before.profile.attributes.get(id) !== after.profile.attributes.get(id))
  if (amounts === null && !hasMoved) return null
  const isRecounted = board.rankBy === 'streak' && change.replacesRuns === true
  const previous = isRecounted ? NO_CHANGE : (before?.lastSeqByInput.get(inputOf(board) ?? '') ?? null)
  return {
    userId: after.id,
    iid: after.iid,
    seq: after.seq,
    group: groupOf(board.breakdown.map((id) => after.profile.attributes.get(id))),
    input: amounts && { previous, amounts },
  }
}

/** What a leaderboard counts of a change; null where its input is not touched. */
function amountsOf(
  board: Leaderboard,
  { event, awards, growth, isExtended = false, after }: InputChange,
): Amount[] | null {
  switch (board.rankBy) {
    case 'streak':
      return growth === 0 && !isExtended
        ? null
        : [[after.changed, offsetMinutes(after.profile.tz ?? 'UTC', after.changed), scoreOf(growth)]]
    case 'metric':
      return event?.metricId === board.metricId && event !== null
        ? [[event.at, event.utcOffset, scoreOfMetric(event.value)]]
        : null
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
