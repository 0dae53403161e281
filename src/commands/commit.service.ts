import { parseRequestSnapshot, requestSnapshotStatement } from '../access/tenants.repository'
import { configurationAt, recentConfiguration } from '../config/configuration.repository'
import { type Configuration, metricByKey } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import { isConflict, isTooBig } from '../db/guard'
import { isStale } from '../engine/streaks/streaks.rules'
import type { Instant } from '../lib/clock'
import { ApiError, errors } from '../lib/errors'
import { systemNow, wait } from '../lib/system-clock'
import type { Instance } from '../runtime/instance'
import {
  type EventLookup,
  parseRecorded,
  parseUsedKeys,
  recordedStatement,
  usedKeysStatement,
} from '../store/events.repository'
import { recountStreaks } from '../store/streaks/streak-recount.service'
import { userOf, usersStatement } from '../store/users.repository'
import { writeUsers } from '../store/writer.service'
import { eventOf, recoverOutcome } from './attempts.service'
import type { CommitSnapshot, Job, Outcome } from './commit.types'
import { type ConflictLimits, isOver, pauseAfter } from './conflict-retry.rules'
import { type BatchDecision, decide } from './decide.service'

/** A user of a tenant: whose commands these are. */
export type UserRef = { tenantId: string; userId: string }

/** What a commit depends on: the database, the isolate's memory, and whom to tell of what it has stored. */
export type CommitDeps = {
  db: TenantDatabase
  instance: Instance
  /** Called if something may fall due earlier than all else of the tenant, so that the Timekeeper's alarm may be too late. */
  ensureAlarm: () => void
  /** Called if the outbox has something new. */
  scheduleDrain: () => void
}

/** One user's commands that are committed together, in their order: what a group commit stores or leaves out as a whole. */
export type UserBatch = {
  userId: string
  jobs: readonly Job[]
  /** True while they may be written: until another request has taken them over. Asked after each answer of D1. */
  mayWrite: () => boolean
}

/** How a commit of one user deals with others that get in its way. */
export type Persistence = {
  /** Told of each conflict with another isolate. */
  conflicted: () => void
  /** When it is given up. */
  limits: ConflictLimits
}

/** Only somebody with a thousand of everything, and attributes as long as may be, is as large as that. */
const TOO_BIG =
  'The user would take more than the 2 MB that the database holds. Shorten or remove attributes or device tokens.'

/** Failures of D1 itself after which a commit gives up. */
const MOST_FAILURES = 3

/** Thrown if a commit was given up after too many conflicts. */
export class Contention extends Error {}

/** Thrown if another request has taken the commands over before anything was written. */
export class LeadershipLost extends Error {}

/**
 * Commits commands of one user together, in their order, by one read batch and one write batch (design: the event
 * path). Each is refused or done on its own; what is done is stored all together. Outcomes are in the jobs' order.
 * Throws Contention, LeadershipLost, TooMuch, or what D1 throws if it keeps failing.
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
        if (!batch.mayWrite()) throw new LeadershipLost()
        if (isTooBig(error) && batch.jobs.length === 1) throw errors.unprocessable(TOO_BIG)
        if (failures >= MOST_FAILURES) throw error
        await wait(20 * failures)
      }
    }
  }
}

/**
 * Ends commands whose commit was given up after too many conflicts. An earlier attempt whose answer was lost may have stored some of them:
 * the log tells, since after a conflict no earlier write can arrive any more. All others are 429, and nothing of them is stored (E3).
 */
export async function giveUp(
  deps: CommitDeps,
  { userId, jobs }: UserBatch,
  retryAfter: number,
): Promise<Outcome[]> {
  const snapshot = (await read(deps, [{ userId, jobs, mayWrite: () => false }])).of(userId)
  return jobs.map(
    (job): Outcome =>
      recoverOutcome(snapshot, job) ?? {
        decision: { kind: 'refused', apiError: errors.contended(retryAfter) },
        config: null,
      },
  )
}

/**
 * Tries once to commit what several users wait for, by one read batch and one write batch for all of them; each user's is stored or not
 * on its own. Answers, in their order, the outcomes as `commit` does, or null where somebody got in a user's way: nothing of that user has
 * happened, and `commit` is to do it. Throws what D1 throws; then each has to be committed alone, and the log tells whether it was.
 */
export async function commitTogether(
  deps: CommitDeps,
  batches: readonly UserBatch[],
): Promise<(Outcome[] | null)[]> {
  try {
    return await commitOnce(deps, batches)
  } catch (error) {
    // Only the guard of one who is alone raises.
    if (isConflict(error) && batches.length === 1) return [null]
    throw error
  }
}

/** Thrown if what several commands have to tell is too long for one batch; nothing of them has happened. */
export class TooMuch extends Error {}

/** Reads, decides and stores once. Answers as `commitTogether` does; throws what D1 throws. */
async function commitOnce(deps: CommitDeps, batches: readonly UserBatch[]): Promise<(Outcome[] | null)[]> {
  const snapshot = await read(deps, batches)
  const decisions = new Map<UserBatch, BatchDecision>()
  for (const batch of batches) {
    if (!batch.mayWrite()) continue
    const decision = decide(batch.userId, batch.jobs, snapshot.of(batch.userId))
    decisions.set(batch, decision)
    if (decision.changes.length === 0) continue
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

/** What a commit has read, as of one moment: the same for all users of a group, and each user's own. */
type GroupSnapshot = Pick<CommitSnapshot, 'config' | 'clock'> & { of: (userId: string) => CommitSnapshot }

/** Reads everything that decides, in one round trip if the configuration at hand is still the present one. */
async function read(deps: CommitDeps, batches: readonly UserBatch[]): Promise<GroupSnapshot> {
  const { db } = deps
  const ids = batches.map(({ userId }) => userId)
  const prefixes = [...new Set(batches.flatMap(({ jobs }) => jobs.flatMap(({ prefix }) => prefix ?? [])))]
  let config = await recentConfiguration(deps)
  for (;;) {
    const keys = keyLookups(config, batches)
    const sought = eventLookups(config, batches)
    const found = await db.batchOf({
      snapshot: requestSnapshotStatement(db, db.tenantId, prefixes),
      users: usersStatement(db, { ids }, systemNow()),
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
      const { keys: present, clock } = snapshot
      const used = found.usedKeys.flatMap(parseUsedKeys)
      const recorded = new Map(found.recorded.flatMap((result) => [...parseRecorded(result)]))
      const common = { config, tenant, keys: present, clock, now: systemNow(), recorded }
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

/** The idempotency keys of commands, with whose they would be. */
function keyLookups(config: Configuration, batches: readonly UserBatch[]): [string, string, string][] {
  const keys: [string, string, string][] = []
  for (const { userId, jobs } of batches) {
    for (const { command } of jobs) {
      if (command.kind !== 'event' || command.idempotencyKey === null) continue
      const metric = metricByKey(config, command.metricKey)
      if (metric !== undefined) keys.push([userId, metric.id, command.idempotencyKey])
    }
  }
  return keys
}

/** The events of commands that were tried before: where in the log they would be, if they are in it. */
function eventLookups(config: Configuration, batches: readonly UserBatch[]): EventLookup[] {
  const sought: EventLookup[] = []
  for (const { userId, jobs } of batches) {
    for (const { command, attempt } of jobs) {
      if (command.kind !== 'event' || attempt === null) continue
      const metricId = eventOf(attempt.outcome)?.metricId ?? metricByKey(config, command.metricKey)?.id
      if (metricId !== undefined) sought.push({ userId, metricId, since: attempt.since, id: command.eventId })
    }
  }
  return sought
}

/**
 * Stores the users' last states, what is to be told, and all events, awards and keys, by one batch. Of one who is alone, a guard lets all of it happen or
 * raises a conflict; of several, those alone who are as read, so that none pays for another. Answers whose were stored.
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
  // Nothing was written: each of them goes alone, with room enough.
  if (isMuch && decisions.reduce((sum, { outcomes }) => sum + outcomes.length, 0) > 1) throw new TooMuch()
  const { stored, tells, changesDueWork } = outcome(await db.batchOf(statements))
  if (tells) deps.scheduleDrain()
  if (changesDueWork) deps.ensureAlarm()
  return new Set(changed.filter(({ changes }) => stored.has(changes.at(-1)?.after.iid ?? '')))
}
