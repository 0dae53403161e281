import * as z from 'zod'
import type { Filter } from '../../configuration/configuration.types'
import { webhookEvent } from './event.builder'
import {
  groupFields,
  type RunFacts,
  runFields,
  SAMPLE_RANKINGS,
  sampleBoard,
  WebhookLeaderboardResponse,
} from './leaderboard-parts.builder'

const Payload = z.object({ leaderboard: WebhookLeaderboardResponse })
type Payload = z.infer<typeof Payload>

/** The first places of a group changed (W5, W6). */
export const leaderboardChanged = webhookEvent({
  type: 'leaderboard.changed',
  schema: Payload,
  sample: (when): Payload => ({
    leaderboard: { ...sampleBoard(when, 'active'), rankings: SAMPLE_RANKINGS },
  }),
  build: (
    run: RunFacts,
    group: readonly Filter[],
    rankings: Payload['leaderboard']['rankings'],
  ): Payload => ({
    leaderboard: { ...runFields(run), ...groupFields(run, group), rankings },
  }),
})
