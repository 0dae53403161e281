import type { Database } from '../../db/database'
import { isConflict } from '../../db/guard'
import { type Decision, evaluate } from '../../engine/evaluate'
import type { Change } from '../../engine/happen'
import type { UserState } from '../../engine/state'
import { Refusal, refusals } from '../../errors'
import { type Instant, instant, systemNow, wait } from '../../shared/clock'
import { newId } from '../../shared/ids'
import { tally, USERS } from '../achievements/tallies.repository'
import { type Configuration, metricByKey } from '../configuration/configuration'
import type { ConfigurationCache } from '../configuration/configuration.cache'
import { configurationAt, loadConfiguration } from '../configuration/configuration.repository'
import { bookAwards } from '../points/points.repository'
import { recountStreaks } from '../streaks/recount.service'
import { announce, keepRuns } from '../streaks/streaks.repository'
import { isStale } from '../streaks/streaks.rules'
import { parseStanding, standingStatement } from '../tenants/tenants.repository'
import { parseUser, storeUser, userStatement } from '../users/users.repository'
import {
  type EventSought,
  logEvents,
  parseRecorded,
  parseUsedKeys,
  type Recorded,
  recordedStatement,
  type UsedKey,
  usedKeysStatement,
  useKeys,
} from './events.repository'
import { eventOf, type Job, type Outcome, outcomeOfTry } from './tries'

/** Whose commands these are. */
export type Line = { tenantId: string; userId: string }

/** What a commit works with. */
export type Means = {
  db: Database
  configurations: ConfigurationCache
  /** Told of each conflict with another isolate. */
  conflicted: () => void
  /** Told where a deadline is earlier than all others of the tenant, so that the Timekeeper's alarm may be too late. */
  hastened: () => void
  /** How many conflicts there may be before the commit is given up; in the user's lane, without end. */
  patience: number
  /** Whether the commit may still write; not once somebody else has taken over. Asked after each answer of D1. */
  mayWrite: () => boolean
}

/** By how much an event may be older than its commit, in milliseconds: well below the grace of ticks and of final runs. */
const MOST_LATE = 5_000

/** Failures of D1 itself after which a commit gives up. */
const MOST_FAILURES = 3

/** Thrown where a commit was given up after too many conflicts; nothing of it has happened. */
export class Contention extends Error {}

/** Thrown where somebody else has taken the commands over before anything was written. */
export class Deposed extends Error {}

/**
 * Commits commands of one user together, in their order, by one read batch and one write batch (design: the event
 * path). Each is refused or done on its own; what is done is stored all together. Outcomes are in the jobs' order.
 * Throws Contention, Deposed, or what D1 throws if it keeps failing.
 */
export async function commit(means: Means, line: Line, jobs: readonly Job[]): Promise<Outcome[]> {
  let conflicts = 0
  let failures = 0
  for (;;) {
    try {
      const found = await read(means, line, jobs)
      if (!means.mayWrite()) throw new Deposed()
      const { outcomes, statements, announces } = decide(means.db, line, jobs, found)
      if (statements.length > 0) {
        for (const [index, job] of jobs.entries()) {
          job.tried = { since: sinceOf(job, found.clock), outcome: outcomes[index] ?? null }
        }
        const results = await means.db.batch(statements)
        if (announces && results.at(-1)?.meta.changes) means.hastened()
      }
      return outcomes
    } catch (error) {
      if (error instanceof Deposed || error instanceof Refusal) throw error
      if (isConflict(error)) {
        conflicts += 1
        means.conflicted()
        if (conflicts >= means.patience) throw new Contention()
      } else {
        failures += 1
        if (!means.mayWrite()) throw new Deposed()
        if (failures >= MOST_FAILURES) throw error
        await wait(20 * failures)
      }
    }
  }
}

function sinceOf({ tried, arrived }: Job, clock: Instant | null): Instant {
  const now = clock ?? arrived
  return tried !== null && tried.since < now ? tried.since : now
}

/** What a commit has read, as of one moment. */
type Found = {
  config: Configuration
  state: UserState | null
  /** Keys that exist, of those that the jobs came with. */
  keys: ReadonlySet<string>
  clock: Instant | null
  usedKeys: readonly UsedKey[]
  /** Events of commands that were tried before and that are in the log, by id. */
  recorded: ReadonlyMap<string, Recorded>
}

/** Reads everything that decides, in one round trip if the configuration at hand is still the present one. */
async function read(means: Means, line: Line, jobs: readonly Job[]): Promise<Found> {
  const { db } = means
  let config = means.configurations.get(line.tenantId) ?? (await loadConfiguration(means, line.tenantId))
  for (;;) {
    const prefixes = [...new Set(jobs.flatMap(({ prefix }) => prefix ?? []))]
    const pairs = idempotencyPairs(config, jobs)
    const sought = eventsSought(config, jobs)
    const results = await db.batch([
      standingStatement(db, line.tenantId, prefixes),
      userStatement(db, line.tenantId, line.userId, systemNow()),
      ...(pairs.length === 0 ? [] : [usedKeysStatement(db, line.tenantId, line.userId, pairs)]),
      ...(sought.length === 0 ? [] : [recordedStatement(db, line.tenantId, line.userId, sought)]),
    ])
    const standing = parseStanding(results[0])
    if (standing.tenant === null) throw refusals.tenantUnknown()
    if (standing.tenant.configVersion === config.version) {
      const state = parseUser(results[1])
      if (state !== null && isStale(state.streak, config.streaks)) {
        await recountStreaks(db, config, [state], standing.clock ?? systemNow())
        continue
      }
      return {
        config,
        state,
        keys: standing.keys,
        clock: standing.clock,
        usedKeys: pairs.length === 0 ? [] : parseUsedKeys(results[2]),
        recorded: sought.length === 0 ? new Map() : parseRecorded(results.at(-1)),
      }
    }
    config = await configurationAt(means, line.tenantId, standing.tenant.configVersion)
  }
}

function idempotencyPairs(config: Configuration, jobs: readonly Job[]): [string, string][] {
  const pairs: [string, string][] = []
  for (const { command } of jobs) {
    if (command.kind !== 'event' || command.idempotencyKey === null) continue
    const metric = metricByKey(config, command.metricKey)
    if (metric !== undefined) pairs.push([metric.id, command.idempotencyKey])
  }
  return pairs
}

/** The events of commands that were tried before: where in the log they would be, if they are in it. */
function eventsSought(config: Configuration, jobs: readonly Job[]): EventSought[] {
  const sought: EventSought[] = []
  for (const { command, tried } of jobs) {
    if (command.kind !== 'event' || tried === null) continue
    const metricId = eventOf(tried.outcome)?.metricId ?? metricByKey(config, command.metricKey)?.id
    if (metricId !== undefined) sought.push({ metricId, since: tried.since, id: command.eventId })
  }
  return sought
}

/** Lets each command act on what the ones before it have made, and collects what is to be stored. */
function decide(
  db: Database,
  line: Line,
  jobs: readonly Job[],
  { config, state: found, keys, clock, usedKeys, recorded }: Found,
): { outcomes: Outcome[]; statements: D1PreparedStatement[]; announces: boolean } {
  const used = new Map(usedKeys.map(({ metricId, key, eventId }) => [`${metricId} ${key}`, eventId]))
  const newlyUsed: UsedKey[] = []
  const changes: Change[] = []
  let state = found
  const outcomes = jobs.map((job): Outcome => {
    const known = outcomeOfTry({ config, state: found, recorded, clock }, job)
    if (known !== null) return known
    if (job.prefix !== null && !keys.has(job.prefix)) return refused(refusals.keyInvalid())
    const decision = attempt(() =>
      evaluate(config, state, job.command, {
        userId: line.userId,
        now: clock ?? notBefore(job.arrived),
        newId,
        usedKey: (metricId, key) => used.get(`${metricId} ${key}`),
      }),
    )
    if (decision.kind === 'refused') return { decision, config: null }
    if (decision.kind === 'failed') return { decision, config: null }
    if (decision.kind === 'changed') {
      const { change } = decision
      state = change.after
      changes.push(change)
      if (change.event !== null && job.command.kind === 'event' && job.command.idempotencyKey !== null) {
        const { metricId, id } = change.event
        used.set(`${metricId} ${job.command.idempotencyKey}`, id)
        newlyUsed.push({ metricId, key: job.command.idempotencyKey, eventId: id })
      }
    }
    return { decision, config }
  })
  const statements = statementsOf(db, { config, clock }, line, found, changes, newlyUsed)
  const due = changes.at(-1)?.after.streak.due ?? null
  if (due === null || due === found?.streak.due) return { outcomes, statements, announces: false }
  return { outcomes, statements: [...statements, announce(db, line.tenantId, due)], announces: true }
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

/** The guarded write batch: the user's last state, and all events, awards and keys; nothing where nothing changed. */
function statementsOf(
  db: Database,
  { config, clock }: Pick<Found, 'config' | 'clock'>,
  line: Line,
  found: UserState | null,
  changes: readonly Change[],
  newlyUsed: readonly UsedKey[],
): D1PreparedStatement[] {
  const last = changes.at(-1)
  if (last === undefined) return []
  const { iid } = last.after
  const events = changes.flatMap(({ event }) => event ?? [])
  const awards = changes.flatMap((change) => change.awards)
  return [
    storeUser(db, line.tenantId, last.after, { version: config.version, clock, was: found }),
    ...(events.length === 0 ? [] : [logEvents(db, iid, events)]),
    ...bookAwards(db, iid, awards),
    ...keepRuns(
      db,
      iid,
      changes.flatMap(({ ended }) => ended),
    ),
    ...tally(db, line.tenantId, [
      ...(found === null ? [USERS] : []),
      ...changes.flatMap(({ completed }) => completed),
    ]),
    ...(newlyUsed.length === 0 ? [] : [useKeys(db, iid, newlyUsed)]),
  ]
}
