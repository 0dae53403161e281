import { filterProblem, keyTaken } from '../configuration/keys.rules'
import type { Configuration, Leaderboard } from '../configuration/model'
import type { Instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { MOST_RESOURCES, MOST_RUNNING_LEADERBOARDS } from '../lib/limits'
import { type CivilDate, civilDate, civilDateAt, dateOfDay, dayOf } from '../lib/zone'
import { beginsAt, finalUntil, statusOf, windowOf } from '../rules/runs.rules'

type Status = Leaderboard['status']

/** Today's date in UTC. It decides whether a start or an end is in the past or the future (L7). */
export const today = (now: Instant) => civilDateAt(now, 0)

/** The status that is asked for (L7). A start in the future makes an inactive leaderboard `scheduled`. */
function statusWanted(
  from: Status,
  { status, start }: { status?: Status | undefined; start?: string | undefined },
  now: Instant,
): Status {
  if (status !== undefined) return status
  return from === 'inactive' && start !== undefined && start > today(now) ? 'scheduled' : from
}

/**
 * The leaderboard after a move from its present status, or the reason why the move is illegal (L7). A move to
 * the present status changes nothing. Finishing by hand is final at once, and the moment is stored.
 */
function moved(board: Leaderboard, from: Status, to: Status, now: Instant): Leaderboard | string {
  if (from === to) return board
  const problem = moveProblem(board, from, to, now)
  if (problem !== null) return problem
  return { ...board, status: to, finished: to === 'finished' ? now : null }
}

function moveProblem(board: Leaderboard, from: Status, to: Status, now: Instant): string | null {
  if (from === 'finished') {
    return `The leaderboard is finished for good and can't become ${to}. Create another one instead.`
  }
  switch (to) {
    case 'inactive':
      return null
    case 'active':
      return from === 'scheduled' ? notYet(board) : activationProblem(board, now)
    case 'scheduled':
      return from === 'active' ? NOT_BACK : schedulingProblem(board, now)
    case 'finished':
      if (from === 'active') return null
      return from === 'scheduled' ? NOT_BEGUN : finishingProblem(board, now)
    default:
      return unreachable(to)
  }
}

const NOT_BACK =
  "An active leaderboard can't become scheduled. Make it inactive first, and then set a start in the future."
const NOT_BEGUN =
  "A scheduled leaderboard can't be finished, since it has not begun. Make it inactive, or delete it."

const notYet = ({ start }: Leaderboard) =>
  `A scheduled leaderboard becomes active by itself when its start, ${start}, begins. Wait for that, or make it inactive and set an earlier start.`

function activationProblem({ start }: Leaderboard, now: Instant): string | null {
  if (now >= beginsAt({ start: dayOf(civilDate(start)) })) return null
  return `The start, ${start}, is in the future, so the leaderboard can't be active yet. Make it scheduled, and it becomes active by itself.`
}

function schedulingProblem({ start }: Leaderboard, now: Instant): string | null {
  if (start > today(now)) return null
  return `The start, ${start}, is not in the future, so the leaderboard can't be scheduled. Make it active, or set a later start.`
}

function finishingProblem({ end }: Leaderboard, now: Instant): string | null {
  if (end !== null && end < today(now)) return null
  return 'An inactive leaderboard can be finished only when its end is past. Set an end before today, or make it active first.'
}

/** The parts of an item that ask for a move to another status (L7). */
type Asked = { status?: Leaderboard['status'] | undefined; start?: CivilDate | undefined }

/** A new leaderboard, moved from inactive to its status. A text if that move is illegal (L2, L7). */
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
  if (from === 'inactive' || to === 'inactive') return after
  return freezeProblem(board, next, from) ?? endProblem(board, next, now) ?? after
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
  ['userAttributes', 'userAttributes'],
  ['runUnit', 'runUnit'],
  ['runInterval', 'runInterval'],
] as const
const FROZEN_AT_LAST = [...FROZEN, ['end', 'end'], ['maxParticipants', 'maxParticipants']] as const

/** Why a leaderboard that is not inactive, and does not become it, can't change like this, or null (L7). */
function freezeProblem(before: Leaderboard, after: Leaderboard, from: Status): string | null {
  const frozen = from === 'finished' ? FROZEN_AT_LAST : FROZEN
  const changed = frozen.filter(([field]) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
  if (changed.length === 0) return null
  const names = changed.map(([, name]) => name).join(', ')
  const how =
    from === 'finished' ? 'Leave them out, or create another leaderboard.' : 'Make it inactive first.'
  return `The leaderboard is ${from}, so these fields can't change: ${names}. ${how}`
}

/** Why the end of such a leaderboard can't move like this, or null. A final run stays as it is (L8). */
function endProblem(before: Leaderboard, after: Leaderboard, now: Instant): string | null {
  if (after.end === null || after.end === before.end) return null
  const final = finalUntil(before, now)
  if (final === null || dayOf(civilDate(after.end)) >= final) return null
  return `The run until ${dateOfDay(final)} is final, so the leaderboard can't end before that day. Choose a later end, or make the leaderboard inactive first.`
}

/**
 * Why a leaderboard can't be in the configuration, or null: its key is taken, there are too many, or
 * something that it refers to is missing (G5, L1, L2, L6, L13). The configuration may already contain it.
 */
export function leaderboardProblem(config: Configuration, board: Leaderboard, now: Instant): string | null {
  const before = config.leaderboards.find(({ id }) => id === board.id)
  const others = config.leaderboards.filter((other) => other !== before)
  return (
    roomProblem(others, before, board, now) ??
    scoreProblem(config, board) ??
    attributesProblem(config, before, board) ??
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

/** The reason if filters or the breakdown name another thing than a user attribute, else null (L6, L13). */
function attributesProblem(
  config: Configuration,
  before: Leaderboard | undefined,
  board: Leaderboard,
): string | null {
  // What is unchanged may name an attribute that was deleted after the leaderboard finished (G9).
  const isChanged = (name: 'breakdown' | 'userAttributes') =>
    JSON.stringify(before?.[name]) !== JSON.stringify(board[name])
  return (
    (isChanged('userAttributes') ? filterProblem(config, 'user', board.userAttributes) : null) ??
    (isChanged('breakdown') ? breakdownProblem(config, board.breakdown) : null)
  )
}

/** The reason if a breakdown attribute is not a user attribute or is named twice, else null (L6). */
function breakdownProblem({ attributes }: Configuration, breakdown: readonly string[]): string | null {
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
