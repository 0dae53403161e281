import { beforeEach, expect, expectTypeOf, test } from 'vitest'
import { tenants } from '../../src/access/tenants.sql'
import { metrics } from '../../src/configuration/tables.sql.ts'
import { contextOf } from '../helpers/worker/contexts'
import { newTenant } from '../helpers/worker/harness'

let context: ReturnType<typeof contextOf>
beforeEach(async () => {
  context = contextOf((await newTenant()).id)
})

const value = (n: number) => context.db.statement('SELECT ?1 AS n', n)
const several = (...numbers: number[]) => numbers.map(value)
const numbers = (results: readonly D1Result[]) => results.flatMap((result) => result.results)

test('a batch by names returns each result by its name and the results of a list in its order, in one round trip', async () => {
  const { db, cost } = context
  const before = cost.roundTrips
  const found = await db.batchOf({ first: value(1), none: [], some: several(2, 3), last: value(4) })
  expect(cost.roundTrips - before).toBe(1)
  expect(Object.keys(found)).toEqual(['first', 'none', 'some', 'last'])
  expect(found.first.results).toEqual([{ n: 1 }])
  expect(found.none).toEqual([])
  expect(numbers(found.some)).toEqual([{ n: 2 }, { n: 3 }])
  expect(found.last.results).toEqual([{ n: 4 }])
  expectTypeOf(found.first).toEqualTypeOf<D1Result>()
  expectTypeOf(found.some).toEqualTypeOf<D1Result[]>()
})

test('a batch by names runs in the order of the names, and an error undoes all of it', async () => {
  const { db } = context
  const name = `batch-${db.tenantId}`
  const put = db.statement(
    'INSERT INTO tenant_counters (tenant_id, name, count) VALUES (?1, ?2, 1)',
    db.tenantId,
    name,
  )
  const read = db.statement(
    'SELECT count FROM tenant_counters WHERE tenant_id = ?1 AND name = ?2',
    db.tenantId,
    name,
  )
  const fail = db.statement("SELECT json('conflict')")
  await expect(db.batchOf({ put, fail })).rejects.toThrow()
  expect(await db.rows(read)).toEqual([])
  const { before, after } = await db.batchOf({ before: read, put, after: read })
  expect([before.results, after.results]).toEqual([[], [{ count: 1 }]])
})

test('inserts bind at most 100 parameters each, and only the given columns of the table', async () => {
  const { db } = context
  const row = () => ({ tenantId: db.tenantId, id: crypto.randomUUID(), created: 0, updated: 0 })
  const metric = () => {
    const key = crypto.randomUUID()
    return { ...row(), key, name: key, unitType: 'number' as const, units: '' }
  }
  const inserts = (count: number) => db.inserts(metrics, Array.from({ length: count }, metric))
  // Each row has 8 columns, so 12 rows take 96 parameters.
  expect([inserts(0), inserts(1), inserts(12), inserts(13)].map(({ length }) => length)).toEqual([0, 1, 1, 2])
  await db.batch(inserts(25))
  const stored = db.statement('SELECT count(*) AS n FROM metrics WHERE tenant_id = ?1', db.tenantId)
  expect(await db.rows(stored)).toEqual([{ n: 25 }])
})

test('inserts also count the defaults of columns that are left out', async () => {
  const { db } = context
  const row = () => ({ id: crypto.randomUUID(), created: 0, updated: 0 })
  const tenant = () => ({ ...row(), customerId: crypto.randomUUID(), name: 'Many' })
  // 5 columns are given and 4 have a default, so 11 rows take 99 parameters.
  const inserts = (count: number) => db.inserts(tenants, Array.from({ length: count }, tenant))
  expect([inserts(11), inserts(12)].map(({ length }) => length)).toEqual([1, 2])
  await db.batch(inserts(12))
})
