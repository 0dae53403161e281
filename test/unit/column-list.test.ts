import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { describe, expect, it } from 'vitest'
import { type ColumnValues, columnList } from '../../src/platform/columns'

const pets = sqliteTable('pets', {
  tenantId: text('tenant_id').notNull(),
  id: text('id').notNull(),
  bornIn: integer('born_in'),
})

type Pet = { id: string; year: number | null }

const VALUES: ColumnValues<typeof pets, Pet, 'tenantId'> = {
  id: { of: ({ id }) => id, as: (value) => `upper(${value})` },
  bornIn: ({ year }) => year,
}

describe('a list of columns', () => {
  const list = columnList(pets, VALUES)

  it('has the columns, their values and their SQL in one order', () => {
    expect(list.columns).toBe('"id", "born_in"')
    expect(list.values({ id: 'rex', year: 2020 })).toEqual(['rex', 2020])
    expect(list.sql()).toBe('upper(value ->> 0), value ->> 1')
    expect(list.sql((nth) => `?${nth + 1}`)).toBe('upper(?1), ?2')
    expect(list.value('bornIn')).toBe('value ->> 1')
    expect(list.update(['id'])).toBe('"born_in" = excluded."born_in"')
  })

  it('counts from the position of its first value', () => {
    const later = columnList(pets, VALUES, 2)
    expect(later.sql()).toBe('upper(value ->> 2), value ->> 3')
    expect(later.value('bornIn')).toBe('value ->> 3')
  })

  it('does not compile if a column is missing or unknown', () => {
    // @ts-expect-error: bornIn is missing, although it may be null.
    const missing: ColumnValues<typeof pets, Pet, 'tenantId'> = { id: ({ id }) => id }
    // @ts-expect-error: there is no column `name`.
    const more: ColumnValues<typeof pets, Pet, 'tenantId'> = { ...VALUES, name: ({ id }: Pet) => id }
    expect(missing).not.toHaveProperty('bornIn')
    expect(() => columnList(pets, more)).toThrow('the table has no column name')
  })
})
