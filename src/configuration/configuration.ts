import { parseRequestSnapshot, requestSnapshotStatement } from '../access/tenants.sql.ts'
import type { Instant } from '../lib/clock'
import { errors } from '../lib/errors'
import { Instance, type Scope, type TenantContext } from '../platform/context'
import type { Statement, TenantDatabase } from '../platform/database'
import { FIRST } from '../platform/databases/directory'
import { changeEverywhere } from '../platform/databases/everywhere'
import { configurationUnchanged, isConflict, usersUnchanged } from '../platform/guard'
import type { Work } from '../time/due-work.sql.ts'
import { ensureAlarm } from '../time/timekeeper'
import type { AuditEntry } from './audit.rules'
import { auditEntries } from './audit.sql.ts'
import { configurationAt, loadConfiguration, recentConfiguration } from './configuration.sql.ts'
import { NOTHING_TO_PREPARE, prepareCopies, settleCopy, wasChangedBy } from './copies'
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

/** The same with the time of the test clock, if set. Null if the tenant is not active (T3, C1). */
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

/** Raises the version in the batch that changes a configuration. Without a request, a change has no name. */
export function raiseVersion(db: TenantDatabase, change: string | null = null): Statement {
  return db.statement(RAISE_VERSION, db.tenantId, change)
}

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
  const { databases } = scope
  const db = databases.home(scope.tenant.id)
  const begin = async (isAgain: boolean) => {
    const config = await (isAgain ? stillActive({ ...scope, db }) : configurationOf(scope))
    const { statements, beside = [], audit, users = [], guards = [], result } = await decide(config)
    if (statements.length + beside.length === 0) return { ...NOTHING_TO_PREPARE, store: async () => result }
    const change = crypto.randomUUID()
    // Users' own boosts leave the version as it is, unless users may be in other databases.
    const isOfAll = statements.length > 0 || databases.mustTell(beside)
    const told = { change, version: config.version, statements: [...guards, ...statements] }
    const prepared = isOfAll ? await prepareCopies(databases, db.tenantId, told) : NOTHING_TO_PREPARE
    if (prepared === null) return null
    const store = async () => {
      await db.batch([
        configurationUnchanged(db, config.version),
        ...prepared.guards,
        ...(await usersGuards(scope, users)),
        ...guards,
        ...[...statements, ...beside].filter(({ isForCopies }) => isForCopies !== true),
        ...auditEntries(scope, audit),
        ...prepared.noting([...statements, ...beside]),
        ...(isOfAll ? [raiseVersion(db, change)] : []),
      ])
      return result
    }
    const finish = async () => {
      await prepared.finish()
      // These statements may have made work due at once, or added messages to the outbox.
      if (beside.length > 0) scope.waitUntil(ensureAlarm(scope, db.tenantId))
    }
    const isStored = () => wasChangedBy(databases, db.tenantId, change)
    return { store, finish, withdraw: prepared.withdraw, isStored, known: { result } }
  }
  const kept = 'The configuration kept changing while this change was made. Send it again.'
  return changeEverywhere(begin, () => errors.unprocessable(kept))
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
