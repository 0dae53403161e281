import type { Leaderboard } from '../configuration/configuration.types'
import { type Clearable, type Optional, revised } from '../configuration/drafts.rules'
import type { Instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { MOST_PARTICIPANTS } from '../lib/limits'
import { civilDate, dateOfDay, dayOf } from '../lib/zone'
import { finalUntil, statusOf } from '../rules/runs.rules'
import { moved, statusWanted, today } from './transitions.rules'

type Always = Pick<Leaderboard, 'name' | 'key' | 'rankBy'>
type Sometimes = Optional<Pick<Leaderboard, 'status' | 'start'>> & {
  description?: string | undefined
  metricId?: string | undefined
  pointsSystemId?: string | undefined
  maxParticipants?: number | null | undefined
  breakdownAttributes?: readonly string[] | undefined
  runInterval?: number | undefined
}
type Taken = Clearable<Pick<Leaderboard, 'end' | 'startTime' | 'endTime' | 'runUnit'>>
type CreateItem = Always & Sometimes & Taken
type UpdateItem = Optional<Always> & Sometimes & Taken
type Status = Leaderboard['status']

/**
 * The leaderboard that an item asks for: created inactive, and then moved to its status. Returns the reason
 * as a text if that move is illegal (L2, L7).
 */
export function leaderboardFrom(id: string, now: Instant, item: CreateItem): Leaderboard | string {
  const board = ofItsKind({
    id,
    created: now,
    updated: now,
    key: item.key,
    name: item.name,
    description: item.description || null,
    status: 'inactive',
    rankBy: item.rankBy,
    metricId: item.metricId ?? null,
    systemId: item.pointsSystemId ?? null,
    maxParticipants: item.maxParticipants ?? MOST_PARTICIPANTS,
    start: item.start ?? today(now),
    end: item.end ?? null,
    startTime: item.startTime ?? null,
    endTime: item.endTime ?? null,
    breakdown: item.breakdownAttributes ?? [],
    runUnit: item.runUnit ?? null,
    runInterval: item.runInterval ?? null,
    finished: null,
  })
  return moved(board, 'inactive', statusWanted('inactive', item, now), now)
}

/**
 * The leaderboard after a change and the move that it asks for (L5, L7). Returns the same object if nothing
 * changes, and the reason as a text if the change or the move is illegal. The present status counts, not the
 * status that was set: time may have changed it since.
 */
export function leaderboardPatched(board: Leaderboard, item: UpdateItem, now: Instant): Leaderboard | string {
  const from = statusOf(board, now)
  const to = statusWanted(from, item, now)
  const next = patched(board, item)
  const after = moved(next, from, to, now)
  if (typeof after === 'string') return after
  return (
    freezeProblem(board, next, from, to) ??
    endProblem(board, next, from, to, now) ??
    revised(board, after, now)
  )
}

function patched(board: Leaderboard, item: UpdateItem): Leaderboard {
  const { maxParticipants } = item
  const orNull = <T>(given: T | null | undefined, present: T | null): T | null =>
    given === undefined ? present : given
  return ofItsKind({
    ...board,
    key: item.key ?? board.key,
    name: item.name ?? board.name,
    // An empty description removes it.
    description: item.description === undefined ? board.description : item.description || null,
    rankBy: item.rankBy ?? board.rankBy,
    metricId: item.metricId ?? board.metricId,
    systemId: item.pointsSystemId ?? board.systemId,
    maxParticipants:
      maxParticipants === undefined ? board.maxParticipants : (maxParticipants ?? MOST_PARTICIPANTS),
    start: item.start ?? board.start,
    end: orNull(item.end, board.end),
    startTime: orNull(item.startTime, board.startTime),
    endTime: orNull(item.endTime, board.endTime),
    breakdown: item.breakdownAttributes ?? board.breakdown,
    runUnit: orNull(item.runUnit, board.runUnit),
    runInterval: item.runUnit === null ? (item.runInterval ?? null) : (item.runInterval ?? board.runInterval),
  })
}

/** Drops the fields of other kinds of ranking. A `runUnit` without an interval gets the interval 1. */
function ofItsKind(board: Leaderboard): Leaderboard {
  const { rankBy, runUnit, metricId, systemId } = board
  const runInterval = runUnit === null ? board.runInterval : (board.runInterval ?? 1)
  const bare = { ...board, metricId: null, systemId: null, runInterval }
  switch (rankBy) {
    case 'metric':
      return { ...bare, metricId }
    case 'points':
      return { ...bare, systemId }
    case 'streak':
      return bare
    default:
      return unreachable(rankBy)
  }
}

/** Fields that can't change unless a leaderboard is inactive, with their names on the wire (L7). */
const FROZEN = [
  ['key', 'key'],
  ['rankBy', 'rankBy'],
  ['metricId', 'metricId'],
  ['systemId', 'pointsSystemId'],
  ['start', 'start'],
  ['startTime', 'startTime'],
  ['endTime', 'endTime'],
  ['breakdown', 'breakdownAttributes'],
  ['runUnit', 'runUnit'],
  ['runInterval', 'runInterval'],
] as const
const FROZEN_AT_LAST = [...FROZEN, ['end', 'end'], ['maxParticipants', 'maxParticipants']] as const

/**
 * Why a change is illegal, or null: it changes frozen fields of a leaderboard that is not inactive and does
 * not become inactive (L7).
 */
function freezeProblem(before: Leaderboard, after: Leaderboard, from: Status, to: Status): string | null {
  if (from === 'inactive' || to === 'inactive') return null
  const frozen = from === 'finished' ? FROZEN_AT_LAST : FROZEN
  const changed = frozen.filter(([field]) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
  if (changed.length === 0) return null
  const names = changed.map(([, name]) => name).join(', ')
  const how =
    from === 'finished' ? 'Leave them out, or create another leaderboard.' : 'Make it inactive first.'
  return `The leaderboard is ${from}, so these fields can't change: ${names}. ${how}`
}

/**
 * Why the end of a leaderboard that is not inactive can't move like this, or null. A final run stays as it is
 * (L8).
 */
function endProblem(
  before: Leaderboard,
  after: Leaderboard,
  from: Status,
  to: Status,
  now: Instant,
): string | null {
  if (from === 'inactive' || to === 'inactive' || after.end === null || after.end === before.end) return null
  const final = finalUntil(before, now)
  if (final === null || dayOf(civilDate(after.end)) >= final) return null
  return `The run until ${dateOfDay(final)} is final, so the leaderboard can't end before that day. Choose a later end, or make the leaderboard inactive first.`
}
