import type { Credential } from '../../access/keys.rules'
import type { Configuration, Metric } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import type { Tenant } from '../../platform/context'
import type { Command, Decision } from '../../rules/evaluate.rules'
import type { UserState } from '../../rules/state.types'
import type { Recorded, UsedKey } from '../events.repository'

/** All data of one user that a commit has read, as of one moment. Decisions depend on nothing else. */
export type CommitSnapshot = {
  config: Configuration
  tenant: Tenant
  state: UserState | null
  /** The names of the jobs' credentials whose keys or users exist (K2, K6). */
  present: ReadonlySet<string>
  /** The test clock; null if it is not set. */
  clock: Instant | null
  /** The system time of the read. */
  now: Instant
  usedKeys: readonly UsedKey[]
  /** Events in the log, by id. Only events of commands that were attempted before are searched. */
  recorded: ReadonlyMap<string, Recorded>
}

/**
 * The outcome of a command: the engine's decision, with the configuration that it was made under, or the
 * reason why there is none.
 */
export type Outcome =
  | { decision: Exclude<Decision, { kind: 'refused' }>; config: Configuration }
  /** The event is in the log, at this place. Only a request that has ended knew the change that it made. */
  | {
      decision: {
        kind: 'lost'
        place: Recorded
        metric: Metric | null
        state: UserState | null
        /** The configuration and the moment of the read that found the event. */
        known: Configuration
        at: Instant
      }
      config: null
    }
  | { decision: Extract<Decision, { kind: 'refused' }>; config: null }
  /** The decision failed because of an error in Laurel. Other commands are not affected. */
  | { decision: { kind: 'failed'; error: unknown }; config: null }

/**
 * A command on its way through an isolate or the lane, with the facts that D1 must still confirm, and its
 * last attempt.
 */
export type Job = {
  command: Command
  /** The credential that must be valid when the command is stored (K2); null if that is confirmed. */
  credential: Credential | null
  /** The name that the tenant must have when the command is stored (T2); null if that is confirmed. */
  tenantName: string | null
  /** When it arrived, by the system clock. */
  arrived: Instant
  /** Set once a part of it may have been written. */
  attempt: Attempt | null
}

/** An attempt to store a command whose result may be lost. The log shows whether it was stored. */
export type Attempt = {
  /** No event of this command is earlier than this. */
  since: Instant
  /** The outcome if the last attempt here was stored; null if another isolate made the attempt. */
  outcome: Outcome | null
}
