import { isCalled } from '../access/tenants.repository'
import type { Configuration } from '../config/configuration.types'
import type { Change } from '../engine/change.rules'
import { type Decision, evaluate } from '../engine/evaluate.rules'
import type { UserState } from '../engine/state.types'
import { type Instant, instant } from '../lib/clock'
import { type Refusal, refusals } from '../lib/errors'
import { newId } from '../lib/new-id'
import { systemNow } from '../lib/system-clock'
import { unreachable } from '../lib/unreachable'
import type { Tenant } from '../runtime/context'
import type { Recorded, UsedKey } from '../store/events.repository'
import { outcomeOfTry } from './attempts.service'
import type { Job, Outcome } from './attempts.types'

/** By how much an event may be older than its commit, in milliseconds: well below the grace of ticks and of final runs. */
const MOST_LATE = 5_000

/** What a commit has read of one user, as of one moment. */
export type Found = {
  config: Configuration
  tenant: Tenant
  state: UserState | null
  /** Keys that exist, of those that the jobs came with. */
  keys: ReadonlySet<string>
  clock: Instant | null
  usedKeys: readonly UsedKey[]
  /** Events of commands that were tried before and that are in the log, by id. */
  recorded: ReadonlyMap<string, Recorded>
}

/** What commands of one user come to: what becomes of each, in their order, and what there is to store. */
export type Decided = {
  outcomes: Outcome[]
  changes: readonly Change[]
  newlyUsed: readonly UsedKey[]
}

/** Lets each command of a user act on what the ones before it have made. */
export function decide(
  userId: string,
  jobs: readonly Job[],
  { config, tenant, state: found, keys, clock, usedKeys, recorded }: Found,
): Decided {
  const used = new Map(usedKeys.map(({ metricId, key, eventId }) => [`${metricId} ${key}`, eventId]))
  const newlyUsed: UsedKey[] = []
  const changes: Change[] = []
  let state = found
  const outcomes = jobs.map((job): Outcome => {
    const known = outcomeOfTry({ config, state: found, recorded, clock }, job)
    if (known !== null) return known
    if (job.prefix !== null && !keys.has(job.prefix)) return refused(refusals.keyInvalid())
    if (job.tenantName !== null && !isCalled(tenant, job.tenantName)) return refused(refusals.tenantUnknown())
    const decision = attempt(() =>
      evaluate(config, state, job.command, {
        userId,
        now: clock ?? notBefore(job.arrived),
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
  return { outcomes, changes, newlyUsed }
}

/**
 * When a command that arrived then happens, in real time: by how much that may be before it is stored is bounded, so that after a
 * while a day is over for good (L8).
 */
function notBefore(arrived: Instant): Instant {
  return instant(Math.max(arrived, systemNow() - MOST_LATE))
}

function attempt(decideOne: () => Decision): Decision | { kind: 'failed'; error: unknown } {
  try {
    return decideOne()
  } catch (error) {
    return { kind: 'failed', error }
  }
}

const refused = (refusal: Refusal): Outcome => ({ decision: { kind: 'refused', refusal }, config: null })
