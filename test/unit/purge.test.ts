import { getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { expect, test } from 'vitest'
import { PURGED_TABLES } from '../../src/features/tenants/purge.repository'
import * as schema from '../../src/worker/schema'

/** Tables without anything of a tenant. */
const OF_THE_ACCOUNT = ['test_clock']

test('[U8, T3] the erasure of a tenant takes rows out of every table that has some', () => {
  const tables = Object.values(schema).flatMap((one) => (is(one, SQLiteTable) ? [getTableName(one)] : []))
  expect(tables.length).toBeGreaterThan(25)
  expect([...new Set([...PURGED_TABLES, ...OF_THE_ACCOUNT])].toSorted()).toEqual(tables.toSorted())
})
