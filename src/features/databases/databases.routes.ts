import * as z from 'zod'
import { IMPLICIT_TENANT_ID } from '../../access/tenants.sql.ts'
import { accepted, type Endpoint, endpointsOf, ok } from '../../api/endpoint'
import { optional, withIssues } from '../../api/fields'
import { fieldChanges } from '../../configuration/audit.rules'
import { auditEntries } from '../../configuration/audit.sql.ts'
import { throwIfInvalid } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import type { AccountScope, Context } from '../../platform/context'
import { FIRST, readWeights } from '../../platform/databases/directory'
import { isDatabaseAway } from '../../platform/guard'
import { logProblem } from '../../platform/log'
import type { Jobs, Moves } from '../../time/job'
import { wakeAll } from '../../time/timekeeper'
import { forgetWeights, holders, noteDatabases, readSizes, spreads, storeWeights } from './databases.sql.ts'
import { finishMove, isAlone, stepMoves, wantedOf } from './moves'
import { type ByName, heldBy } from './plan'

const Count = z.int().min(0)

const DatabasesResponse = z
  .array(
    z
      .object({
        name: z.string(),
        buckets: Count,
        users: Count.nullable(),
        events: Count.nullable(),
        bytes: Count.nullable(),
        state: z.enum(['active', 'filling', 'draining']),
      })
      .meta({ id: 'Database' }),
  )
  .meta({ id: 'DatabasesResponse' })

const RebalanceResponse = withIssues('RebalanceResponse', z.object({ databases: DatabasesResponse }))

const RebalanceRequest = z
  .object({ weights: optional(z.record(z.string(), z.number().min(0))) })
  .meta({ id: 'RebalanceRequest' })

type Databases = z.infer<typeof DatabasesResponse>

const allSpreads = (context: Context) =>
  spreads(context.databases.first, isAlone(context, IMPLICIT_TENANT_ID))

async function tenantsToMove(context: Context): Promise<string[]> {
  const { databases } = context
  if (databases.others.length === 0) return []
  const weights = await readWeights(databases.first)
  const found: string[] = []
  for await (const page of allSpreads(context)) {
    for (const spread of page) {
      const wanted = wantedOf(context, spread, weights)
      if (wanted !== null && isMoving(wanted, heldBy(spread))) found.push(spread.tenantId)
    }
  }
  return found
}

const isMoving = (wanted: ByName, held: ByName): boolean =>
  Object.entries(wanted).some(([name, count]) => count !== (held[name] ?? 0))

/**
 * Notes which databases are bound. Users move to a database only half a minute after it was seen first,
 * because an isolate of the version before may not know it (B3). Part of the cron trigger.
 */
export async function noteBound({ databases }: Context): Promise<void> {
  const { first, names } = databases
  await first.batch([...noteDatabases(names, systemNow()), forgetWeights(names)])
}

/** A database that holds users, but is not bound; null if there is none. */
export async function unboundDatabase({ databases }: Context): Promise<string | null> {
  const names = await holders(databases.first)
  return names.find((name) => !databases.names.includes(name)) ?? null
}

/**
 * The databases of the account, the first one first (B3). The sizes of another one that can't be reached are
 * null: an operator needs the list most of all then.
 */
async function listDatabases(context: Context): Promise<Databases> {
  const { databases } = context
  const weights = await readWeights(databases.first)
  const [held, missing] = [new Map<string, number>(), new Set<string>()]
  for await (const page of allSpreads(context)) {
    for (const spread of page) {
      const own = heldBy(spread)
      for (const [name, count] of Object.entries(own)) held.set(name, (held.get(name) ?? 0) + count)
      const wanted = wantedOf(context, spread, weights) ?? {}
      for (const [name, count] of Object.entries(wanted)) if (count > (own[name] ?? 0)) missing.add(name)
    }
  }
  return Promise.all(
    databases.names.map(async (name) => ({
      name,
      buckets: held.get(name) ?? 0,
      ...(await sizesOf(databases, name)),
      state: weights[name] === 0 ? 'draining' : missing.has(name) ? 'filling' : 'active',
    })),
  )
}

type Sizes = Pick<Databases[number], 'users' | 'events' | 'bytes'>

async function sizesOf(databases: Context['databases'], name: string): Promise<Sizes> {
  try {
    return await readSizes(databases.named(name))
  } catch (error) {
    if (name === FIRST || !isDatabaseAway(error)) throw error
    logProblem('warn', { error: `the database ${name} was not reached: ${String(error)}` })
    return { users: null, events: null, bytes: null }
  }
}

/**
 * Stores the weights of databases, and lets users move until they are spread by them. Databases that are not
 * named count 1. Throws 422 for unknown names, or if no weight is above 0.
 */
async function rebalance(
  scope: AccountScope,
  jobs: Jobs,
  weights: Readonly<Record<string, number>>,
): Promise<Databases> {
  const { databases } = scope
  const message = `is no database. The databases are: ${databases.names.join(', ')}`
  const unknown = Object.keys(weights).filter((name) => !databases.names.includes(name))
  const problems = unknown.map((name) => ({ path: `weights.${name}`, message }))
  if (databases.names.every((name) => weights[name] === 0))
    problems.push({ path: 'weights', message: 'must not be 0 for all databases' })
  throwIfInvalid(problems)
  const before = await readWeights(databases.first)
  const all = (some: ByName) => Object.fromEntries(databases.names.map((name) => [name, some[name] ?? 1]))
  const fields = fieldChanges({ weights: all(before) }, { weights: all(weights) })
  const audit = auditEntries(scope, [
    { action: 'update', kind: 'databases', resourceId: null, key: null, user: null, fields },
  ])
  const isSpread = databases.others.length > 0
  await storeWeights(databases.first, weights, { isSpread, audit })
  if (isSpread)
    scope.waitUntil(
      wakeAll(scope, jobs).catch((error: unknown) =>
        logProblem('warn', { work: 'moves', error: `the Timekeepers were not woken: ${String(error)}` }),
      ),
    )
  return listDatabases(scope)
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    moves: true
  }
}

/** Moves users between databases (B3). */
export const moves: Moves = {
  work: { kind: 'moves', while: ['active', 'archived', 'purging'], keepsItsTime: true },
  finish: finishMove,
  step: stepMoves,
  tenants: tenantsToMove,
}

const endpoint = endpointsOf('admin')

/** The endpoints of the databases of the account (B3). `jobs` has the work that moves users. */
export const databaseEndpoints = (jobs: Jobs): Endpoint[] => [
  endpoint(
    'GET /databases',
    {
      id: 'admin_databases',
      account: true,
      summary: 'List the databases, with the number of their users and events',
      responses: { 200: { description: 'The databases, the first one first.', body: DatabasesResponse } },
    },
    async (scope) => ok(await listDatabases(scope)),
  ),
  endpoint(
    'POST /databases/rebalance',
    {
      id: 'admin_databases_rebalance',
      account: true,
      summary: 'Spread the users over the databases by weight',
      body: RebalanceRequest,
      responses: {
        202: {
          description: 'The weights are stored. Users move in the background.',
          body: RebalanceResponse,
        },
      },
    },
    async (scope, { body }) => accepted({ databases: await rebalance(scope, jobs, body.weights ?? {}) }, {}),
  ),
]
