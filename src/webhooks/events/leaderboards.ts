import * as z from 'zod'
import { AttributeFilterResponse, filtersResponse } from '../../api/shapes/attributes'
import {
  type LeaderboardResponse,
  LeaderboardResponseWithRankings,
  leaderboardFields,
  UserLeaderboardResponse,
} from '../../api/shapes/leaderboards'
import { User, userResponse } from '../../api/shapes/users'
import type { Configuration, Filter, Leaderboard } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { addDays, dateOfDay } from '../../lib/zone'
import type { Run } from '../../rules/runs.rules'
import type { UserState } from '../../rules/state'
import { SAMPLE_ID, SAMPLE_SYSTEM, sampleUser, type When, webhookEvent } from './event'

/* Parts that the events of leaderboards share. */

/** The group of an event: the values of the breakdown attributes, in the order of the breakdown (L6). */
const GroupFields = z.object({ userAttributes: z.array(AttributeFilterResponse).optional() })

/** The first places of a group of a leaderboard in a run (W6). */
const WebhookLeaderboardResponse = LeaderboardResponseWithRankings.extend(GroupFields.shape).meta({
  id: 'WebhookLeaderboardResponse',
})

/** A run of a leaderboard, and the moment of the event. */
type RunFacts = { config: Configuration; board: Leaderboard; run: Run; at: Instant }

/**
 * The fields of a leaderboard, with the first and the last day of the run, as in an event's response (L11).
 */
function runFields({ config, board, run, at }: RunFacts): z.infer<typeof LeaderboardResponse> {
  return {
    ...leaderboardFields(config, board, at),
    start: dateOfDay(run.start),
    end: run.end === null ? null : dateOfDay(run.end),
  }
}

/** The values of a group. Returns no field if the leaderboard has no breakdown. */
function groupFields(
  { config }: Pick<RunFacts, 'config'>,
  group: readonly Filter[],
): z.infer<typeof GroupFields> {
  return group.length === 0 ? {} : { userAttributes: filtersResponse(config, group) }
}

/** The leaderboard of samples. */
const sampleBoard = (
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
const SAMPLE_RANKINGS = [{ userId: 'sample-user', userName: 'Sample user', rank: 1, value: 110 }]

const StartedPayload = z.object({ leaderboard: LeaderboardResponseWithRankings })
type StartedPayload = z.infer<typeof StartedPayload>

/** A run began (W6). Its rankings are empty. */
export const leaderboardStarted = webhookEvent({
  type: 'leaderboard.started',
  schema: StartedPayload,
  sample: (when): StartedPayload => ({ leaderboard: { ...sampleBoard(when, 'active'), rankings: [] } }),
  build: (run: RunFacts): StartedPayload => ({ leaderboard: { ...runFields(run), rankings: [] } }),
})

const ChangedPayload = z.object({ leaderboard: WebhookLeaderboardResponse })
type ChangedPayload = z.infer<typeof ChangedPayload>

/** The first places of a group changed (W5, W6). */
export const leaderboardChanged = webhookEvent({
  type: 'leaderboard.changed',
  schema: ChangedPayload,
  sample: (when): ChangedPayload => ({
    leaderboard: { ...sampleBoard(when, 'active'), rankings: SAMPLE_RANKINGS },
  }),
  build: (
    run: RunFacts,
    group: readonly Filter[],
    rankings: ChangedPayload['leaderboard']['rankings'],
  ): ChangedPayload => ({
    leaderboard: { ...runFields(run), ...groupFields(run, group), rankings },
  }),
})

/** A user's place on a leaderboard now, and the place in the last such event (W5). */
const WebhookUserLeaderboardResponse = UserLeaderboardResponse.extend({
  previousRank: z.int32().nullable(),
  previousValue: z.int32().nullable(),
  ...GroupFields.shape,
}).meta({ id: 'WebhookUserLeaderboardResponse' })

const RankChangedPayload = z.object({ user: User, leaderboard: WebhookUserLeaderboardResponse })
type RankChangedPayload = z.infer<typeof RankChangedPayload>

type Place = Pick<RankChangedPayload['leaderboard'], 'rank' | 'value' | 'previousRank' | 'previousValue'>

/** The rank of a user changed (W5, W6). */
export const leaderboardRankChanged = webhookEvent({
  type: 'leaderboard.rank_changed',
  schema: RankChangedPayload,
  sample: (when): RankChangedPayload => ({
    user: sampleUser(when),
    leaderboard: {
      ...sampleBoard(when, 'active'),
      rank: 1,
      value: 110,
      previousRank: 2,
      previousValue: 100,
    },
  }),
  build: (
    run: RunFacts,
    user: UserState,
    group: readonly Filter[],
    { rank, value, previousRank, previousValue }: Place,
  ): RankChangedPayload => ({
    user: userResponse(run.config, user),
    leaderboard: {
      ...runFields(run),
      ...groupFields(run, group),
      rank,
      value,
      previousRank,
      previousValue,
    },
  }),
})

const FinishedPayload = z.object({ leaderboard: WebhookLeaderboardResponse })
type FinishedPayload = z.infer<typeof FinishedPayload>

/** A run is final (W6). Its status is `finished`, even if more runs follow. */
export const leaderboardFinished = webhookEvent({
  type: 'leaderboard.finished',
  schema: FinishedPayload,
  sample: (when): FinishedPayload => ({
    leaderboard: {
      ...sampleBoard(when, 'finished'),
      end: addDays(when.today, -1),
      rankings: SAMPLE_RANKINGS,
    },
  }),
  build: (
    run: RunFacts,
    group: readonly Filter[],
    rankings: FinishedPayload['leaderboard']['rankings'],
  ): FinishedPayload => ({
    leaderboard: { ...runFields(run), status: 'finished', ...groupFields(run, group), rankings },
  }),
})
