import * as z from 'zod'
import { UserLeaderboardResponse } from '../../api/shapes/leaderboard.schemas'
import { userResponse } from '../../api/shapes/user.presenter'
import { User } from '../../api/shapes/user.schemas'
import type { Filter } from '../../configuration/configuration.types'
import type { UserState } from '../../rules/state.types'
import { webhookEvent } from './event.builder'
import { GroupFields, groupFields, type RunFacts, runFields, sampleBoard } from './leaderboard-parts.builder'
import { sampleUser } from './samples.builder'

/** A user's place on a leaderboard now, and the place in the last such event (W5). */
const WebhookUserLeaderboardResponse = UserLeaderboardResponse.extend({
  previousRank: z.int32().nullable(),
  previousValue: z.int32().nullable(),
  ...GroupFields.shape,
}).meta({ id: 'WebhookUserLeaderboardResponse' })

const Payload = z.object({ user: User, leaderboard: WebhookUserLeaderboardResponse })
type Payload = z.infer<typeof Payload>

type Place = Pick<Payload['leaderboard'], 'rank' | 'value' | 'previousRank' | 'previousValue'>

/** The rank of a user changed (W5, W6). */
export const leaderboardRankChanged = webhookEvent({
  type: 'leaderboard.rank_changed',
  schema: Payload,
  sample: (when): Payload => ({
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
  ): Payload => ({
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
