import type { Command, Decision } from '../../engine/evaluate'
import type { UserState } from '../../engine/state'
import { type Instant, systemNow } from '../../shared/clock'
import { type Configuration, type Metric, metricByKey } from '../configuration/configuration'
import type { Recorded } from './events.repository'

/** What a command came to: what happened with the configuration that it happened under, or why nothing did. */
export type Outcome =
  | { decision: Exclude<Decision, { kind: 'refused' }>; config: Configuration }
  /** Its event counted, and stands there in the log, but what came of it was known only to whoever is gone. */
  | {
      decision: {
        kind: 'lost'
        place: Recorded
        metric: Metric | null
        state: UserState | null
        /** The configuration and the moment as of which that is found. */
        known: Configuration
        at: Instant
      }
      config: null
    }
  | { decision: Extract<Decision, { kind: 'refused' }>; config: null }
  /** Deciding it failed, which is a fault of ours; its neighbours are not touched. */
  | { decision: { kind: 'failed'; error: unknown }; config: null }

/** A command on its way, and what was tried for it. */
export type Job = {
  command: Command
  /** The key whose row must exist when the command is done (K2); null where that is known already. */
  prefix: string | null
  /** What the tenant must be called when it is done (T2); null where that is known already. */
  tenantName: string | null
  /** When it arrived, in real time. */
  arrived: Instant
  /** Set once something may have been written of it without anybody seeing the end. */
  tried: Tried | null
}

/** A try whose end nobody saw: the log tells whether it did it. */
export type Tried = {
  /** No event of this command is older than this. */
  since: Instant
  /** What the last try here made of it; null where somebody else tried. */
  outcome: Outcome | null
}

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
