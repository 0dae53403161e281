import * as z from 'zod'
import type { Filter } from '../../configuration/configuration.types'
import { addDays } from '../../lib/civil'
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

/** A run is final (W6). Its status is `finished`, even if more runs follow. */
export const leaderboardFinished = webhookEvent({
  type: 'leaderboard.finished',
  schema: Payload,
  sample: (when): Payload => ({
    leaderboard: {
      ...sampleBoard(when, 'finished'),
      end: addDays(when.today, -1),
      rankings: SAMPLE_RANKINGS,
    },
  }),
  build: (
    run: RunFacts,
    group: readonly Filter[],
    rankings: Payload['leaderboard']['rankings'],
  ): Payload => ({
    leaderboard: { ...runFields(run), status: 'finished', ...groupFields(run, group), rankings },
  }),
})
