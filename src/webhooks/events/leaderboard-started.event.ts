import * as z from 'zod'
import { LeaderboardResponseWithRankings } from '../../api/shapes/leaderboard.schemas'
import { webhookEvent } from './event.builder'
import { type RunFacts, runFields, sampleBoard } from './leaderboard-parts.builder'

const Payload = z.object({ leaderboard: LeaderboardResponseWithRankings })
type Payload = z.infer<typeof Payload>

/** A run began (W6). Its rankings are empty. */
export const leaderboardStarted = webhookEvent({
  type: 'leaderboard.started',
  schema: Payload,
  sample: (when): Payload => ({ leaderboard: { ...sampleBoard(when, 'active'), rankings: [] } }),
  build: (run: RunFacts): Payload => ({ leaderboard: { ...runFields(run), rankings: [] } }),
})
