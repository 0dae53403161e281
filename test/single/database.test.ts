import { expect, test } from 'vitest'
import { tenants } from '../../src/access/tenants.sql'
import { contextOf } from '../helpers/worker/contexts'
import { newTenant } from '../helpers/worker/harness'

test('inserts bind at most 100 parameters each, also with the defaults of columns that are left out', async () => {
  const { db } = contextOf((await newTenant()).id)
  const row = () => ({ id: crypto.randomUUID(), created: 0, updated: 0 })
  const tenant = () => ({ ...row(), customerId: crypto.randomUUID(), name: 'Many' })
  // 5 columns are given and 4 have a default, so 11 rows take 99 parameters.
  const inserts = (count: number) => db.inserts(tenants, Array.from({ length: count }, tenant))
  expect([inserts(11), inserts(12)].map(({ length }) => length)).toEqual([1, 2])
  await db.batch(inserts(12))
})
