import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NEEDED_MIGRATION } from '../../src/db/schema-version'

const folder = join(import.meta.dirname, '..', '..', 'migrations')
const migrations = globSync('*.sql', { cwd: folder })
  .toSorted()
  .map((file) => ({ name: basename(file, '.sql'), number: Number(file.slice(0, 4)), file }))

/** The first migration that notes the version of the tables. */
const FIRST = 12

describe('migrations', () => {
  it('are numbered without gaps', () => {
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index))
  })

  it('the code needs one of them, by its name', () => {
    expect(migrations.find(({ number }) => number === NEEDED_MIGRATION.number)?.name).toBe(
      NEEDED_MIGRATION.name,
    )
  })

  it.each(migrations.filter(({ number }) => number >= FIRST))(
    '$name notes itself, and the oldest version of the code that can serve with it',
    ({ file, name, number }) => {
      const sql = readFileSync(join(folder, file), 'utf8')
      const [last = ''] = sql.split('--> statement-breakpoint').slice(-1)
      expect(last).toContain('`schema_version`')
      const [, noted, named, oldest] =
        /(?:VALUES \(1, |`migration` = )(\d+), (?:`name` = )?'(\w+)', (?:`oldest` = )?(\d+)/.exec(last) ?? []
      expect([Number(noted), named]).toEqual([number, name])
      expect(Number(oldest)).toBeLessThanOrEqual(number)
    },
  )
})
