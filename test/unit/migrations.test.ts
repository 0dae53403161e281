import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NEEDED_MIGRATION } from '../../src/platform/schema-version.sql'

const folder = join(import.meta.dirname, '..', '..', 'migrations')
const migrations = globSync('*.sql', { cwd: folder })
  .toSorted()
  .map((file) => ({ name: basename(file, '.sql'), number: Number(file.slice(0, 4)), file }))

/** The first migration that notes the version of the tables. */
const FIRST = 12

const sqlOf = (file: string) => readFileSync(join(folder, file), 'utf8')

/** The version and the oldest version that a migration notes. */
function noted(file: string): { migration: number; name: string | undefined; oldest: number } {
  const [last = ''] = sqlOf(file).split('--> statement-breakpoint').slice(-1)
  expect(last).toContain('`schema_version`')
  const [, migration, name, oldest] =
    /(?:VALUES \(1, |`migration` = )(\d+), (?:`name` = )?'(\w+)', (?:`oldest` = )?(?:max\()?(\d+)/.exec(
      last,
    ) ?? []
  return { migration: Number(migration), name, oldest: Number(oldest) }
}

/**
 * The statements that take away something that the version before may use: a table, a column or a name, or
 * that forbid rows which it may write. Tables that the same migration creates do not count, nor does a unique
 * index of a column that the migration adds, and that a trigger fills for the version before.
 */
function contractions(sql: string): string[] {
  const bare = sql.replaceAll(/--.*$/gm, '')
  const created = new Set([...bare.matchAll(/CREATE TABLE [`"]?(\w+)/gi)].map(([, table]) => table))
  const filled = [...bare.matchAll(/ALTER TABLE [`"]?(\w+)[`"]? ADD [`"]?(\w+)/gi)].filter(
    ([, table, column]) =>
      new RegExp(`AFTER INSERT ON .?${table}\\b[^;]*\\bUPDATE .?${table}.? SET .?${column}\\b`).test(bare),
  )
  const isFilled = (statement: string, table: string | undefined) =>
    /^CREATE UNIQUE/i.test(statement) &&
    filled.some(([, of, column]) => of === table && statement.includes(`\`${column}\``))
  const found = bare.matchAll(
    /\b(?:DROP TABLE(?: IF EXISTS)?|ALTER TABLE(?=\s+\S+\s+(?:RENAME|DROP)\b)|CREATE UNIQUE INDEX\s+\S+\s+ON)\s+[`"]?(\w+)[^;]*/gi,
  )
  return [...found]
    .filter(([statement, table]) => !created.has(table) && !isFilled(statement, table))
    .map(([statement]) => statement.trim())
}

describe('migrations', () => {
  it('are numbered without gaps', () => {
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index))
  })

  it('the code needs one of them, by its name', () => {
    expect(migrations.find(({ number }) => number === NEEDED_MIGRATION.number)?.name).toBe(
      NEEDED_MIGRATION.name,
    )
  })

  it.each(migrations.filter(({ file }) => /CREATE (TEMP )?TRIGGER/i.test(sqlOf(file))))(
    '$name has each trigger in one line, without a comment, and with one END',
    ({ file }) => {
      // Cloudflare divides SQL into statements by itself. It has failed on triggers of any other form.
      for (const [line = ''] of sqlOf(file).matchAll(/^.*CREATE (?:TEMP )?TRIGGER.*$/gim)) {
        expect(line).toMatch(/^CREATE TRIGGER `\w+` [^\r]+ BEGIN [^\r]+; END;$/)
        expect(line).not.toMatch(/--|\/\*/)
        expect(line.match(/\b(?:CASE|END)\b/gi)).toEqual(['END'])
      }
    },
  )

  it.each(migrations.filter(({ number }) => number >= FIRST))(
    '$name notes itself, and the oldest version of the code that can serve with it',
    ({ file, name, number }) => {
      const { migration, name: itself, oldest } = noted(file)
      expect([migration, itself]).toEqual([number, name])
      expect(oldest).toBeLessThanOrEqual(number)
    },
  )

  it.each(migrations.filter(({ number }) => number > FIRST))(
    '$name raises the oldest version if it takes something away, and never lowers it',
    ({ file, number }) => {
      const before = noted(migrations[number - 1]?.file ?? '').oldest
      const { oldest } = noted(file)
      expect(oldest).toBeGreaterThanOrEqual(before)
      const taken = contractions(sqlOf(file))
      if (taken.length > 0) expect(oldest, taken.join('\n')).toBeGreaterThan(before)
    },
  )

  it.each(migrations.filter(({ number }) => number > 23))(
    '$name leaves what a database has raised by itself',
    ({ file }) => {
      expect(sqlOf(file)).toMatch(/`oldest` = max\(\d+, `oldest`\);\s*$/)
    },
  )

  it.each([['0015_corrections', 'makes room for entries of the ledger that versions before it cannot read']])(
    '%s raises the oldest version, because it %s',
    (name) => {
      const { migration, oldest } = noted(`${name}.sql`)
      expect(oldest).toBe(migration)
    },
  )

  it.each([
    ['0007_compact', ['DROP TABLE `events`', 'DROP TABLE `idempotency_keys`', 'DROP TABLE `awards`']],
    ['0010_zones', []],
    ['0012_schema_version', []],
    ['0014_keys', []],
  ])('of %s, these statements take something away: %j', (name, taken) => {
    expect(contractions(sqlOf(`${name}.sql`))).toEqual(taken)
  })

  it('of 0011_vocabulary, each new name takes an old one away', () => {
    const taken = contractions(sqlOf('0011_vocabulary.sql'))
    expect(taken).toHaveLength(7)
    expect(taken).toEqual(taken.filter((statement) => statement.includes('RENAME')))
  })

  it.each([
    ['ALTER TABLE `users` DROP COLUMN `name`', 1],
    ['ALTER TABLE users RENAME COLUMN a TO b', 1],
    ['DROP TABLE IF EXISTS users', 1],
    ['CREATE UNIQUE INDEX `users_email` ON `users` (`email`)', 1],
    ['ALTER TABLE `users` ADD `level` integer', 0],
    ['ALTER TABLE `users` ADD `k` text;\nCREATE UNIQUE INDEX `k` ON `users` (`k`)', 1],
    ['CREATE TABLE `new` (`a` text);\nCREATE UNIQUE INDEX `new_a` ON `new` (`a`)', 0],
    ['DROP INDEX `users_by_name`', 0],
    ['-- DROP TABLE `users`', 0],
  ])('%s: %i statements take something away', (sql, count) => {
    expect(contractions(sql)).toHaveLength(count)
  })
})
