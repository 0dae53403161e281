import type * as z from 'zod'
import type { Configuration, Leaderboard } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { dateOfDay } from '../../lib/zone'
import type { Placements } from '../../rules/placement.types'
import { statusOf } from '../../rules/runs.rules'
import type { Profile } from '../../rules/state.types'
import type { LeaderboardResponse, MetricEventLeaderboardResponse } from './leaderboard.schemas'

/**
 * The fields of a leaderboard that every response about it has (G10). Users never see an inactive
 * leaderboard. So if it became inactive after the event, the status is still `active`.
 */
export function leaderboardFields(
  config: Configuration,
  board: Leaderboard,
  at: Instant,
): z.infer<typeof LeaderboardResponse> {
  const { id, name, key, rankBy, description, start, end, startTime, endTime } = board
  const metric = config.metrics.find((one) => one.id === board.metricId)
  const system = config.systems.find((one) => one.id === board.systemId)
  const breakdownAttributes = board.breakdown.flatMap(
    (attributeId) => config.attributes.find((one) => one.id === attributeId)?.key ?? [],
  )
  const status = statusOf(board, at)
  return {
    id,
    name,
    key,
    rankBy,
    breakdownAttribute: breakdownAttributes[0] ?? null,
    breakdownAttributes,
    ...(metric && { metricKey: metric.key, metricName: metric.name }),
    ...(system && { pointsSystemKey: system.key, pointsSystemName: system.name }),
    description,
    start,
    end,
    startTime,
    endTime,
    maxParticipants: board.maxParticipants,
    runUnit: board.runUnit,
    runInterval: board.runInterval,
    status: status === 'inactive' ? 'active' : status,
  }
}

/** The user's places after an event, by the key of each leaderboard with a changed score (L11). */
export function leaderboardChanges(
  config: Configuration,
  placements: Placements,
  profile: Profile,
  at: Instant,
): Record<string, z.infer<typeof MetricEventLeaderboardResponse>> {
  return Object.fromEntries(
    config.leaderboards.flatMap((board) => {
      const placement = placements.get(board.id)
      if (placement === undefined) return []
      const { run, rank, previousRank, threshold } = placement
      const values = board.breakdown.flatMap((attributeId) => {
        const attribute = config.attributes.find((one) => one.id === attributeId)
        const value = profile.attributes.get(attributeId)
        return attribute === undefined || value === undefined ? [] : [{ key: attribute.key, value }]
      })
      const answer = {
        ...leaderboardFields(config, board, at),
        start: dateOfDay(run.start),
        end: run.end === null ? null : dateOfDay(run.end),
        rank,
        previousRank,
        threshold,
        ...(values[0] && { breakdownAttributeValue: values[0].value, breakdownAttributeValues: values }),
      }
      return [[board.key, answer]]
    }),
  )
}
