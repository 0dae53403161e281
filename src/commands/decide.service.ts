import { isCalled } from '../access/tenants.repository'
import type { Change } from '../engine/change.rules'
import { type Decision, evaluate } from '../engine/evaluate.rules'
import type { UserState } from '../engine/state.types'
import { type Instant, instant } from '../lib/clock'
import { type ApiError, errors } from '../lib/errors'
import { newId } from '../lib/new-id'
import { unreachable } from '../lib/unreachable'
import type { UsedKey } from '../store/events.repository'
import { recoverOutcome } from './attempts.service'
import type { CommitSnapshot, Job, Outcome } from './commit.types'

/** By how much an event may be older than its commit, in milliseconds: well below the grace of ticks and of final runs. */
const MOST_LATE = 5_000

/** What one user's commands come to on a snapshot: the outcome of each, in their order, and what there is to store. */
export type BatchDecision = {
  /** The user as read. */
  was: UserState | null
  outcomes: Outcome[]
  changes: readonly Change[]
  newlyUsed: readonly UsedKey[]
}

/** Lets each command of a user act on what the ones before it have made. */
export function decide(userId: string, jobs: readonly Job[], snapshot: CommitSnapshot): BatchDecision {
  const { config, tenant, keys, clock, now, usedKeys } = snapshot
  const used = new Map(usedKeys.map(({ metricId, key, eventId }) => [`${metricId} ${key}`, eventId]))
  const newlyUsed: UsedKey[] = []
  const changes: Change[] = []
  let { state } = snapshot
  const outcomes = jobs.map((job): Outcome => {
    const known = recoverOutcome(snapshot, job)
    if (known !== null) return known
    if (job.prefix !== null && !keys.has(job.prefix)) return refused(errors.keyInvalid())
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

/**
 * When a command happens in real time: when it arrived, but at most five seconds before it is committed, so that after a while a day is over
 * for good (L8).
 */
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
