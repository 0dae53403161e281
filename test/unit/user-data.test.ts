import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { describe, expect, test } from 'vitest'
import { UserExport } from '../../src/features/users/export/shape'
import { NAMESPACES, OBJECTS, QUEUES, TABLES } from '../../src/store/user-data/register'
import * as schema from '../../src/worker/schema'

/** The tables of the schema. The primary key `no` counts up. */
const tables = Object.values(schema).flatMap((one) => (is(one, SQLiteTable) ? [getTableConfig(one)] : []))
const wrangler = readFileSync(join(import.meta.dirname, '..', '..', 'wrangler.toml'), 'utf8')

/** The distinct values of a field in wrangler.toml. */
const named = (field: string): string[] =>
  [
    ...new Set(
      [...wrangler.matchAll(new RegExp(`^${field} = "([^"]+)"`, 'gm'))].map(([, name = '']) => name),
    ),
  ].sort()

/** The entry of a table, in a simple form. */
const entryOf = (name: string) => {
  const [, entry] = Object.entries(TABLES).find(([table]) => table === name) ?? []
  if (entry === undefined) throw new Error(`the table ${name} is not in the register`)
  const purged: readonly string[] = entry.purged
  const { users } = entry
  const erased: readonly string[] = 'erased' in users ? users.erased : []
  return { by: 'by' in users ? users.by : undefined, erased, purged, isApart: 'apart' in entry }
}

describe('[U8, T3] the register of stored data has', () => {
  test('every table of the schema, and no other, by its primary key', () => {
    expect(tables.length).toBeGreaterThan(25)
    const keys = tables.map(({ name, columns, primaryKeys: [key] }) => {
      const parts = key?.columns ?? columns.filter(({ primary }) => primary)
      return [name, parts.map((column) => column.name)]
    })
    const registered = Object.entries(TABLES).map(([name, { key }]) => [name, key])
    expect(Object.fromEntries(registered)).toEqual(Object.fromEntries(keys))
  })

  test('every class of objects, and no other', () => {
    expect(Object.keys(OBJECTS).sort()).toEqual(named('class_name'))
  })

  test('every queue and every KV namespace, and no other', () => {
    expect(Object.keys(QUEUES).sort()).toEqual(named('queue'))
    const bindings = [...wrangler.matchAll(/^\[\[kv_namespaces\]\]\nbinding = "([^"]+)"/gm)]
    expect(Object.keys(NAMESPACES)).toEqual(bindings.map(([, name]) => name))
    expect(wrangler.match(/^\[\[kv_namespaces\]\]/gm)).toHaveLength(bindings.length)
  })

  test('every field of the export of a user, and no other', () => {
    const all = [TABLES, OBJECTS, NAMESPACES, QUEUES].flatMap((part) => Object.values(part))
    const fields = all.flatMap(({ users }): readonly string[] =>
      'exported' in users && !('not' in users.exported) ? users.exported : [],
    )
    const { exported: _, ...shape } = UserExport.shape
    expect([...new Set(fields)].sort()).toEqual(Object.keys(shape).sort())
  })
})

describe('[U8] a table of the schema', () => {
  test('that names users is erased with them, by its own user column', () => {
    for (const { name, columns } of tables) {
      const { by, erased } = entryOf(name)
      const iid = columns.find((column) => column.name === 'user_iid')
      const isOfUsers = iid !== undefined || columns.some((column) => column.name === 'user_id')
      if (!isOfUsers) continue
      expect([name, by]).toEqual([
        name,
        iid === undefined ? 'id' : iid.getSQLType() === 'blob' ? 'bytes' : 'iid',
      ])
      expect([name, erased.length]).not.toEqual([name, 0])
    }
  })

  test('with rows that outlive their user finds them by the internal id of the user', () => {
    for (const { name, columns } of tables.filter(({ name }) => entryOf(name).erased.includes('rows'))) {
      expect([name, columns.map((column) => column.name)]).toEqual([
        name,
        expect.arrayContaining(['user_iid']),
      ])
    }
  })
})

describe('[T3, U8] a table of the schema', () => {
  test('that is emptied for a tenant has the columns by which its stage finds rows', () => {
    for (const { name, columns } of tables) {
      const { purged, erased, isApart } = entryOf(name)
      const has = (column: string) => columns.some((one) => one.name === column)
      if (has('tenant_id')) expect([name, purged.length]).not.toEqual([name, 0])
      if (isApart) continue
      if (purged.includes('rows')) expect([name, has('tenant_id')]).toEqual([name, true])
      if (purged.includes('configuration'))
        expect([name, has('tenant_id'), has('no')]).toEqual([name, true, true])
      // `removeRows` empties these tables in both stages.
      const isOfUsers = erased.includes('rows')
      expect([name, purged.includes('users'), purged.includes('erasures')]).toEqual([
        name,
        isOfUsers,
        isOfUsers,
      ])
      const other = purged.filter((stage) => !['rows', 'configuration', 'users', 'erasures'].includes(stage))
      expect([name, other]).toEqual([name, []])
    }
  })
})
