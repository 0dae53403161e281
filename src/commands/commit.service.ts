import { parseStanding, type Standing, standingStatement } from '../access/tenants.repository'
import { configurationAt, recentConfiguration } from '../config/configuration.repository'
import { type Configuration, metricByKey } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import { isConflict, isTooBig } from '../db/guard'
import type { UserState } from '../engine/state.types'
import { isStale } from '../engine/streaks/streaks.rules'
import type { Instant } from '../lib/clock'
import { Refusal, refusals } from '../lib/errors'
import { systemNow, wait } from '../lib/system-clock'
import type { Instance } from '../runtime/instance'
import {
  type EventSought,
  parseRecorded,
  parseUsedKeys,
  recordedStatement,
  type UsedKey,
  usedKeysStatement,
} from '../store/events.repository'
import { recountStreaks } from '../store/streak-recount.service'
import { userOf, usersStatement } from '../store/users.repository'
import { writeUsers } from '../store/writer.service'
import { eventOf, outcomeOfTry } from './attempts.service'
import type { Job, Outcome } from './attempts.types'
import { type ConflictLimits, isOver, pauseAfter } from './conflict-retry.rules'
import { type Decided, decide, type Found } from './decide.service'

/** Whose commands these are, as an isolate tells it to another. */
export type Line = { tenantId: string; userId: string }

/** What a commit works with. */
export type Means = {
  db: TenantDatabase
  instance: Instance
  /** Told where something may fall due earlier than all else of the tenant, so that the Timekeeper's alarm may be too late. */
  hastened: () => void
  /** Told where there is something to tell to the outside. */
  newsworthy: () => void
}

/** A user's commands, in their order, that are to be committed together. */
export type Member = {
  userId: string
  jobs: readonly Job[]
  /** Whether they may still be written; not once somebody else has taken them over. Asked after each answer of D1. */
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

/** Thrown where a commit was given up after too many conflicts; nothing of it has happened. */
export class Contention extends Error {}

/** Thrown where somebody else has taken the commands over before anything was written. */
export class Deposed extends Error {}

/**
 * Commits commands of one user together, in their order, by one read batch and one write batch (design: the event
 * path). Each is refused or done on its own; what is done is stored all together. Outcomes are in the jobs' order.
 * Throws Contention, Deposed, TooMuch, or what D1 throws if it keeps failing.
 */
export async function commit(
  means: Means,
  member: Member,
  { conflicted, limits }: Persistence,
): Promise<Outcome[]> {
  const began = systemNow()
  let conflicts = 0
  let failures = 0
  for (;;) {
    try {
      const [outcomes] = await attempt(means, [member])
      if (outcomes === undefined || outcomes === null) throw new Deposed()
      return outcomes
    } catch (error) {
      if (error instanceof Deposed || error instanceof Refusal || error instanceof TooMuch) throw error
      if (isConflict(error)) {
        conflicts += 1
        conflicted()
        if (isOver(limits, { conflicts, ms: systemNow() - began })) throw new Contention()
        const pause = pauseAfter(limits, conflicts, Math.random())
        if (pause > 0) await wait(pause)
      } else {
        failures += 1
        if (!member.mayWrite()) throw new Deposed()
        if (isTooBig(error) && member.jobs.length === 1) throw refusals.unprocessable(TOO_BIG)
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
export async function giveUp(means: Means, { userId, jobs }: Member, retryAfter: number): Promise<Outcome[]> {
  const found = foundOf(await read(means, [{ userId, jobs, mayWrite: () => false }]), userId)
  return jobs.map(
    (job): Outcome =>
      outcomeOfTry(found, job) ?? {
        decision: { kind: 'refused', refusal: refusals.contended(retryAfter) },
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
  means: Means,
  members: readonly Member[],
): Promise<(Outcome[] | null)[]> {
  try {
    return await attempt(means, members)
  } catch (error) {
    // Only the guard of one who is alone raises.
    if (isConflict(error) && members.length === 1) return [null]
    throw error
  }
}

/** Thrown if what several commands have to tell is too long for one batch; nothing of them has happened. */
export class TooMuch extends Error {}

/** What one user's commands come to. */
type Settled = Decided & { member: Member; was: UserState | null }

async function attempt(means: Means, members: readonly Member[]): Promise<(Outcome[] | null)[]> {
  const found = await read(means, members)
  const settled = members
    .filter(({ mayWrite }) => mayWrite())
    .map((member): Settled => {
      const one = foundOf(found, member.userId)
      return { member, was: one.state, ...decide(member.userId, member.jobs, one) }
    })
  const changed = settled.filter(({ changes }) => changes.length > 0)
  for (const { member, outcomes } of changed) {
    for (const [index, job] of member.jobs.entries()) {
      job.tried = { since: sinceOf(job, found.standing.clock), outcome: outcomes[index] ?? null }
    }
  }
  const stored =
    changed.length === 0 ? new Set<Settled>() : await store(means, found, changed, members.length === 1)
  return members.map((member) => {
    const one = settled.find((each) => each.member === member)
    return one === undefined || (one.changes.length > 0 && !stored.has(one)) ? null : one.outcomes
  })
}

function sinceOf({ tried, arrived }: Job, clock: Instant | null): Instant {
  const now = clock ?? arrived
  return tried !== null && tried.since < now ? tried.since : now
}

/** What a commit has read of several users, as of one moment. */
type FoundTogether = Pick<Found, 'config' | 'tenant' | 'recorded'> & {
  standing: Standing
  states: ReadonlyMap<string, UserState>
  usedKeys: readonly (UsedKey & { userId: string })[]
}

const foundOf = (
  { config, tenant, recorded, standing, states, usedKeys }: FoundTogether,
  userId: string,
): Found => ({
  config,
  tenant,
  recorded,
  state: states.get(userId) ?? null,
  keys: standing.keys,
  clock: standing.clock,
  usedKeys: usedKeys.filter((key) => key.userId === userId),
})

/** Reads everything that decides, in one round trip if the configuration at hand is still the present one. */
async function read(means: Means, members: readonly Member[]): Promise<FoundTogether> {
  const { db } = means
  const ids = members.map(({ userId }) => userId)
  const prefixes = [...new Set(members.flatMap(({ jobs }) => jobs.flatMap(({ prefix }) => prefix ?? [])))]
  let config = await recentConfiguration(means)
  for (;;) {
    const keys = keysSought(config, members)
    const sought = eventsSought(config, members)
    const found = await db.batchOf({
      standing: standingStatement(db, db.tenantId, prefixes),
      users: usersStatement(db, { ids }, systemNow()),
      usedKeys: keys.length === 0 ? [] : [usedKeysStatement(db, keys)],
      recorded: sought.length === 0 ? [] : [recordedStatement(db, sought)],
    })
    const standing = parseStanding(found.standing)
    const { tenant } = standing
    if (tenant === null) throw refusals.tenantUnknown()
    if (tenant.configVersion === config.version) {
      const states = new Map(found.users.results.map(userOf).map((user) => [user.id, user]))
      const stale = [...states.values()].filter(({ streak }) => isStale(streak, config.streaks))
      if (stale.length > 0) {
        await recountStreaks(db, config, stale, standing.clock ?? systemNow())
        continue
      }
      return {
        config,
        tenant,
        standing,
        states,
        usedKeys: found.usedKeys.flatMap(parseUsedKeys),
        recorded: new Map(found.recorded.flatMap((result) => [...parseRecorded(result)])),
      }
    }
    config = await configurationAt(means, tenant.configVersion)
  }
}

/** The idempotency keys of commands, with whose they would be. */
function keysSought(config: Configuration, members: readonly Member[]): [string, string, string][] {
  const keys: [string, string, string][] = []
  for (const { userId, jobs } of members) {
    for (const { command } of jobs) {
      if (command.kind !== 'event' || command.idempotencyKey === null) continue
      const metric = metricByKey(config, command.metricKey)
      if (metric !== undefined) keys.push([userId, metric.id, command.idempotencyKey])
    }
  }
  return keys
}

/** The events of commands that were tried before: where in the log they would be, if they are in it. */
function eventsSought(config: Configuration, members: readonly Member[]): EventSought[] {
  const sought: EventSought[] = []
  for (const { userId, jobs } of members) {
    for (const { command, tried } of jobs) {
      if (command.kind !== 'event' || tried === null) continue
      const metricId = eventOf(tried.outcome)?.metricId ?? metricByKey(config, command.metricKey)?.id
      if (metricId !== undefined) sought.push({ userId, metricId, since: tried.since, id: command.eventId })
    }
  }
  return sought
}

/**
 * Stores the users' last states, what is to be told, and all events, awards and keys, by one batch. Of one who is alone, a guard lets all of it happen or
 * raises a conflict; of several, those alone who are as read, so that none pays for another. Answers whose were stored.
 */
async function store(
  means: Means,
  { config, standing: { clock } }: FoundTogether,
  settled: readonly Settled[],
  isAlone: boolean,
): Promise<ReadonlySet<Settled>> {
  const { db } = means
  const changed = settled.filter(({ changes }) => changes.length > 0)
  const guard = { kind: isAlone ? ('alone' as const) : ('each' as const), clock }
  const { statements, isMuch, outcome } = writeUsers(db, config, changed, guard)
  // Nothing was tried: each of them goes alone, with room enough.
  if (isMuch && settled.reduce((sum, { member }) => sum + member.jobs.length, 0) > 1) throw new TooMuch()
  const { stored, tells, hastens } = outcome(await db.batchOf(statements))
  if (tells) means.newsworthy()
  if (hastens) means.hastened()
  return new Set(changed.filter(({ changes }) => stored.has(changes.at(-1)?.after.iid ?? '')))
}
