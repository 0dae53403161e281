import { type Configuration, metricByKey } from '../config/configuration.types'
import type { UserState } from '../engine/state.types'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { Recorded } from '../store/events.repository'
import type { Job, Outcome } from './attempts.types'

/** What a commit has read that tells whether a try did it: events of commands that were tried before and that are in the log, by id. */
type Known = {
  config: Configuration
  state: UserState | null
  recorded: ReadonlyMap<string, Recorded>
  clock: Instant | null
}

/** What a try that nobody saw the end of came to; null where it did nothing, or there was none. */
export function outcomeOfTry(known: Known, job: Job): Outcome | null {
  return outcomeFromLog(known, job) ?? outcomeOfCompletion(job, known.state)
}

/** What a try that nobody saw the end of came to, where the log has its event; null where it has not. */
function outcomeFromLog({ config, state, recorded, clock }: Known, { command, tried }: Job): Outcome | null {
  if (command.kind !== 'event' || tried === null) return null
  const event = recorded.get(command.eventId)
  if (event === undefined) return null
  if (tried.outcome !== null && isPlaceOf(tried.outcome, event)) return tried.outcome
  const metric = metricByKey(config, command.metricKey) ?? null
  const at = clock ?? systemNow()
  return { decision: { kind: 'lost', place: event, metric, state, known: config, at }, config: null }
}

/** What a try of a completion that nobody saw the end of came to, where the user has it; null where not. */
function outcomeOfCompletion({ command, tried }: Job, state: UserState | null): Outcome | null {
  if (command.kind !== 'completion' || tried?.outcome?.decision.kind !== 'changed' || state === null)
    return null
  const isThere = [...state.achievements.values()].some(({ id }) => id === command.completionId)
  return isThere ? tried.outcome : null
}

/** Whether an outcome's event stands at this place of the log, so that the outcome is what happened. */
export function isPlaceOf(outcome: Outcome | null, { at, seq }: Recorded): boolean {
  const event = eventOf(outcome)
  return event !== null && event.at === at && event.seq === seq
}

/** The event that an outcome would have recorded. */
export function eventOf(outcome: Outcome | null) {
  return outcome?.decision.kind === 'changed' ? outcome.decision.change.event : null
}
