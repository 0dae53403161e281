import * as z from 'zod'
import { IMPLICIT_TENANT_ID } from '../../access/tenants.sql.ts'
import { bytesOf, json } from '../../platform/columns'
import type { AccountDatabase, Statement } from '../../platform/database'
import { Places } from '../../platform/databases/directory'
import { hasWorkOf, scheduleForTenants } from '../../time/moved-work.sql.ts'
import { EVENTS_OF_FIGURES } from '../analytics/counting'

const FORGET = 'DELETE FROM database_weights'
const STORE = 'INSERT INTO database_weights (name, weight) SELECT key, value FROM json_each(?1)'

const FORGET_WEIGHTS_OF_OTHERS =
  'DELETE FROM database_weights WHERE name NOT IN (SELECT value FROM json_each(?1))'
/** Forgets the weights of databases that are not bound any more: another one may get the name later. */
export const forgetWeights = (names: readonly string[]): Statement => ({
  sql: FORGET_WEIGHTS_OF_OTHERS,
  params: [JSON.stringify(names)],
})

/** Stores weights, and with several databases lets all tenants be spread by them. */
export async function storeWeights(
  first: AccountDatabase,
  weights: Readonly<Record<string, number>>,
  { isSpread, audit }: { isSpread: boolean; audit: readonly Statement[] },
): Promise<void> {
  await first.batch([
    ...audit,
    first.statement(FORGET),
    first.statement(STORE, JSON.stringify(weights)),
    ...(isSpread ? [scheduleForTenants(first, 'moves')] : []),
  ])
}

const PAGE = 1_000
const DIRECTORIES = `
  SELECT d.tenant_id AS tenantId, d.version, d.places,
    ${hasWorkOf('d.tenant_id', "'moves'")} AS isAsked
  FROM directory d JOIN tenants t ON t.id = d.tenant_id AND t.status IN ('active', 'archived')
  WHERE d.tenant_id > ?1 ORDER BY d.tenant_id LIMIT ${PAGE}`
const DirectoryRow = z.object({
  tenantId: z.string(),
  version: z.number(),
  isAsked: z.number().transform((asked) => asked === 1),
  places: json(Places),
})

/** The directory of a tenant, and whether moves were asked for. */
export type Spread = z.infer<typeof DirectoryRow>

/** The directories of all tenants, page by page. */
export async function* directories(first: AccountDatabase): AsyncGenerator<Spread[]> {
  for (let after = ''; ; ) {
    const rows = z.array(DirectoryRow).parse(await first.rows(first.statement(DIRECTORIES, after)))
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last.tenantId
  }
}

const NEVER_SPREAD = `
  SELECT t.id, ${hasWorkOf('t.id', "'moves'")} AS isAsked
  FROM tenants t WHERE t.id > ?2 AND t.is_copy = 0 AND t.status IN ('active', 'archived')
    AND NOT EXISTS (SELECT 1 FROM directory WHERE tenant_id = t.id)
    AND (?1 OR t.id <> '${IMPLICIT_TENANT_ID}' OR t.config_version > 0
      OR EXISTS (SELECT 1 FROM users WHERE tenant_id = t.id))
  ORDER BY t.id LIMIT ${PAGE}`
const UnspreadRow = z.object({ id: z.string(), isAsked: z.number().transform((asked) => asked === 1) })

/** The tenants that were never spread, page by page. `isAlone`: there are no tenants but the implicit one. */
export async function* unspread(
  first: AccountDatabase,
  isAlone: boolean,
): AsyncGenerator<z.infer<typeof UnspreadRow>[]> {
  for (let after = ''; ; ) {
    const statement = first.statement(NEVER_SPREAD, isAlone ? 1 : 0, after)
    const rows = z.array(UnspreadRow).parse(await first.rows(statement))
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last.id
  }
}

const HOLDERS = 'SELECT name FROM held_databases WHERE tenants > 0'
/** The names of the databases that hold users of any tenant with a directory (B3). */
export async function holders(first: AccountDatabase): Promise<string[]> {
  const rows = await first.rows(first.statement(HOLDERS))
  return z
    .array(z.object({ name: z.string() }))
    .parse(rows)
    .map(({ name }) => name)
}

const USERS = `
  SELECT coalesce(sum(c.count), 0) AS n FROM tenants t
  CROSS JOIN tenant_counters c ON c.tenant_id = t.id AND c.name = ?1`

// Rows of users who have left, or have not arrived yet, do not count.
const EVENTS = `
  SELECT (SELECT count(*) FROM events)
    - (SELECT count(*) FROM users u CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
        WHERE u.tenant_id > 'moved:' AND u.tenant_id < 'moved;')
    - (SELECT count(*) FROM arriving_users a CROSS JOIN events e ON e.user_iid = ${bytesOf('a.user_iid')}) AS n`

/** Up to this size of a database, its events are counted one by one. */
const SMALL = 48_000_000

const Sum = z.object({ n: z.number() })
const sumOf = ({ results }: D1Result): number => Math.max(0, Sum.parse(results[0]).n)

/** The name of the counter of events that came with users who moved, or left with them. */
export const MOVED_EVENTS = 'moved events'

/**
 * How many users and events a database has, and its size. The events of a large database are those that the
 * analytics have counted, which is at most an hour ago.
 */
export async function readSizes(
  db: AccountDatabase,
): Promise<{ users: number; events: number; bytes: number }> {
  const users = await db.run(db.statement(USERS, 'users'))
  const bytes = users.meta.size_after
  if (bytes <= SMALL) {
    const events = await db.run(db.statement(EVENTS))
    return { users: sumOf(users), events: sumOf(events), bytes }
  }
  const { counted, moved } = await db.batchOf({
    counted: db.statement(EVENTS_OF_FIGURES),
    moved: db.statement(USERS, MOVED_EVENTS),
  })
  const events = Sum.parse(counted.results[0]).n + Sum.parse(moved.results[0]).n
  return { users: sumOf(users), events: Math.max(0, events), bytes }
}
