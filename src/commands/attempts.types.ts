import type { Configuration, Metric } from '../config/configuration.types'
import type { Command, Decision } from '../engine/evaluate.rules'
import type { UserState } from '../engine/state.types'
import type { Instant } from '../lib/clock'
import type { Recorded } from '../store/events.repository'

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
