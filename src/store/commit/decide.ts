import { type Credential, isValid } from '../../access/credentials'
import { isCalled } from '../../access/tenants.sql.ts'
import { type Configuration, type Metric, metricByKey } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { type ApiError, errors, unreachable } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import type { Tenant } from '../../platform/context'
import { type Change, uponSignUp } from '../../rules/change.rules'
import { type Command, type Decision, evaluate, hashOf } from '../../rules/evaluate.rules'
import type { UserState } from '../../rules/state'
import type { Recorded, UsedKey } from '../events.sql.ts'

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
 * The outcome of a command: its decision, with the configuration of then, or why there is none. `silent` is a second
 * change, without messages: what a new `signUpDate` completes (A7).
 */
export type Outcome =
  | { decision: Exclude<Decision, { kind: 'refused' }>; silent?: Change | null; config: Configuration }
  /** The event is in the log, at this place. Its change is not known any more: another request has made it. */
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
  /** `failed`: because of an error in Laurel. Other commands are not affected. */
  | { decision: Extract<Decision, { kind: 'refused' }> | { kind: 'failed'; error: unknown }; config: null }

/** A command on its way, with the facts that D1 must still confirm, and its last attempt. */
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
  /** What holds if the last attempt turns out to be stored; null if another isolate made the attempt. */
  outcome: Outcome | null
}

/** The outcome of an earlier attempt whose result was lost. Null if nothing of it is stored. */
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

/** How much earlier than its commit an event may be, in ms: well below the grace of ticks and final runs. */
const MOST_LATE = 5_000

/** The decisions for one user's commands: the outcomes in their order, and the data to store. */
export type BatchDecision = {
  was: UserState | null
  outcomes: Outcome[]
  changes: readonly Change[]
  newlyUsed: readonly UsedKey[]
}

/** Decides the commands of a user. Each one sees the changes of the commands before it. */
export function decide(userId: string, jobs: readonly Job[], snapshot: CommitSnapshot): BatchDecision {
  const { config, tenant, present, clock, now, usedKeys } = snapshot
  const used = new Map(usedKeys.map((one) => [`${one.metricId} ${one.key}`, one]))
  const newlyUsed: UsedKey[] = []
  const changes: Change[] = []
  let { state } = snapshot
  const outcomes = jobs.map((job): Outcome => {
    const known = recoverOutcome(snapshot, job)
    if (known !== null) return known
    if (job.credential !== null && !isValid(job.credential, present, clock ?? now))
      return refused(errors.keyInvalid())
    if (job.tenantName !== null && !isCalled(tenant, job.tenantName)) return refused(errors.tenantUnknown())
    const decision = orFailed(() =>
      evaluate(config, state, job.command, {
        userId,
        now: clock ?? effectiveTime(job.arrived, snapshot),
        newId,
        usedKey: (metricId, key) => used.get(`${metricId} ${key}`),
      }),
    )
    switch (decision.kind) {
      case 'refused':
      case 'failed':
        return { decision, config: null }
      case 'changed': {
        const { change } = decision
        const silent = uponSignUp(config, change, newId)
        state = (silent ?? change).after
        changes.push(change, ...(silent === null ? [] : [silent]))
        if (change.event !== null && job.command.kind === 'event' && job.command.idempotencyKey !== null) {
          const { metricId, id: eventId } = change.event
          const key = job.command.idempotencyKey
          const one = { metricId, key, eventId, body: hashOf(job.command) }
          used.set(`${metricId} ${key}`, one)
          newlyUsed.push(one)
        }
        return { decision, silent, config }
      }
      case 'replayed':
      case 'completed':
      case 'unchanged':
        return { decision, config }
      default:
        return unreachable(decision)
    }
  })
  return { was: snapshot.state, outcomes, changes, newlyUsed }
}

/** The arrival, but at most five seconds before the commit, and after a finish by hand, so that runs end (L7, L8). */
function effectiveTime(arrived: Instant, { config, now }: CommitSnapshot): Instant {
  let moment = Math.max(arrived, now - MOST_LATE)
  for (const { finished } of config.leaderboards)
    if (finished !== null && finished <= now) moment = Math.max(moment, finished + 1)
  return instant(moment)
}

function orFailed(decideOne: () => Decision): Decision | { kind: 'failed'; error: unknown } {
  try {
    return decideOne()
  } catch (error) {
    return { kind: 'failed', error }
  }
}

const refused = (apiError: ApiError): Outcome => ({ decision: { kind: 'refused', apiError }, config: null })
