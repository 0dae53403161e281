import { isValid } from '../../access/keys.rules'
import { isCalled } from '../../access/tenants.repository'
import { type Instant, instant } from '../../lib/clock'
import { type ApiError, errors } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { unreachable } from '../../lib/unreachable'
import type { Change } from '../../rules/change.rules'
import { type Decision, evaluate } from '../../rules/evaluate.rules'
import type { UserState } from '../../rules/state.types'
import type { UsedKey } from '../events.repository'
import { recoverOutcome } from './attempts.service'
import type { CommitSnapshot, Job, Outcome } from './commit.types'

/** How much earlier than its commit an event may be, in ms: well below the grace of ticks and final runs. */
const MOST_LATE = 5_000

/**
 * The decisions for one user's commands on a snapshot: the outcomes in the order of the commands, and the
 * data to store.
 */
export type BatchDecision = {
  /** The user as read. */
  was: UserState | null
  outcomes: Outcome[]
  changes: readonly Change[]
  newlyUsed: readonly UsedKey[]
}

/** Decides the commands of a user. Each one sees the changes of the commands before it. */
export function decide(userId: string, jobs: readonly Job[], snapshot: CommitSnapshot): BatchDecision {
  const { config, tenant, present, clock, now, usedKeys } = snapshot
  const used = new Map(usedKeys.map(({ metricId, key, eventId }) => [`${metricId} ${key}`, eventId]))
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
        now: clock ?? effectiveTime(job.arrived, now),
        newId,
        usedKey: (metricId, key) => used.get(`${metricId} ${key}`),
      }),
    )
    switch (decision.kind) {
      case 'refused':
        return { decision, config: null }
      case 'failed':
        return { decision, config: null }
      case 'changed': {
        const { change } = decision
        state = change.after
        changes.push(change)
        if (change.event !== null && job.command.kind === 'event' && job.command.idempotencyKey !== null) {
          const { metricId, id } = change.event
          used.set(`${metricId} ${job.command.idempotencyKey}`, id)
          newlyUsed.push({ metricId, key: job.command.idempotencyKey, eventId: id })
        }
        return { decision, config }
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

/** The arrival of a command, but at most five seconds before its commit, so that a day ends for good (L8). */
function effectiveTime(arrived: Instant, now: Instant): Instant {
  return instant(Math.max(arrived, now - MOST_LATE))
}

function orFailed(decideOne: () => Decision): Decision | { kind: 'failed'; error: unknown } {
  try {
    return decideOne()
  } catch (error) {
    return { kind: 'failed', error }
  }
}

const refused = (apiError: ApiError): Outcome => ({ decision: { kind: 'refused', apiError }, config: null })
