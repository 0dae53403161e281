import { readTestClock } from '../access/clock.repository'
import { presentState } from '../configuration/configuration.service'
import { systemNow } from '../lib/system-clock'
import type { Context } from '../platform/context'
import { logProblem } from '../platform/log'
import { definitionOf } from './board.messages'
import { boardObject, Repair } from './board-updates.service'

/**
 * Makes a leaderboard that could not be reached recount the users with missed changes. Repeating this is
 * harmless. If the queue gives up, the hourly comparison does it (L11, L12).
 */
export async function repair(context: Context, message: Message): Promise<void> {
  try {
    const { tenantId, leaderboardId, userIds } = Repair.parse(message.body)
    // Leaderboards of an archived or erased tenant are not repaired.
    const { config } = await presentState({ ...context, db: context.db.of(tenantId) })
    const board = config?.leaderboards.find(({ id }) => id === leaderboardId)
    if (config !== null && board !== undefined) {
      const now = (await readTestClock(context.db)) ?? systemNow()
      await boardObject(context, board.id).recount({ definition: definitionOf(config, board), now, userIds })
    }
    message.ack()
  } catch (error) {
    logProblem('warn', { error: `not repaired: ${String(error)}` })
    message.retry()
  }
}
