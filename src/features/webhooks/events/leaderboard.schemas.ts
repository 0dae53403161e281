import * as z from 'zod'
import { addDays } from '../../../lib/civil'
import { LeaderboardResponseWithRankings } from '../../../wire/leaderboard.schemas'
import { User } from '../../../wire/user.schemas'
import { WebhookLeaderboardResponse, WebhookUserLeaderboardResponse } from '../../../wire/webhook.schemas'
import { webhookEvent } from './event.types'
import { board, RANKINGS, user } from './parts.builder'

/** The events of leaderboards (W2). */
export const leaderboardEvents = {
  'leaderboard.changed': webhookEvent(z.object({ leaderboard: WebhookLeaderboardResponse }), (when) => ({
    leaderboard: { ...board(when, 'active'), rankings: RANKINGS },
  })),
  'leaderboard.finished': webhookEvent(z.object({ leaderboard: WebhookLeaderboardResponse }), (when) => ({
    leaderboard: {
      ...board(when, 'finished'),
      end: addDays(when.today, -1),
      rankings: RANKINGS,
    },
  })),
  'leaderboard.rank_changed': webhookEvent(
    z.object({ user: User, leaderboard: WebhookUserLeaderboardResponse }),
    (when) => ({
      user: user(when),
      leaderboard: {
        ...board(when, 'active'),
        rank: 1,
        value: 110,
        previousRank: 2,
        previousValue: 100,
      },
    }),
  ),
  'leaderboard.started': webhookEvent(z.object({ leaderboard: LeaderboardResponseWithRankings }), (when) => ({
    leaderboard: { ...board(when, 'active'), rankings: [] },
  })),
} as const
