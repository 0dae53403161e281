import type { InputChange } from '../../boards/board-updates.service'
import type { Configuration } from '../../config/configuration.types'
import {
  clockUnchanged,
  configurationUnchanged,
  isConflict,
  isRefusedByDatabase,
  usersUnchanged,
} from '../../db/guard'
import type { UserState } from '../../engine/state.types'
import type { DueWork } from '../../jobs/due-work.repository'
import { type Instant, instant } from '../../lib/clock'
import { wait } from '../../lib/system-clock'
import type { TenantContext } from '../../runtime/context'
import { writeUsers } from '../../store/writer.service'
import type { CommitSnapshot, Outcome } from '../commit.types'
import { type BatchDecision, decide } from '../decide.service'
import { advance, EVENTS_A_STEP, inboxUnchanged } from './inbox.repository'
import { type End, endOf, type Item, isAt, type Poison, progressOf, type UserJob } from './inbox.rules'
import { readWaiting } from './waiting.service'

/** Awards that a step stores at most, unless a single event comes to more; what is told of events is bounded by its bytes (see news.ts). */
const MOST_AWARDS = 20_000
/** Failures of D1 itself, the last of them at a single event, after which a step gives up. */
const MOST_FAILURES = 3
/** Conflicts with live events after which a step gives up, to be taken up again after what else is due. */
const MOST_CONFLICTS = 12

/** What a step did to users, under which configuration, and when. */
type Step = { changes: readonly InputChange[]; config: Configuration; changedAt: Instant }

/** What a step is about to do: the statements of its one batch, and what follows from them. */
type Plan = { statements: D1PreparedStatement[]; ends: ReadonlyMap<Item, End>; step: Step }

/**
 * Processes the next events of a tenant's inbox, of many users, by one write batch (E9): what they come to is stored together with
 * the note that they are done, so that nothing is done twice or lost, however often this runs and wherever it stops. What is left is due again at that moment. Where a live event comes in
 * between, or D1 fails, fewer are taken at once; one that the database refuses by itself is put aside. Answers null where the inbox is empty.
 */
export async function inboxStep(context: TenantContext, work: DueWork, again: Instant): Promise<Step | null> {
  let take = EVENTS_A_STEP
  let failures = 0
  let conflicts = 0
  let poison: Poison | null = null
  for (;;) {
    let plan: Plan | null = null
    try {
      plan = await planned(context, work, { take, poison, again })
      await context.db.batch(plan.statements)
      tell(context.db.tenantId, plan.ends)
      return plan.ends.size === 0 ? null : plan.step
    } catch (error) {
      const refused = plan !== null && isRefusedByDatabase(error) ? [...plan.ends.keys()] : []
      const [first] = refused
      if (isConflict(error)) {
        conflicts += 1
        if (conflicts >= MOST_CONFLICTS) throw error
        take = Math.max(1, take >> 1)
      } else if (first !== undefined && !isAt(poison, first)) {
        // Alone, it is the one; it is known by its place, since somebody else may put it aside first.
        if (refused.length === 1)
          poison = { no: first.row.no, position: first.position, reason: String(error) }
        take = Math.max(1, refused.length >> 1)
      } else {
        failures += 1
        if (take === 1 && failures >= MOST_FAILURES) throw error
        // What fails again may be too much at once, whatever the fault says of it.
        if (failures > 1) take = Math.max(1, take >> 1)
        await wait(20 * Math.min(failures, MOST_FAILURES))
      }
    }
  }
}

/** Reads the next events of the inbox, at most so many, and decides what they come to. */
async function planned(
  context: TenantContext,
  work: DueWork,
  { take, poison, again }: { take: number; poison: Poison | null; again: Instant },
): Promise<Plan> {
  const { db } = context
  const found = await readWaiting(context, work, take, poison)
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
        keys: new Set<string>(),
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
    return planned(context, work, { take: items.length >> 1, poison, again })
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

/** When an event of a user happens under a set clock: a live one may have been faster while the clock moved, and changes never go back. */
const notBefore = (state: UserState | null, at: Instant, clock: Instant): Instant =>
  instant(Math.min(Math.max(at, state?.changed ?? at), clock))

/** Logs the events that were left out or put aside, as JSON; nothing of a user. */
function tell(tenant: string, ends: ReadonlyMap<Item, End>): void {
  for (const [{ row, position }, end] of ends) {
    if (end.kind === 'processed' || end.reason === null) continue
    const { kind, reason } = end
    const level = kind === 'parked' ? 'error' : 'warn'
    console[level](JSON.stringify({ level, tenant, batch: row.batchId, position, [kind]: reason }))
  }
}
