import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { configurationAt, recentConfiguration } from '../../configuration/configuration'
import { type Configuration, metricByKey } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { ApiError, errors } from '../../lib/errors'
import { systemNow, wait } from '../../lib/system-clock'
import type { Instance } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { isConflict, isTooBig } from '../../platform/guard'
import { isStale } from '../../rules/streaks/streaks.rules'
import {
  type EventLookup,
  parseRecorded,
  parseUsedKeys,
  recordedStatement,
  usedKeysStatement,
} from '../events.sql.ts'
import { userOf, usersStatement } from '../users/users.sql.ts'
import {
  type BatchDecision,
  type CommitSnapshot,
  decide,
  eventOf,
  type Job,
  type Outcome,
  recoverOutcome,
} from './decide'
import { recountStreaks } from './recount'
import { writeUsers } from './writer'

/** How often and how long a commit is tried again after conflicts, and the pause before each attempt (E3). */
type ConflictLimits = {
  /** The commit gives up at this number of conflicts. */
  conflicts: number
  /** Milliseconds since the first attempt. The first conflict after that time ends the commit. */
  ms: number
  /** The longest pause after the first conflict, and after any conflict, in milliseconds. */
  pause: { first: number; longest: number }
}

/** In an isolate: three attempts without a pause. Then the user's lane takes over. */
export const IN_ISOLATE: ConflictLimits = {
  conflicts: 3,
  ms: Number.POSITIVE_INFINITY,
  pause: { first: 0, longest: 0 },
}

/**
 * In the user's lane (E3): long enough that isolates, which try only three times, have given up. An isolate
 * gives signs of life for the same ten seconds while it waits for the lane.
 */
export const IN_LANE: ConflictLimits = { conflicts: 30, ms: 10_000, pause: { first: 10, longest: 200 } }

/** True if a commit gives up (E3): it began `ms` milliseconds ago and has had `conflicts` conflicts. */
export const isOver = (
  limits: ConflictLimits,
  { conflicts, ms }: { conflicts: number; ms: number },
): boolean => conflicts >= limits.conflicts || ms >= limits.ms

/**
 * The pause after the n-th conflict (from 1), in milliseconds. Its upper limit doubles each time, up to the
 * longest. `random` (0 to 1) is the part of it that is used, so that two commits in conflict do not stay in
 * step.
 */
export const pauseAfter = ({ pause }: ConflictLimits, nth: number, random: number): number =>
  random * Math.min(pause.longest, pause.first * 2 ** (nth - 1))

/** The user of commands, and the tenant. */
export type UserRef = { tenantId: string; userId: string }

/** What a commit needs: the database, the isolate's memory, and what it calls after it has stored. */
export type CommitDeps = {
  db: TenantDatabase
  instance: Instance
  /** Called if something may be due before all other work, so the Timekeeper's alarm may be too late. */
  ensureAlarm: () => void
  scheduleDrain: () => void
}

/** One user's commands, in their order. A group commit stores or leaves out all of them. */
export type UserBatch = {
  userId: string
  jobs: readonly Job[]
  /** Asked before each write, also as a sign of life: false once another request has taken the commands over. */
  stillLeads: () => boolean
}

/** How the commit of one user reacts to conflicts. */
type Persistence = {
  /** Called at each conflict with another isolate. */
  conflicted: () => void
  limits: ConflictLimits
}

/** For a user above 2 MB. Only one with a thousand of everything and the longest attributes is that large. */
const TOO_BIG =
  'The user would take more than the 2 MB that the database holds. Shorten or remove attributes or device tokens.'

const MOST_FAILURES = 3

/** Thrown if a commit gave up after too many conflicts. */
export class Contention extends Error {}

/** Thrown if another request has taken the commands over before anything was written. */
export class LeadershipLost extends Error {}

/**
 * Commits commands of one user together, in their order, with one read batch and one write batch
 * (docs/architecture.md: An event, step by step). Each command is accepted or refused on its own. The
 * accepted ones are stored all together. Returns the outcomes in the order of the jobs. Throws Contention,
 * LeadershipLost, TooMuch, an ApiError, or D1's error if D1 keeps failing.
 */
export async function commit(
  deps: CommitDeps,
  batch: UserBatch,
  { conflicted, limits }: Persistence,
): Promise<Outcome[]> {
  const began = systemNow()
  let conflicts = 0
  let failures = 0
  for (;;) {
    try {
      const [outcomes] = await commitOnce(deps, [batch])
      if (outcomes === undefined || outcomes === null) throw new LeadershipLost()
      return outcomes
    } catch (error) {
      if (error instanceof LeadershipLost || error instanceof ApiError || error instanceof TooMuch)
        throw error
      if (isConflict(error)) {
        conflicts += 1
        conflicted()
        if (isOver(limits, { conflicts, ms: systemNow() - began })) throw new Contention()
        const pause = pauseAfter(limits, conflicts, Math.random())
        if (pause > 0) await wait(pause)
      } else {
        failures += 1
        if (!batch.stillLeads()) throw new LeadershipLost()
        if (isTooBig(error) && batch.jobs.length === 1) throw errors.unprocessable(TOO_BIG)
        if (failures >= MOST_FAILURES) throw error
        await wait(20 * failures)
      }
    }
  }
}

/**
 * Finds out how commands ended whose commit gave up after too many conflicts; writes nothing. An earlier
 * attempt whose result was lost may have stored some of them. The log shows which, since no earlier write can
 * still arrive after a conflict. All others are 429, and nothing of them is stored (E3).
 */
export async function giveUp(deps: CommitDeps, { userId, jobs }: UserBatch): Promise<Outcome[]> {
  const snapshot = (await read(deps, [{ userId, jobs, stillLeads: () => false }])).of(userId)
  return jobs.map(
    (job): Outcome =>
      recoverOutcome(snapshot, job) ?? {
        decision: { kind: 'refused', apiError: errors.contended() },
        config: null,
      },
  )
}

/**
 * Tries once to commit the batches of several users, with one read batch and one write batch for all of them.
 * Each user is stored or left out on its own. Returns, in the order of the batches, the outcomes as `commit`
 * does. Returns null for a user that another request has changed or taken over: nothing of that user is
 * stored, and `commit` must do it. Throws D1's errors. Then each user must be committed alone, and the log
 * shows whether the write was stored.
 */
export async function commitTogether(
  deps: CommitDeps,
  batches: readonly UserBatch[],
): Promise<(Outcome[] | null)[]> {
  try {
    return await commitOnce(deps, batches)
  } catch (error) {
    // Only the guard of a user who is committed alone raises a conflict.
    if (isConflict(error) && batches.length === 1) return [null]
    throw error
  }
}

/** Thrown if several commands store too much for one batch. Nothing was stored. */
class TooMuch extends Error {}

/** Reads, decides and stores once. Returns the same as `commitTogether`. Throws D1's errors. */
async function commitOnce(deps: CommitDeps, batches: readonly UserBatch[]): Promise<(Outcome[] | null)[]> {
  const snapshot = await read(deps, batches)
  const decisions = new Map<UserBatch, BatchDecision>()
  for (const batch of batches) {
    if (!batch.stillLeads()) continue
    const decision = decide(batch.userId, batch.jobs, snapshot.of(batch.userId))
    decisions.set(batch, decision)
    if (decision.changes.length === 0) continue
    // Noted before the write, since its answer may be lost.
    for (const [index, job] of batch.jobs.entries()) {
      job.attempt = { since: sinceOf(job, snapshot.clock), outcome: decision.outcomes[index] ?? null }
    }
  }
  const changed = [...decisions.values()].filter(({ changes }) => changes.length > 0)
  const stored =
    changed.length === 0
      ? new Set<BatchDecision>()
      : await store(deps, snapshot, changed, batches.length === 1)
  return batches.map((batch) => {
    const decision = decisions.get(batch)
    if (decision === undefined) return null
    return decision.changes.length === 0 || stored.has(decision) ? decision.outcomes : null
  })
}

function sinceOf({ attempt, arrived }: Job, clock: Instant | null): Instant {
  const now = clock ?? arrived
  return attempt !== null && attempt.since < now ? attempt.since : now
}

/** The data of a commit, as of one moment: the part that all users of a group share, and each user's own. */
type GroupSnapshot = Pick<CommitSnapshot, 'config' | 'clock'> & { of: (userId: string) => CommitSnapshot }

/**
 * Reads all data of the decisions, in one round trip if the cached configuration is the current one. Counts
 * streaks again whose settings have changed, which writes.
 */
async function read(deps: CommitDeps, batches: readonly UserBatch[]): Promise<GroupSnapshot> {
  const { db } = deps
  const ids = batches.map(({ userId }) => userId)
  const credentials = batches.flatMap(({ jobs }) => jobs.flatMap(({ credential }) => credential ?? []))
  let config = await recentConfiguration(deps)
  for (;;) {
    const keys = keyLookups(config, batches)
    const sought = eventLookups(config, batches)
    const found = await db.batchOf({
      snapshot: requestSnapshotStatement(db, db.tenantId, credentials),
      users: usersStatement(db, ids),
      usedKeys: keys.length === 0 ? [] : [usedKeysStatement(db, keys)],
      recorded: sought.length === 0 ? [] : [recordedStatement(db, sought)],
    })
    const snapshot = parseRequestSnapshot(found.snapshot)
    const { tenant } = snapshot
    if (tenant === null) throw errors.tenantUnknown()
    if (tenant.configVersion === config.version) {
      const states = new Map(found.users.results.map(userOf).map((user) => [user.id, user]))
      const stale = [...states.values()].filter(({ streak }) => isStale(streak, config.streaks))
      if (stale.length > 0) {
        await recountStreaks(db, config, stale, snapshot.clock ?? systemNow())
        continue
      }
      const { present, clock } = snapshot
      const used = found.usedKeys.flatMap(parseUsedKeys)
      const recorded = new Map(found.recorded.flatMap((result) => [...parseRecorded(result)]))
      const common = { config, tenant, present, clock, now: systemNow(), recorded }
      return {
        config,
        clock,
        of: (userId) => ({
          ...common,
          state: states.get(userId) ?? null,
          usedKeys: used.filter((key) => key.userId === userId),
        }),
      }
    }
    config = await configurationAt(deps, tenant.configVersion)
  }
}

/** The idempotency keys of commands, each with its user and metric: [user id, metric id, key]. */
const keyLookups = (config: Configuration, batches: readonly UserBatch[]) =>
  batches.flatMap(({ userId, jobs }) =>
    jobs.flatMap(({ command }): [string, string, string][] => {
      if (command.kind !== 'event' || command.idempotencyKey === null) return []
      const metric = metricByKey(config, command.metricKey)
      return metric === undefined ? [] : [[userId, metric.id, command.idempotencyKey]]
    }),
  )

/** For each event that was attempted before: its place in the log if it was stored. */
const eventLookups = (config: Configuration, batches: readonly UserBatch[]) =>
  batches.flatMap(({ userId, jobs }) =>
    jobs.flatMap(({ command, attempt }): EventLookup[] => {
      if (command.kind !== 'event' || attempt === null) return []
      const metricId = eventOf(attempt.outcome)?.metricId ?? metricByKey(config, command.metricKey)?.id
      return metricId === undefined ? [] : [{ userId, metricId, since: attempt.since, id: command.eventId }]
    }),
  )

/**
 * Stores the users' last states, the outbox entries, and all events, awards and keys in one batch. For a
 * single user, a guard raises a conflict that undoes the batch. In a group, each statement skips users who
 * have changed since the read, so that they do not affect the others. Returns the decisions that were stored.
 */
async function store(
  deps: CommitDeps,
  { config, clock }: GroupSnapshot,
  decisions: readonly BatchDecision[],
  isAlone: boolean,
): Promise<ReadonlySet<BatchDecision>> {
  const { db } = deps
  const changed = decisions.filter(({ changes }) => changes.length > 0)
  const guard = { kind: isAlone ? ('alone' as const) : ('each' as const), clock }
  const { statements, isMuch, outcome } = writeUsers(db, config, changed, guard)
  // Nothing was written. Each user, and then each command, is committed alone, so that there is enough room.
  if (isMuch && decisions.reduce((sum, { outcomes }) => sum + outcomes.length, 0) > 1) throw new TooMuch()
  const { stored, hasOutboxEntries, changesDueWork } = outcome(await db.batchOf(statements))
  if (hasOutboxEntries) deps.scheduleDrain()
  if (changesDueWork) deps.ensureAlarm()
  return new Set(changed.filter(({ changes }) => stored.has(changes.at(-1)?.after.iid ?? '')))
}
