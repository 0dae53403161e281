import type { InputChange } from '../../boards/board-updates.service'
import type { Configuration } from '../../config/configuration.types'
import {
  clockUnchanged,
  configurationUnchanged,
  isConflict,
  isRefusedByDatabase,
  usersUnchanged,
} from '../../db/guard'
import type { Statement } from '../../db/statement'
import type { UserState } from '../../engine/state.types'
import type { DueWork } from '../../jobs/due-work.repository'
import { type Instant, instant } from '../../lib/clock'
import { wait } from '../../lib/system-clock'
import type { TenantContext } from '../../runtime/context'
import { writeUsers } from '../../store/writer.service'
import type { CommitSnapshot, Outcome } from '../commit.types'
import { type BatchDecision, decide } from '../decide.service'
import { advance, EVENTS_A_STEP, inboxUnchanged } from './inbox.repository'
import { type End, endOf, type Item, isAt, type ParkedEvent, progressOf, type UserJob } from './inbox.rules'
import { readWaiting } from './waiting.service'

/**
 * The most awards that a step stores, unless a single event gives more. `writeUsers` limits the bytes of
 * messages.
 */
const MOST_AWARDS = 20_000
/** A step gives up after this many failures of D1 itself, the last one with a single event. */
const MOST_FAILURES = 3
/** A step gives up after this many conflicts with live events. It runs again after other work that is due. */
const MOST_CONFLICTS = 12

/** The changes that a step made to users, under which configuration, and when. */
type Step = { changes: readonly InputChange[]; config: Configuration; changedAt: Instant }

/** The next write of a step: the statements of its one batch, and their results if it is stored. */
type Plan = { statements: Statement[]; ends: ReadonlyMap<Item, End>; step: Step }

/**
 * Processes the next events of a tenant's inbox, for many users, with one write batch (E9). The batch stores
 * the changes together with the progress in the inbox. So no event is processed twice or lost, even if this
 * runs several times or stops halfway. The rest of the inbox is due at `again`. If a live event changes a
 * user in between, or D1 fails, the step takes fewer events. An event that the database rejects even alone is
 * parked. Returns null if the inbox is empty.
 */
export async function inboxStep(context: TenantContext, work: DueWork, again: Instant): Promise<Step | null> {
  let take = EVENTS_A_STEP
  let failures = 0
  let conflicts = 0
  let parked: ParkedEvent | null = null
  for (;;) {
    let plan: Plan | null = null
    try {
      plan = await planned(context, work, { take, parked, again })
      await context.db.batch(plan.statements)
      logEnds(context.db.tenantId, plan.ends)
      return plan.ends.size === 0 ? null : plan.step
    } catch (error) {
      const refused = plan !== null && isRefusedByDatabase(error) ? [...plan.ends.keys()] : []
      const [first] = refused
      if (isConflict(error)) {
        conflicts += 1
        if (conflicts >= MOST_CONFLICTS) throw error
        take = Math.max(1, take >> 1)
      } else if (first !== undefined && !isAt(parked, first)) {
        // A batch with only this event was rejected, so this event is the cause. Its place identifies it,
        // since another run may park it first.
        if (refused.length === 1)
          parked = { no: first.row.no, position: first.position, reason: String(error) }
        take = Math.max(1, refused.length >> 1)
      } else {
        failures += 1
        if (take === 1 && failures >= MOST_FAILURES) throw error
        // Repeated failures may mean that the batch is too large, even if the error says something else.
        if (failures > 1) take = Math.max(1, take >> 1)
        await wait(20 * Math.min(failures, MOST_FAILURES))
      }
    }
  }
}

/** Reads the next events of the inbox, at most `take`, and decides them. */
async function planned(
  context: TenantContext,
  work: DueWork,
  { take, parked, again }: { take: number; parked: ParkedEvent | null; again: Instant },
): Promise<Plan> {
  const { db } = context
  const found = await readWaiting(context, work, take, parked)
  const { tenant, config, clock, at, rows, items, users, states, spoilt, usedKeys } = found
  const decided = [...users].map(
    ([userId, jobs]): BatchDecision & { userId: string; jobs: readonly UserJob[] } => {
      const error = spoilt.get(userId)
      if (error !== undefined) {
        const outcomes = jobs.map((): Outcome => ({ decision: { kind: 'failed', error }, config: null }))
        return { userId, jobs, was: null, outcomes, changes: [], newlyUsed: [] }
      }
      const state = states.get(userId) ?? null
      const snapshot: CommitSnapshot = {
        config,
        tenant,
        state,
        present: new Set<string>(),
        clock: clock === null ? null : notBefore(state, at, clock),
        now: at,
        usedKeys: usedKeys.get(userId) ?? [],
        recorded: new Map(),
      }
      const wanted = jobs.map(({ job }) => job)
      return { userId, jobs, ...decide(userId, wanted, snapshot) }
    },
  )
  const outcomes = new Map(
    decided.flatMap(({ jobs, outcomes }) => jobs.map(({ item }, index) => [item, outcomes[index]] as const)),
  )
  const ends = new Map(items.map((item) => [item, endOf(item, outcomes.get(item))]))
  const changes = decided.flatMap((one) => one.changes)
  const awards = changes.reduce((sum, change) => sum + change.awards.length, 0)
  const writing = writeUsers(db, config, decided, { kind: 'callers' })
  if ((awards > MOST_AWARDS || writing.isMuch) && items.length > 1) {
    return planned(context, work, { take: items.length >> 1, parked, again })
  }
  const statements = [
    configurationUnchanged(db, config.version),
    clockUnchanged(db, clock),
    usersUnchanged(
      db,
      decided.flatMap(({ userId }) =>
        spoilt.has(userId) ? [] : { id: userId, was: states.get(userId) ?? null },
      ),
    ),
    inboxUnchanged(db, rows),
    ...Object.values(writing.statements).flat(),
    ...advance(db, progressOf(ends), { again: clock ?? again, isSet: clock !== null }),
  ]
  return { statements, ends, step: { changes, config, changedAt: at } }
}

/**
 * When an event of a user happens under a test clock. While the clock moves, a live event may be stored first
 * with a later time, and a user's changes never go back in time.
 */
const notBefore = (state: UserState | null, at: Instant, clock: Instant): Instant =>
  instant(Math.min(Math.max(at, state?.changed ?? at), clock))

/** Logs the events that were left out or parked, as JSON. The log contains nothing about a user. */
function logEnds(tenant: string, ends: ReadonlyMap<Item, End>): void {
  for (const [{ row, position }, end] of ends) {
    if (end.kind === 'processed' || end.reason === null) continue
    const { kind, reason } = end
    const level = kind === 'parked' ? 'error' : 'warn'
    console[level](JSON.stringify({ level, tenant, batch: row.batchId, position, [kind]: reason }))
  }
}
