import type { Configuration, Leaderboard } from '../configuration/configuration.types'
import type { Instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { MOST_RESOURCES, MOST_RUNNING_LEADERBOARDS } from '../lib/limits'
import { statusOf, windowOf } from '../rules/runs.rules'

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
  if (others.some(({ key }) => key === board.key)) {
    return `The key "${board.key}" is taken by another leaderboard. Choose another key.`
  }
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
