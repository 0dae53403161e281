import type { Configuration, Leaderboard } from '../configuration/configuration.types'
import { keyTaken } from '../configuration/derived-keys.rules'
import type { Instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { MOST_RESOURCES, MOST_RUNNING_LEADERBOARDS } from '../lib/limits'
import { type CivilDate, civilDate, dateOfDay, dayOf } from '../lib/zone'
import { finalUntil, statusOf, windowOf } from '../rules/runs.rules'
import { moved, statusWanted } from './transitions.rules'

/** The parts of an item that ask for a move to another status (L7). */
type Asked = { status?: Leaderboard['status'] | undefined; start?: CivilDate | undefined }
type Status = Leaderboard['status']

/**
 * A new leaderboard: created inactive, and then moved to its status. Returns the reason as a text if that move
 * is illegal (L2, L7).
 */
export function leaderboardFrom(asked: Leaderboard, item: Asked, now: Instant): Leaderboard | string {
  return moved(ofItsKind(asked), 'inactive', statusWanted('inactive', item, now), now)
}

/**
 * The leaderboard after a change and the move that it asks for (L5, L7). `named` has the fields that the change
 * names. Returns the reason as a text if the change or the move is illegal. The present status counts, not the
 * status that was set: time may have changed it since.
 */
export function leaderboardPatched(
  board: Leaderboard,
  named: Leaderboard,
  item: Asked,
  now: Instant,
): Leaderboard | string {
  const from = statusOf(board, now)
  const to = statusWanted(from, item, now)
  const next = ofItsKind(named)
  const after = moved(next, from, to, now)
  if (typeof after === 'string') return after
  return freezeProblem(board, next, from, to) ?? endProblem(board, next, from, to, now) ?? after
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

/**
 * Why a leaderboard can't be in the configuration, or null: its key is taken, there are too many, or
 * something that it refers to is missing (G5, L1, L2, L6). The configuration may already contain it.
 */
export function leaderboardProblem(config: Configuration, board: Leaderboard, now: Instant): string | null {
  const before = config.leaderboards.find(({ id }) => id === board.id)
  const others = config.leaderboards.filter((other) => other !== before)
  return (
    roomProblem(others, before, board, now) ??
    scoreProblem(config, board) ??
    breakdownProblem(config, before, board) ??
    timeProblem(board)
  )
}

const isRunning = (board: Leaderboard, now: Instant) => ['active', 'scheduled'].includes(statusOf(board, now))

function roomProblem(
  others: readonly Leaderboard[],
  before: Leaderboard | undefined,
  board: Leaderboard,
  now: Instant,
): string | null {
  if (others.some(({ key }) => key === board.key)) return keyTaken(board.key, 'leaderboard')
  if (others.length >= MOST_RESOURCES) {
    return `Limit of ${MOST_RESOURCES} leaderboards reached. Delete one first.`
  }
  const begins = isRunning(board, now) && !(before !== undefined && isRunning(before, now))
  if (begins && others.filter((other) => isRunning(other, now)).length >= MOST_RUNNING_LEADERBOARDS) {
    return `Limit of ${MOST_RUNNING_LEADERBOARDS} active or scheduled leaderboards reached. Make one inactive first.`
  }
  return null
}

/** The reason if the metric or points system of the ranking is missing, else null (L3). */
function scoreProblem({ metrics, systems }: Configuration, board: Leaderboard): string | null {
  const { rankBy, metricId, systemId } = board
  const missing = (field: string) => `A leaderboard that ranks by ${rankBy} needs ${field}. Pass it too.`
  switch (rankBy) {
    case 'metric':
      if (metricId === null) return missing('metricId')
      if (metrics.some(({ id }) => id === metricId)) return null
      return 'No metric has this metricId. Take one from GET /metrics.'
    case 'points':
      if (systemId === null) return missing('pointsSystemId')
      if (systems.some(({ id }) => id === systemId)) return null
      return 'No points system has this pointsSystemId. Take one from GET /points.'
    case 'streak':
      return null
    default:
      return unreachable(rankBy)
  }
}

/** The reason if a breakdown attribute is not a user attribute or is named twice, else null (L6). */
function breakdownProblem(
  { attributes }: Configuration,
  before: Leaderboard | undefined,
  { breakdown }: Leaderboard,
): string | null {
  // An unchanged breakdown may name an attribute that was deleted after the leaderboard finished (G9).
  if (JSON.stringify(before?.breakdown) === JSON.stringify(breakdown)) return null
  const isKnown = (wanted: string) => attributes.some(({ id, type }) => id === wanted && type === 'user')
  const unknown = breakdown.find((id) => !isKnown(id))
  if (unknown !== undefined) {
    return `breakdownAttributes: no user attribute has the id ${unknown}. Take the ids from GET /attributes.`
  }
  const again = breakdown.find((id, index) => breakdown.indexOf(id) !== index)
  if (again === undefined) return null
  return `breakdownAttributes names ${again} more than once. Name each attribute once.`
}

/** The reason if the dates, the runs and the daily window don't fit together, else null (L1, L2, L3). */
function timeProblem(board: Leaderboard): string | null {
  const { start, end, runUnit, runInterval } = board
  if (end !== null && end < start) {
    return `The end, ${end}, is before the start, ${start}. Choose a later end or an earlier start.`
  }
  if (runUnit === null && runInterval !== null) {
    return 'A runInterval needs a runUnit. Pass the runUnit too, or leave runInterval out.'
  }
  const window = windowOf(board)
  if (window !== null && window.from === window.to) {
    return 'The daily window is empty, since endTime is the same time as startTime. Change one of them, or leave both out.'
  }
  if (board.rankBy !== 'streak') return null
  if (runUnit !== null) {
    return 'A leaderboard that ranks by streak has no runs. Leave runUnit and runInterval out, or pass a runUnit of null.'
  }
  if (window !== null) {
    return 'A leaderboard that ranks by streak has no daily window. Leave startTime and endTime out, or pass null for them.'
  }
  return null
}
