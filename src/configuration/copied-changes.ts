import * as z from 'zod'
import { errors } from '../lib/errors'
import { systemNow, wait } from '../lib/system-clock'
import { DATABASE_NOW, type Statement } from '../platform/database'
import type { Databases } from '../platform/databases/databases'
import { FIRST, toldOfChanges } from '../platform/databases/directory'
import { prepareEach } from '../platform/databases/everywhere'
import { guardSql, isConflict, mayBeStored } from '../platform/guard'
import { settleCopy, WITHDRAW } from './copies'

/** How long a change may take from its preparation to its commit, in ms. After that it can't commit. */
const LIFETIME = 5_000

const PREPARE = `
  UPDATE tenants SET changing = json_object('change', ?2, 'until', ?3)
  WHERE id = ?1 AND changing IS NULL AND config_version = ?4`
const STILL_PREPARED = guardSql(`
  ${DATABASE_NOW} < ?2 AND coalesce((SELECT version FROM directory WHERE tenant_id = ?1), 0) = ?3
    AND (SELECT moving FROM directory WHERE tenant_id = ?1) IS ?4`)
const NOTE_WORK = 'UPDATE tenants SET config_work = ?2 WHERE id = ?1'
const FORGET_WORK = 'UPDATE tenants SET config_work = NULL WHERE id = ?1 AND config_change = ?2'

// The index `tenants_with_work` has only these tenants. In random order, so that one that waits for a
// database keeps none from its turn.
const UNFINISHED = `
  SELECT id, config_change AS change FROM tenants WHERE config_work IS NOT NULL ORDER BY random() LIMIT 20`
const Unfinished = z.array(z.object({ id: z.string(), change: z.string() }))

/** A change of the configuration that every copy expects. */
type Prepared = {
  /**
   * Guards of the batch that stores the change: its time is not over, and the directory is the one by which
   * it was prepared. Until then, no copy stops expecting it.
   */
  guards: Statement[]
  /** Notes the work on users that the change begins, for the copies. Part of the same batch. */
  noting(statements: readonly Statement[]): Statement[]
  /** After the change was stored: brings the copies up to date. A copy that can't be reached waits. */
  finish(): Promise<void>
  /** After the change was not stored: the copies expect it no more. */
  withdraw(): Promise<void>
}

/** A change that no copy has to expect. */
export const NOTHING_TO_PREPARE: Prepared = {
  guards: [],
  noting: () => [],
  finish: async () => undefined,
  withdraw: async () => undefined,
}

/** A change to prepare: its random name, the version that it replaces, and its statements. */
type Change = { change: string; version: number; statements?: readonly Statement[] }

/**
 * Prepares a change of a tenant's configuration in every database that holds users, and in the one to which
 * users are moving, so that no event counts there until the change is stored or withdrawn (B4). If some of
 * its statements are guards of work on users, they must hold in each copy. They are checked in the batch that
 * prepares it, so no such work goes on after that. Null if a guard does not hold, or if another change is
 * under way. Throws 503 if a database can't be reached: then the change takes effect nowhere. With one
 * database it does nothing.
 */
export async function prepareCopies(
  databases: Databases,
  tenantId: string,
  { change, version, statements = [] }: Change,
): Promise<Prepared | null> {
  if (databases.others.length === 0) return NOTHING_TO_PREPARE
  const told = await toldOfChanges(databases.first, tenantId)
  const names = told.names.filter((name) => name !== FIRST)
  const until = systemNow() + LIFETIME
  const each = async (work: (name: string) => Promise<unknown>) => {
    const results = await Promise.allSettled(names.map(work))
    return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  }
  const withdraw = async () => {
    await each((name) => databases.named(name).run({ sql: WITHDRAW, params: [tenantId, change] }))
    // If the directory has changed, the next attempt needs the new one.
    databases.forget(tenantId)
  }
  const guards = statements.filter(({ isForUsers }) => isForUsers)
  const preparing = (name: string) => prepare(databases, tenantId, name, { change, version, until, guards })
  const { isAll, error } = await prepareEach(names, preparing)
  if (!isAll) {
    await withdraw()
    if (error === undefined) return null
    throw error
  }
  let hasWork = false
  return {
    guards: [{ sql: STILL_PREPARED, params: [tenantId, until, told.version, told.moving] }],
    noting: (all) => {
      const work = all.flatMap(({ everywhere: name, params }) =>
        name === undefined ? [] : [{ name, params }],
      )
      hasWork = work.length > 0
      return [{ sql: NOTE_WORK, params: [tenantId, hasWork ? JSON.stringify(work) : null] }]
    },
    finish: async () => {
      const isFinished = await settleCopies(databases, tenantId, names)
      // If this fails, the cron trigger repeats it.
      if (hasWork && isFinished) await forgetWork(databases, tenantId, change).catch(() => undefined)
    },
    withdraw,
  }
}

/** Brings copies up to date. Returns whether all of them are. */
async function settleCopies(databases: Databases, tenantId: string, names: readonly string[]) {
  const states = await Promise.allSettled(names.map((name) => settleCopy(databases, tenantId, name)))
  return states.every((state) => state.status === 'fulfilled' && state.value === 'settled')
}

/** Forgets the work that a change begins. It may name users, so it is kept only while needed (U8). */
const forgetWork = (databases: Databases, tenantId: string, change: string) =>
  databases.first.run({ sql: FORGET_WORK, params: [tenantId, change] })

/**
 * Finishes changes of configurations whose Worker has ended after they were stored: each copy begins the work
 * on users, even if no request needs the copy. The cron trigger calls it. A change that needs a database that
 * can't be reached waits.
 */
export async function finishChanges(databases: Databases): Promise<void> {
  const { first } = databases
  for (const { id, change } of Unfinished.parse(await first.rows(first.statement(UNFINISHED)))) {
    if (!databases.hasRoom()) return
    const { names } = await toldOfChanges(first, id)
    const copies = names.filter((name) => name !== FIRST)
    if (await settleCopies(databases, id, copies)) await forgetWork(databases, id, change)
  }
}

/** Makes a copy expect the change. Null if another one is under way, or if a guard fails. */
async function prepare(
  databases: Databases,
  tenantId: string,
  name: string,
  { change, version, until, guards }: Change & { until: number; guards: readonly Statement[] },
): Promise<true | null> {
  const db = databases.named(name)
  const attempt = async () => {
    const prepared = db.statement(PREPARE, tenantId, change, until, version)
    return (await db.batchOf({ guards, prepared })).prepared.meta.changes > 0
  }
  try {
    if (await attempt()) return true
    // The copy may be behind, or not exist yet.
    const isSettled = (await settleCopy(databases, tenantId, name)) === 'settled'
    return isSettled && (await attempt()) ? true : null
  } catch (error) {
    if (isConflict(error)) return null
    throw error
  }
}

const VERSIONS = `
  SELECT t.id, t.config_version AS version
  FROM json_each(?1) asked CROSS JOIN tenants t ON t.id = asked.value`
const Versions = z.array(z.object({ id: z.string(), version: z.number() }))
const VERSIONS_UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?1) asked WHERE NOT EXISTS (
    SELECT 1 FROM tenants WHERE id = asked.value ->> 'id' AND config_version = asked.value ->> 'version'))`)
const RAISE = `
  UPDATE tenants SET config_version = config_version + 1, config_change = ?2
  WHERE id IN (SELECT value ->> 'id' FROM json_each(?1))`
const LAST_CHANGE = 'SELECT 1 FROM tenants WHERE id = ?1 AND config_change = ?2'

/** How often a change of tenants begins again because a configuration was changed meanwhile. */
const TENANT_TRIES = 250
/** The shortest pause while another change is under way, in ms, and how many of them a pause adds at most. */
const PAUSE = 40
const MOST_PAUSES = 20

/** Statements around a change of tenants' own rows: `before` are guards, and `after` raises the versions. */
export type AroundChange = { before: readonly Statement[]; after: readonly Statement[] }

/**
 * Changes tenants' own rows, such as their status, in the first database, and then in each copy, by the same
 * rule as the configuration (B4). `change` sends one batch for all of them, with these statements around it.
 * Throws 503 if a database of one of them can't be reached: then nothing is changed. With one database it
 * only calls `change`.
 */
export async function changeTenants<T>(
  databases: Databases,
  tenantIds: readonly string[],
  change: (around: AroundChange) => Promise<T>,
): Promise<T> {
  if (databases.others.length === 0) return change({ before: [], after: [] })
  const { first } = databases
  for (let tries = 0; tries < TENANT_TRIES; tries += 1) {
    const asked = first.statement(VERSIONS, JSON.stringify([...new Set(tenantIds)]))
    const tenants = Versions.parse(await first.rows(asked))
    const [one] = tenants
    if (one === undefined) return change({ before: [], after: [] })
    const name = crypto.randomUUID()
    const prepared = await prepareTenants(databases, tenants, name)
    if (prepared === null) {
      // Two changes of many tenants may get in each other's way more than once.
      await wait(PAUSE * (1 + Math.random() * Math.min(tries + 1, MOST_PAUSES)))
      continue
    }
    const finish = () => Promise.all(prepared.map((each) => each.finish()))
    const withdraw = () => Promise.all(prepared.map((each) => each.withdraw()))
    const list = JSON.stringify(tenants)
    try {
      const result = await change({
        before: [first.statement(VERSIONS_UNCHANGED, list), ...prepared.flatMap(({ guards }) => guards)],
        after: [...prepared.flatMap(({ noting }) => noting([])), first.statement(RAISE, list, name)],
      })
      await finish()
      return result
    } catch (error) {
      if (!isConflict(error)) {
        const rows = await first.rows(first.statement(LAST_CHANGE, one.id, name))
        if (rows.length > 0) await finish()
        // The batch may still be stored later. The copies expect it until it can't be any more.
        else if (!mayBeStored(error)) await withdraw()
        throw error
      }
      await withdraw()
    }
  }
  throw errors.unprocessable('The tenants kept changing while this change was made. Send it again.')
}

/**
 * Prepares one change of several tenants. Null if another change of one of them is under way. Throws 503 if a
 * database can't be reached. In both cases no copy expects the change.
 */
async function prepareTenants(
  databases: Databases,
  tenants: z.infer<typeof Versions>,
  change: string,
): Promise<Prepared[] | null> {
  const sorted = tenants.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const preparing = ({ id, version }: (typeof tenants)[number]) =>
    prepareCopies(databases, id, { change, version })
  const { prepared, isAll, error } = await prepareEach(sorted, preparing)
  if (isAll) return prepared
  await Promise.all(prepared.map(({ withdraw }) => withdraw()))
  if (error !== undefined) throw error
  return null
}
