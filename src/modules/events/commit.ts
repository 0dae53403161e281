import type { TenantDatabase } from '../../db/database'
import { isConflict } from '../../db/guard'
import { Refusal, refusals } from '../../errors'
import { type Instant, systemNow, wait } from '../../shared/clock'
import { type Configuration, metricByKey } from '../configuration/configuration'
import type { ConfigurationCache } from '../configuration/configuration.cache'
import { configurationAt, loadConfiguration } from '../configuration/configuration.repository'
import { noticesOf } from '../notifications/notices.service'
import { newsOf } from '../outbox/news'
import { recountStreaks } from '../streaks/recount.service'
import { announce } from '../streaks/streaks.repository'
import { isStale } from '../streaks/streaks.rules'
import { parseStanding, standingStatement } from '../tenants/tenants.repository'
import { parseUser, storeUser, userStatement } from '../users/users.repository'
import { type Decided, decide, type Found, recordStatements } from './decide'
import {
  type EventSought,
  parseRecorded,
  parseUsedKeys,
  recordedStatement,
  usedKeysStatement,
} from './events.repository'
import { eventOf, type Job, type Outcome } from './tries'

/** Whose commands these are, as an isolate tells it to another. */
export type Line = { tenantId: string; userId: string }

/** What a commit works with. */
export type Means = {
  db: TenantDatabase
  configurations: ConfigurationCache
  /** Told of each conflict with another isolate. */
  conflicted: () => void
  /** Told where something may fall due earlier than all else of the tenant, so that the Timekeeper's alarm may be too late. */
  hastened: () => void
  /** Told where there is something to tell to the outside. */
  newsworthy: () => void
  /** How many conflicts there may be before the commit is given up; in the user's lane, without end. */
  patience: number
  /** Whether the commit may still write; not once somebody else has taken over. Asked after each answer of D1. */
  mayWrite: () => boolean
}

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
export async function commit(means: Means, userId: string, jobs: readonly Job[]): Promise<Outcome[]> {
  let conflicts = 0
  let failures = 0
  for (;;) {
    try {
      const found = await read(means, userId, jobs)
      if (!means.mayWrite()) throw new Deposed()
      const decided = decide(userId, jobs, found)
      const { outcomes } = decided
      const { statements, announces, news, isNoticed } = statementsOf(means.db, found, decided)
      if (statements.length > 0) {
        for (const [index, job] of jobs.entries()) {
          job.tried = { since: sinceOf(job, found.clock), outcome: outcomes[index] ?? null }
        }
        const results = await means.db.batch(statements)
        if (isNoticed || (announces && results.at(-1)?.meta.changes)) means.hastened()
        if (news > 0 && results.slice(1, 1 + news).some(({ meta }) => meta.changes > 0)) means.newsworthy()
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

/** Reads everything that decides, in one round trip if the configuration at hand is still the present one. */
async function read(means: Means, userId: string, jobs: readonly Job[]): Promise<Found> {
  const { db } = means
  let config = means.configurations.get(db.tenantId) ?? (await loadConfiguration(means))
  for (;;) {
    const prefixes = [...new Set(jobs.flatMap(({ prefix }) => prefix ?? []))]
    const pairs = idempotencyPairs(config, jobs)
    const sought = eventsSought(config, jobs)
    const results = await db.batch([
      standingStatement(db, db.tenantId, prefixes),
      userStatement(db, userId, systemNow()),
      ...(pairs.length === 0 ? [] : [usedKeysStatement(db, userId, pairs)]),
      ...(sought.length === 0 ? [] : [recordedStatement(db, userId, sought)]),
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
        tenant: standing.tenant,
        state,
        keys: standing.keys,
        clock: standing.clock,
        usedKeys: pairs.length === 0 ? [] : parseUsedKeys(results[2]),
        recorded: sought.length === 0 ? new Map() : parseRecorded(results.at(-1)),
      }
    }
    config = await configurationAt(means, standing.tenant.configVersion)
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

/** The guarded write batch: the user's last state, what is to be told, and all events, awards and keys; nothing where nothing changed. */
function statementsOf(
  db: TenantDatabase,
  { config, clock, state: was }: Found,
  decided: Decided,
): { statements: D1PreparedStatement[]; announces: boolean; news: number; isNoticed: boolean } {
  const last = decided.changes.at(-1)
  if (last === undefined) return { statements: [], announces: false, news: 0, isNoticed: false }
  const { due } = last.after.streak
  const announces = due !== null && due !== was?.streak.due
  const news = newsOf(db, config, decided.changes)
  const notices = noticesOf(db, config, decided.changes)
  const statements = [
    storeUser(db, last.after, { version: config.version, clock, was }),
    ...news,
    ...notices,
    ...recordStatements(db, [decided]),
    ...(announces ? [announce(db, due)] : []),
  ]
  return { statements, announces, news: news.length, isNoticed: notices.length > 0 }
}
