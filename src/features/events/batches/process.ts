import type { Configuration } from '../../../configuration/model'
import type { InputChange } from '../../../leaderboards/updates'
import { type Instant, instant } from '../../../lib/clock'
import { wait } from '../../../lib/system-clock'
import type { TenantContext } from '../../../platform/context'
import type { Statement, TenantDatabase } from '../../../platform/database'
import {
  clockUnchanged,
  configurationUnchanged,
  hasMoved,
  isConflict,
  isDatabaseAway,
  isRefusedByDatabase,
  usersUnchanged,
} from '../../../platform/guard'
import type { UserState } from '../../../rules/state'
import { type BatchDecision, type CommitSnapshot, decide, type Outcome } from '../../../store/commit/decide'
import { writeUsers } from '../../../store/commit/writer'
import { noErasureSince } from '../../../store/users/counters.sql.ts'
import { advance, EVENTS_A_STEP, type InboxRow, inboxUnchanged } from './batches.sql.ts'
import {
  areHome,
  type End,
  endOf,
  type Item,
  isAt,
  type ParkedEvent,
  progressOf,
  readWaiting,
  type UserJob,
} from './waiting'

/** The most awards of a step, unless one event gives more. `writeUsers` limits the characters. */
const MOST_AWARDS = 20_000
/** A step gives up after this many failures of D1 itself, the last one with a single event. */
const MOST_FAILURES = 3
/** A step gives up after this many conflicts with live events. It runs again after other work that is due. */
const MOST_CONFLICTS = 12

const MOST_MOVES = 50

type Step = { changes: readonly InputChange[]; config: Configuration; changedAt: Instant }

type Part = {
  db: TenantDatabase
  statements: readonly Statement[]
  items: readonly Item[]
  changes: readonly InputChange[]
}

type Plan = {
  /** The writes of users, each in the database that holds them. */
  parts: readonly Part[]
  /** Stores the progress in the inbox, after the parts. Empty if the only part stores it. */
  progress: readonly Statement[]
  hasNew: boolean
  rows: readonly InboxRow[]
  ends: ReadonlyMap<Item, End>
  step: Step
}

/** Thrown if a step gave up after it had stored changes in some databases. */
export class Interrupted extends Error {
  constructor(
    readonly step: Step,
    cause: unknown,
  ) {
    super(String(cause), { cause })
  }
}

class PartFailed extends Error {
  constructor(
    readonly part: Part,
    cause: unknown,
  ) {
    super(String(cause), { cause })
  }
}

/**
 * Processes the next events of a tenant's inbox, for many users, with one write batch (E9). It stores the
 * changes together with the progress in the inbox, so no event is processed twice or lost. The rest of the
 * inbox is due at `again`. If a live event changes a user in between, or D1 fails, the step takes fewer
 * events. An event that the database rejects even alone is parked. Returns null if the inbox is empty.
 *
 * If some users are in other databases than the inbox, the events are stored in one batch in each database,
 * and then the progress. If a step stops in between, the next one finds the stored events by their ids in the
 * users' logs, which move with the users. So they count once and in the order sent (B6).
 */
export async function inboxStep(
  context: TenantContext,
  work: { dueAt: Instant },
  again: Instant,
): Promise<Step | null> {
  let take = EVENTS_A_STEP
  let failures = 0
  let conflicts = 0
  let moves = 0
  let parked: ParkedEvent | null = null
  const stored: Step[] = []
  for (;;) {
    let plan: Plan | null = null
    try {
      plan = await planned(context, work, { take, parked, again })
      await store(context, plan, stored)
      logEnds(context.db.tenantId, plan.ends)
      return plan.ends.size === 0 ? null : (together(stored) ?? plan.step)
    } catch (failure) {
      const { error, part } = causeOf(failure)
      const all = [...(plan?.ends.keys() ?? [])]
      const refused = isRefusedByDatabase(error) ? (part?.items ?? all) : []
      const [first] = refused
      if (hasMoved(error)) {
        moves += 1
        if (moves >= MOST_MOVES) throw interrupted(stored, error)
      } else if (isConflict(error)) {
        conflicts += 1
        if (conflicts >= MOST_CONFLICTS) throw interrupted(stored, error)
        take = Math.max(1, take >> 1)
      } else if (first !== undefined && !isAt(parked, first)) {
        // A batch with only this event was rejected, so this event is the cause. Its place identifies it,
        // since another run may park it first. No later event is stored before it is parked.
        if (refused.length === 1)
          parked = { no: first.row.no, position: first.position, reason: String(error) }
        const next = refused[refused.length >> 1] ?? first
        take = Math.max(1, refused.length === 1 ? all.indexOf(first) + 1 : all.indexOf(next))
      } else {
        failures += 1
        if (take === 1 && failures >= MOST_FAILURES) throw interrupted(stored, error)
        // Repeated failures may mean that the batch is too large, even if the error says something else.
        // The events before the first one of a database that failed are done.
        const before = part === null ? 0 : all.findIndex((item) => part.items.includes(item))
        if (failures > 1) take = before > 0 ? before : Math.max(1, take >> 1)
        await wait(20 * Math.min(failures, MOST_FAILURES))
      }
    }
  }
}

function together(steps: readonly Step[]): Step | null {
  const last = steps.at(-1)
  return last === undefined ? null : { ...last, changes: steps.flatMap(({ changes }) => changes) }
}

function interrupted(stored: readonly Step[], error: unknown): unknown {
  const step = together(stored)
  return step === null ? error : new Interrupted(step, error)
}

const causeOf = (failure: unknown): { error: unknown; part: Part | null } =>
  failure instanceof PartFailed
    ? { error: failure.cause, part: failure.part }
    : { error: failure, part: null }

async function store({ db }: TenantContext, plan: Plan, stored: Step[]): Promise<void> {
  // An erasure empties the inbox first, and is counted in the user's database after that. So if the inbox is
  // still as it was read, no erasure that this step has not seen was counted before the users were read (U8).
  if (plan.progress.length > 0 && plan.hasNew) await db.batch([inboxUnchanged(db, plan.rows)])
  const results = await Promise.allSettled(
    plan.parts.map(async (part) => {
      await part.db.batch(part.statements).catch((error: unknown) => {
        throw new PartFailed(part, error)
      })
      stored.push({ ...plan.step, changes: part.changes })
    }),
  )
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const isAway = (failure: unknown) => isDatabaseAway(causeOf(failure).error)
  if (failed.length > 0) throw failed.find((one) => !isAway(one)) ?? failed[0]
  if (plan.progress.length > 0) await db.batch(plan.progress)
}

type Decided = BatchDecision & { userId: string; ends: readonly (readonly [Item, End])[] }

async function planned(
  context: TenantContext,
  work: { dueAt: Instant },
  { take, parked, again }: { take: number; parked: ParkedEvent | null; again: Instant },
): Promise<Plan> {
  const { db } = context
  const found = await readWaiting(context, work, take, parked)
  const { tenant, config, clock, at, rows, items, users, states, spoilt, usedKeys, recorded } = found
  const decided = new Map(
    [...users].map(([userId, jobs]): [string, Decided] => {
      const state = states.get(userId) ?? null
      const snapshot: CommitSnapshot = {
        config,
        tenant,
        state,
        present: new Set<string>(),
        clock: clock === null ? null : notBefore(state, at, clock),
        now: at,
        usedKeys: usedKeys.get(userId) ?? [],
        recorded,
      }
      const error = spoilt.get(userId)
      return [userId, error === undefined ? decideUser(userId, jobs, snapshot) : unread(userId, jobs, error)]
    }),
  )
  const endsOfUsers = new Map([...decided.values()].flatMap((one) => one.ends))
  const ends = new Map(items.map((item) => [item, endsOfUsers.get(item) ?? endOf(item, undefined)]))
  const changes = [...decided.values()].flatMap((one) => one.changes)
  const awards = changes.reduce((sum, change) => sum + change.awards.length, 0)
  const progress = advance(db, progressOf(ends), { again: clock ?? again, isClockSet: clock !== null })
  const writings = found.groups.map(({ db: place, items: userIds, erasures }) => {
    const own = userIds.flatMap((id) => decided.get(id) ?? [])
    const readable = own.filter(({ userId }) => !spoilt.has(userId))
    const asRead = readable.map(({ userId: id }) => ({ id, was: states.get(id) ?? null }))
    const { statements, isMuch } = writeUsers(place, config, own, { kind: 'callers' })
    const guards = [
      configurationUnchanged(place, config.version),
      clockUnchanged(place, clock),
      usersUnchanged(place, asRead),
      ...(erasures === null ? [] : [noErasureSince(place, erasures)]),
    ]
    return { place, own, guards, writes: Object.values(statements).flat(), isMuch }
  })
  if ((awards > MOST_AWARDS || writings.some(({ isMuch }) => isMuch)) && items.length > 1) {
    return planned(context, work, { take: items.length >> 1, parked, again })
  }
  const hasNew = [...decided.values()].some(({ was, changes: own }) => was === null && own.length > 0)
  const step = { changes, config, changedAt: at }
  const common = { hasNew, rows, ends, step }
  const isAsRead = inboxUnchanged(db, rows)
  if (areHome(found.groups)) {
    // Without users, only the progress is stored.
    const [{ place, guards, writes }] = [...writings, { place: db, guards: [], writes: [] }]
    const statements = [...guards, isAsRead, ...writes, ...progress]
    return { ...common, parts: [{ db: place, statements, items, changes }], progress: [] }
  }
  return {
    ...common,
    parts: writings
      .map(({ place, own, guards, writes }) => ({
        db: place,
        statements: [...guards, ...writes],
        items: own.flatMap(({ ends: all, outcomes }) =>
          all.slice(all.length - outcomes.length).map(([item]) => item),
        ),
        changes: own.flatMap((one) => one.changes),
      }))
      .filter(({ items: own }) => own.length > 0),
    progress: [clockUnchanged(db, clock), isAsRead, ...progress],
  }
}

/**
 * Decides the events of a user. If an earlier step has recorded one, it has decided all events before it too:
 * those that are not in the log were not recordable then (B6).
 */
function decideUser(userId: string, jobs: readonly UserJob[], snapshot: CommitSnapshot): Decided {
  const last = jobs.findLastIndex(({ command }) => snapshot.recorded.has(command.eventId))
  const rest = jobs.slice(last + 1)
  const laterJobs = rest.map(({ job }) => job)
  const decision = decide(userId, laterJobs, snapshot)
  const earlier = jobs.slice(0, last + 1).map(({ job, command, item }): [Item, End] => {
    const end = endOf(item, decide(userId, [job], snapshot).outcomes[0])
    const isLeftOut = end.kind === 'processed' && !snapshot.recorded.has(command.eventId)
    const reason = 'It could not be recorded when its turn came.'
    return [item, isLeftOut ? { kind: 'dropped', reason } : end]
  })
  const later = rest.map(({ item }, index): [Item, End] => [item, endOf(item, decision.outcomes[index])])
  return { ...decision, userId, ends: [...earlier, ...later] }
}

function unread(userId: string, jobs: readonly UserJob[], error: unknown): Decided {
  const outcomes = jobs.map((): Outcome => ({ decision: { kind: 'failed', error }, config: null }))
  const ends = jobs.map(({ item }, index): [Item, End] => [item, endOf(item, outcomes[index])])
  return { userId, was: null, outcomes, changes: [], newlyUsed: [], ends }
}

/** While a test clock moves, a live event may be stored first with a later time. Time never goes back. */
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
