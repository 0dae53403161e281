import * as z from 'zod'
import { AttributeFilterResponse } from '../../api/shapes/attributes'
import {
  type LeaderboardResponse,
  LeaderboardResponseWithRankings,
  UserLeaderboardResponse,
} from '../../api/shapes/leaderboards'
import { addDays } from '../../lib/zone'
import { SAMPLE_ID, SAMPLE_SYSTEM, userEvent, type When, webhookEvent } from './event'

/** The group of an event: the values of the breakdown attributes, in the order of the breakdown (L6). */
const group = { userAttributes: z.array(AttributeFilterResponse).optional() }

/** The first places of a group of a leaderboard in a run (W6). */
const WebhookLeaderboardResponse = LeaderboardResponseWithRankings.extend(group).meta({
  id: 'WebhookLeaderboardResponse',
})

/** A user's place on a leaderboard now, and the place in the last such event (W5). */
const WebhookUserLeaderboardResponse = UserLeaderboardResponse.extend({
  previousRank: z.int32().nullable(),
  previousValue: z.int32().nullable(),
  ...group,
}).meta({ id: 'WebhookUserLeaderboardResponse' })

const sampleBoard = ({ today }: When): z.infer<typeof LeaderboardResponse> => ({
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
  status: 'active',
})

const SAMPLE_RANKINGS = [{ userId: 'sample-user', userName: 'Sample user', rank: 1, value: 110 }]

export const LEADERBOARD_EVENTS = {
  /** A run began (W6). Its rankings are empty. */
  'leaderboard.started': webhookEvent({ leaderboard: LeaderboardResponseWithRankings }, (when) => ({
    leaderboard: { ...sampleBoard(when), rankings: [] },
  })),
  /** The first places of a group changed (W5, W6). */
  'leaderboard.changed': webhookEvent({ leaderboard: WebhookLeaderboardResponse }, (when) => ({
    leaderboard: { ...sampleBoard(when), rankings: SAMPLE_RANKINGS },
  })),
  /** The rank of a user changed (W5, W6). */
  'leaderboard.rank_changed': userEvent({ leaderboard: WebhookUserLeaderboardResponse }, (when) => ({
    leaderboard: { ...sampleBoard(when), rank: 1, value: 110, previousRank: 2, previousValue: 100 },
  })),
  /** A run is final (W6). Its status is `finished`, even if more runs follow. */
  'leaderboard.finished': webhookEvent({ leaderboard: WebhookLeaderboardResponse }, (when) => ({
    leaderboard: {
      ...sampleBoard(when),
      status: 'finished' as const,
      end: addDays(when.today, -1),
      rankings: SAMPLE_RANKINGS,
    },
  })),
}
