import * as z from 'zod'
import { AttributeFilterResponse } from '../../api/shapes/attribute.schemas'
import { filtersResponse } from '../../api/shapes/attributes.presenter'
import { leaderboardFields } from '../../api/shapes/leaderboard.presenter'
import {
  type LeaderboardResponse,
  LeaderboardResponseWithRankings,
} from '../../api/shapes/leaderboard.schemas'
import type { Configuration, Filter, Leaderboard } from '../../configuration/configuration.types'
import { addDays } from '../../lib/civil'
import type { Instant } from '../../lib/clock'
import { dateOfDay } from '../../lib/zone'
import type { Run } from '../../rules/runs.rules'
import type { When } from './event.builder'
import { SAMPLE_ID, SAMPLE_SYSTEM } from './samples.builder'

/* Parts that the events of leaderboards share. */

/** The group of an event: the values of the breakdown attributes, in the order of the breakdown (L6). */
export const GroupFields = z.object({ userAttributes: z.array(AttributeFilterResponse).optional() })

/** The first places of a group of a leaderboard in a run (W6). */
export const WebhookLeaderboardResponse = LeaderboardResponseWithRankings.extend(GroupFields.shape).meta({
  id: 'WebhookLeaderboardResponse',
})

/** A run of a leaderboard, and the moment of the event. */
export type RunFacts = { config: Configuration; board: Leaderboard; run: Run; at: Instant }

/**
 * The fields of a leaderboard, with the first and the last day of the run, as in an event's response (L11).
 */
export function runFields({ config, board, run, at }: RunFacts): z.infer<typeof LeaderboardResponse> {
  return {
    ...leaderboardFields(config, board, at),
    start: dateOfDay(run.start),
    end: run.end === null ? null : dateOfDay(run.end),
  }
}

/** The values of a group. Returns no field if the leaderboard has no breakdown. */
export function groupFields(
  { config }: Pick<RunFacts, 'config'>,
  group: readonly Filter[],
): z.infer<typeof GroupFields> {
  return group.length === 0 ? {} : { userAttributes: filtersResponse(config, group) }
}

/** The leaderboard of samples. */
export const sampleBoard = (
  { today }: When,
  status: 'active' | 'finished',
): z.infer<typeof LeaderboardResponse> => ({
  id: `${SAMPLE_ID}8`,
  name: 'Sample leaderboard',
  key: 'sample-leaderboard',
  rankBy: 'points',
  breakdownAttribute: null,
  breakdownAttributes: [],
  pointsSystemKey: SAMPLE_SYSTEM.key,
  pointsSystemName: SAMPLE_SYSTEM.name,
  description: null,
  start: addDays(today, -1),
  end: null,
  startTime: null,
  endTime: null,
  maxParticipants: 1_000,
  runUnit: null,
  runInterval: null,
  status,
})

/** The first places in samples. */
export const SAMPLE_RANKINGS = [{ userId: 'sample-user', userName: 'Sample user', rank: 1, value: 110 }]
