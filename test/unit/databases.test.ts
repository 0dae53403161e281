import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { describe, expect, test } from 'vitest'
import { TABLES } from '../../src/configuration/copies'
import { BUCKETS, bucketOf } from '../../src/lib/ids'
import { FIRST, holderOf, holdersOf } from '../../src/platform/databases/directory'
import * as schema from '../../src/worker/schema'

const TENANT = '00000000-0000-7000-8000-000000000000'

/** The columns of each table by its name. */
const COLUMNS: ReadonlyMap<string, string[]> = new Map(
  Object.values(schema)
    .filter((table) => is(table, SQLiteTable))
    .map((table) => [getTableName(table), Object.values(getTableColumns(table)).map(({ name }) => name)]),
)

describe('[B2] buckets', () => {
  test('are those of a second implementation, and never change', () => {
    // Computed with another program in another language.
    const wanted: [string, number][] = [
      ['ada', 2161],
      ['bob', 3434],
      ['ünïcode-ключ', 2881],
      ['', 958],
    ]
    expect(wanted.map(([user]) => [user, bucketOf(TENANT, user)])).toEqual(wanted)
  })

  test('differ by the tenant, too', () => {
    const other = TENANT.replace('7', '8')
    const users = Array.from({ length: 100 }, (_, n) => `user-${n}`)
    expect(users.filter((user) => bucketOf(TENANT, user) === bucketOf(other, user)).length).toBeLessThan(5)
  })

  test('get about the same number of users, also for ids that only count up', () => {
    const counts = new Array<number>(16).fill(0)
    for (let n = 0; n < 16_000; n += 1) {
      const part = Math.floor((bucketOf(TENANT, String(n)) * 16) / BUCKETS)
      counts[part] = (counts[part] ?? 0) + 1
    }
    // A fair spread has a standard deviation of 31, so 150 is almost five of them.
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150)
  })

  test('are in the database of their run', () => {
    const directory = {
      version: 1,
      places: [
        [0, 'DB_2'],
        [10, FIRST],
        [4_000, 'DB_2'],
      ] as const,
      placements: {},
    }
    expect([0, 9, 10, 3_999, 4_000, 4_095].map((bucket) => holderOf(directory, bucket))).toEqual([
      'DB_2',
      'DB_2',
      FIRST,
      FIRST,
      'DB_2',
      'DB_2',
    ])
    expect(holdersOf(directory)).toEqual(['DB_2', FIRST])
  })
})

describe('[B4] copies of the configuration', () => {
  test('have each table of the configuration', () => {
    // Every table with the columns of a resource (src/platform/columns.ts).
    const resources = [...COLUMNS].filter(
      ([, columns]) => columns.includes('no') && columns.includes('deleted'),
    )
    expect(TABLES.map(({ table }) => table).sort()).toEqual(resources.map(([name]) => name).sort())
  })
})
