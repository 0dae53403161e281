import { metricByKey } from '../../configuration/configuration.types'
import type { UserState } from '../../rules/state.types'
import type { Recorded } from '../events.repository'
import type { CommitSnapshot, Job, Outcome } from './commit.types'

/**
 * The outcome of an earlier attempt whose result was lost. Null if it has stored nothing, or there was no
 * earlier attempt.
 */
export function recoverOutcome(snapshot: CommitSnapshot, job: Job): Outcome | null {
  return outcomeFromLog(snapshot, job) ?? outcomeOfCompletion(job, snapshot.state)
}

/** The outcome of an attempt whose event is in the log. Null if it is not there. */
function outcomeFromLog(
  { config, state, recorded, clock, now }: CommitSnapshot,
  { command, attempt }: Job,
): Outcome | null {
  if (command.kind !== 'event' || attempt === null) return null
  const event = recorded.get(command.eventId)
  if (event === undefined) return null
  if (attempt.outcome !== null && isPlaceOf(attempt.outcome, event)) return attempt.outcome
  const metric = metricByKey(config, command.metricKey) ?? null
  const at = clock ?? now
  return { decision: { kind: 'lost', place: event, metric, state, known: config, at }, config: null }
}

/** The outcome of an attempt whose completion is stored in the user. Null if it is not stored. */
function outcomeOfCompletion({ command, attempt }: Job, state: UserState | null): Outcome | null {
  if (command.kind !== 'completion' || attempt?.outcome?.decision.kind !== 'changed' || state === null)
    return null
  const isThere = [...state.achievements.values()].some(({ id }) => id === command.completionId)
  return isThere ? attempt.outcome : null
}

/** Whether the event of an outcome is at this place of the log. If so, the outcome is the stored one. */
export function isPlaceOf(outcome: Outcome | null, { at, seq }: Recorded): boolean {
  const event = eventOf(outcome)
  return event !== null && event.at === at && event.seq === seq
}

/** The event that an outcome would have recorded. */
export function eventOf(outcome: Outcome | null) {
  return outcome?.decision.kind === 'changed' ? outcome.decision.change.event : null
}
