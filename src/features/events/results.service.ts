import { type BoardContext, deliverEach } from '../../leaderboards/board-updates.service'
import type { Command } from '../../rules/evaluate.rules'
import type { Placements } from '../../rules/placement.types'
import type { Outcome } from '../../store/commit/commit.types'
import type { CommandResult } from './result.messages'
import { resultOf } from './result.presenter'

/** Notifies the leaderboards of committed changes, and makes each command's result. */
export async function resultsOf(
  context: BoardContext,
  commands: readonly Command[],
  outcomes: readonly Outcome[],
): Promise<CommandResult[]> {
  const [results] = resultsOfEach(context, [{ commands, outcomes }])
  return results ?? []
}

/**
 * Notifies the leaderboards of changes that were committed together, with one call for each leaderboard. A
 * user's results are ready as soon as the leaderboards on which this user has moved have responded.
 */
export function resultsOfEach(
  context: BoardContext,
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
    last === undefined ? [] : deliverEach(context, last.config, changes, last.change.after.changed)
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
