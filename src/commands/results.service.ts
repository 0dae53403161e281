import { type DeliveryContext, deliverEach } from '../boards/board-updates.service'
import type { Command } from '../engine/evaluate.rules'
import type { Placements } from '../engine/placement.types'
import type { Outcome } from './commit.types'

import type { CommandResult } from './result.messages'
import { resultOf } from './result.presenter'

/** Tells the leaderboards of what is committed, and makes each command's answer. */
export async function resultsOf(
  adapter: DeliveryContext,
  commands: readonly Command[],
  outcomes: readonly Outcome[],
): Promise<CommandResult[]> {
  const [results] = resultsOfEach(adapter, [{ commands, outcomes }])
  return results ?? []
}

/**
 * Tells the leaderboards of what was committed together, all of it by one call of each leaderboard, and makes the answers to each user's
 * commands as soon as those leaderboards have answered on which that user has moved.
 */
export function resultsOfEach(
  adapter: DeliveryContext,
  users: readonly { commands: readonly Command[]; outcomes: readonly Outcome[] }[],
): Promise<CommandResult[]>[] {
  const changed = users.flatMap(({ outcomes }) =>
    outcomes.flatMap((outcome) =>
      outcome.decision.kind === 'changed' && outcome.config !== null
        ? [{ outcome, change: outcome.decision.change, config: outcome.config }]
        : [],
    ),
  )
  const last = changed.at(-1)
  const changes = changed.map(({ change }) => change)
  const delivered =
    last === undefined ? [] : deliverEach(adapter, last.config, changes, last.change.after.changed)
  const placements = new Map<Outcome, Promise<Placements> | undefined>(
    changed.map(({ outcome }, nth) => [outcome, delivered[nth]]),
  )
  return users.map(({ commands, outcomes }) =>
    Promise.all(
      commands.map(async (command, index) => {
        const outcome = outcomes[index]
        return resultOf(command, outcome, outcome && (await placements.get(outcome)))
      }),
    ),
  )
}
