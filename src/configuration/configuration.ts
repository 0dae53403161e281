import { parseRequestSnapshot, requestSnapshotStatement } from '../access/tenants.sql.ts'
import type { Instant } from '../lib/clock'
import { errors } from '../lib/errors'
import { wait } from '../lib/system-clock'
import type { Scope, TenantContext } from '../platform/context'
import type { Statement, TenantDatabase } from '../platform/database'
import { FIRST } from '../platform/databases/directory'
import { configurationUnchanged, isConflict, mayBeStored, usersUnchanged } from '../platform/guard'
import { Instance } from '../platform/instance'
import type { Work } from '../time/due-work.sql.ts'
import { ensureAlarm } from '../time/timekeeper'
import type { AuditEntry } from './audit.rules'
import { auditEntries } from './audit.sql.ts'
import { configurationAt, loadConfiguration, recentConfiguration } from './configuration.sql.ts'
import { NOTHING_TO_PREPARE, prepareCopies } from './copied-changes'
import { settleCopy } from './copies'
import type { Configuration } from './model'

/** The memory of an isolate or object that begins. Its databases keep copies of the configuration (B4). */
export const newInstance = () => new Instance(settleCopy)

/**
 * Does one step of due work in one guarded batch. `decide` makes the statements from the configuration. If
 * the step was already done, or if the configuration has changed, nothing is stored: the work is still due,
 * and is read again.
 */
export async function guardedStep(
  context: TenantContext,
  work: Pick<Work<unknown>, 'unchanged'>,
  decide: (config: Configuration) => Promise<readonly Statement[]>,
): Promise<void> {
  const { db } = context
  const config = await recentConfiguration(context)
  const statements = await decide(config)
  try {
    await db.batch([configurationUnchanged(db, config.version), work.unchanged(), ...statements])
  } catch (error) {
    if (!isConflict(error)) throw error
    await loadConfiguration(context)
  }
}

type ReadUser = { id: string; iid: string; seq: number }

/** The result of deciding a change of the configuration. */
export type Decision<T> = {
  statements: readonly Statement[]
  /** Statements in the same batch that change no configuration, and so do not raise its version. */
  beside?: readonly Statement[]
  /** The entries of the audit log: one for each changed resource (Z1). */
  audit: readonly AuditEntry[]
  /** Users who must still be as the decision saw them. */
  users?: readonly ReadUser[]
  /**
   * Further guards, for other data that must still be as the decision saw it. Those of work on users must
   * hold in each database (B4), the others in the first one.
   */
  guards?: readonly Statement[]
  result: T
}

/** The tenant's present configuration, as of the version that the request's first read has seen. */
export function configurationOf(scope: Scope): Promise<Configuration> {
  return configurationAt(scope, scope.tenant.configVersion)
}

/** The tenant's present configuration, for background work. It costs a round trip to read the version. */
export async function presentConfiguration(context: TenantContext): Promise<Configuration> {
  const { config } = await presentState(context)
  if (config === null) throw new Error('the tenant is gone')
  return config
}

/**
 * The same with the time of the test clock, if it is set, in the same round trip. The configuration is null
 * if the tenant is not active (T3, C1).
 */
export async function presentState(
  context: TenantContext,
): Promise<{ config: Configuration | null; clock: Instant | null }> {
  const { db } = context
  const result = await db.run(requestSnapshotStatement(db, db.tenantId, []))
  const { tenant, clock } = parseRequestSnapshot(result)
  const config = tenant && (await configurationAt(context, tenant.configVersion))
  return { config, clock }
}

const RAISE_VERSION =
  'UPDATE tenants SET config_version = config_version + 1, config_change = ?2 WHERE id = ?1'
const LAST_CHANGE = 'SELECT 1 FROM tenants WHERE id = ?1 AND config_change = ?2'

/**
 * Raises the version of a tenant's configuration; part of the batch that changes it. A change without a
 * request has no name.
 */
export function raiseVersion(db: TenantDatabase, change: string | null = null): Statement {
  return db.statement(RAISE_VERSION, db.tenantId, change)
}

/**
 * Attempts of a change before it gives up. Each failed attempt means that another change was stored, or, with
 * several databases, is under way, or that a guard does not hold in another database. Then it pauses, in
 * milliseconds: longer in all than another change, whose process may have died, can stay under way.
 */
const TRIES = 250
const PAUSE = 40

/**
 * Changes the configuration. `decide` gets the present configuration, and returns the statements. They are
 * stored only if no other change came in between. They go to the first database, and then to the copies in
 * the others (B4). They raise the version, so that no event that was evaluated before is stored after. On a
 * conflict, `decide` is called again with the newer configuration. If D1's reply is lost, the tenant's row says
 * whether this change was the last one. Throws 404 if the tenant is not active any more.
 */
export async function configure<T>(
  scope: Scope,
  decide: (config: Configuration) => Decision<T> | Promise<Decision<T>>,
): Promise<T> {
  const db = scope.databases.home(scope.tenant.id)
  let config = await configurationOf(scope)
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { statements, beside = [], audit, users = [], guards = [], result } = await decide(config)
    if (statements.length + beside.length === 0) return result
    const change = crypto.randomUUID()
    // Users' own boosts leave the version as it is, unless users may be in other databases.
    const isOfAll = statements.length > 0 || scope.databases.mustTell(beside)
    const prepared = isOfAll
      ? await prepareCopies(scope.databases, db.tenantId, {
          change,
          version: config.version,
          statements: [...guards, ...statements],
        })
      : NOTHING_TO_PREPARE
    if (prepared === null) {
      await wait(PAUSE * (1 + Math.random()))
      config = await stillActive({ ...scope, db })
      continue
    }
    try {
      const unchanged = await usersGuards(scope, users)
      await db.batch([
        configurationUnchanged(db, config.version),
        ...prepared.guards,
        ...unchanged,
        ...guards,
        ...[...statements, ...beside].filter(({ isForCopies }) => isForCopies !== true),
        ...auditEntries(scope, audit),
        ...prepared.noting([...statements, ...beside]),
        ...(isOfAll ? [raiseVersion(db, change)] : []),
      ])
      await prepared.finish()
      // These statements may have made work due at once, or added messages to the outbox.
      if (beside.length > 0) scope.waitUntil(ensureAlarm(scope, db.tenantId))
      return result
    } catch (error) {
      if (!isConflict(error)) {
        const rows = await db.rows(db.statement(LAST_CHANGE, db.tenantId, change))
        if (rows.length > 0) await prepared.finish()
        // The batch may still be stored later. The copies expect it until it can't be any more.
        else if (!mayBeStored(error)) await prepared.withdraw()
        if (rows.length > 0) return result
        throw error
      }
      await prepared.withdraw()
      config = await stillActive({ ...scope, db })
    }
  }
  throw errors.unprocessable('The configuration kept changing while this change was made. Send it again.')
}

async function stillActive(context: TenantContext): Promise<Configuration> {
  const { config } = await presentState(context)
  if (config === null) throw errors.tenantUnknown()
  return config
}

/**
 * Guards for users in the first database. Those in others are read now: each of these databases expects the
 * change already, so nothing of its users can change before the end (B4).
 */
async function usersGuards({ databases, tenant }: Scope, users: readonly ReadUser[]): Promise<Statement[]> {
  const groups = await databases.usersOf(tenant.id).groups(users, ({ id }) => id)
  const guards = groups.map(async ({ name, items }) => {
    const db = databases.named(name).of(tenant.id)
    const guard = usersUnchanged(
      db,
      items.map((user) => ({ id: user.id, was: user })),
    )
    if (name === FIRST) return [guard]
    await db.run(guard)
    return []
  })
  return (await Promise.all(guards)).flat()
}
