import { Repair } from '../leaderboards/board-updates.service'
import { logProblem, type Problem } from '../platform/log'
import { DrainRequest } from '../webhooks/outbox/outbox.messages'

/** Whether a queue is the one that gets the messages that failed too often. wrangler.toml names it. */
export const isOfDeadLetters = ({ queue }: MessageBatch): boolean => queue.endsWith('-dead-letters')

/**
 * Logs each message that failed too often, one line each, and deletes it. Nothing is lost with it: the cron
 * trigger finds a full outbox, and the hourly comparison repairs a leaderboard (L12, C2). It must not stay,
 * since it may have ids of users (U8).
 */
export function logDeadLetters({ messages }: MessageBatch): void {
  for (const message of messages) {
    logProblem('error', { ...originOf(message.body), error: 'a message was given up after its last retry' })
    message.ack()
  }
}

/** Where a message comes from, without the ids of its users. */
function originOf(body: unknown): Pick<Problem, 'deadLetter' | 'tenant' | 'leaderboard'> {
  const drain = DrainRequest.safeParse(body)
  if (drain.success) return { deadLetter: 'outbox', tenant: drain.data.tenantId }
  const repair = Repair.safeParse(body)
  if (!repair.success) return { deadLetter: 'unknown' }
  return { deadLetter: 'repairs', tenant: repair.data.tenantId, leaderboard: repair.data.leaderboardId }
}
