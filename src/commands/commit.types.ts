import type { Configuration, Metric } from '../config/configuration.types'
import type { Command, Decision } from '../engine/evaluate.rules'
import type { UserState } from '../engine/state.types'
import type { Instant } from '../lib/clock'
import type { Tenant } from '../runtime/context'
import type { Recorded, UsedKey } from '../store/events.repository'

/** What a commit has read of one user, as of one moment: all that decides. */
export type CommitSnapshot = {
  config: Configuration
  tenant: Tenant
  state: UserState | null
  /** Keys that exist, of those that the jobs came with. */
  keys: ReadonlySet<string>
  /** The test clock; null if it is not set. */
  clock: Instant | null
  /** The time of the system when this was read. */
  now: Instant
  usedKeys: readonly UsedKey[]
  /** Events of commands that were tried before and that are in the log, by id. */
  recorded: ReadonlyMap<string, Recorded>
}

/** What a command came to: the engine's decision with the configuration that it was made under, or why there is none. */
export type Outcome =
  | { decision: Exclude<Decision, { kind: 'refused' }>; config: Configuration }
  /** Its event is in the log, at this place, but the change that it made was known only to a request that is gone. */
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

/** A command on its way through an isolate or the lane: with what D1 has yet to confirm, and its last attempt. */
export type Job = {
  command: Command
  /** The key whose row must exist when the command is done (K2); null where that is known already. */
  prefix: string | null
  /** What the tenant must be called when it is done (T2); null where that is known already. */
  tenantName: string | null
  /** When it arrived, in real time. */
  arrived: Instant
  /** Set once something of it may have been written. */
  attempt: Attempt | null
}

/** An attempt to store a command, whose answer may be lost: the log tells whether it did. */
export type Attempt = {
  /** No event of this command is older than this. */
  since: Instant
  /** What the last attempt here would have made of it; null if another isolate made the attempt. */
  outcome: Outcome | null
}
