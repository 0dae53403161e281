import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NEEDED_MIGRATION } from '../../src/platform/schema-version.sql'

type Migration = { name: string; sql: string }

const folder = join(import.meta.dirname, '..', '..', 'migrations')
const migrations: readonly Migration[] = globSync('*.sql', { cwd: folder })
  .toSorted()
  .map((file) => ({ name: basename(file, '.sql'), sql: readFileSync(join(folder, file), 'utf8') }))

const numberOf = (name: string) => Number(name.slice(0, 4))

/** The version and the oldest version that a migration notes in its last statement. */
function noted(sql: string): { migration: number; name: string | undefined; oldest: number } {
  const [last = ''] = sql.split('--> statement-breakpoint').slice(-1)
  const [, migration, name, oldest] =
    /`schema_version`.*(?:VALUES \(1, |`migration` = )(\d+), (?:`name` = )?'(\w+)', (?:`oldest` = )?(-?\d+)\)?;\s*$/s.exec(
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

/**
 * The triggers that are not one line, without a comment, and with one END. Cloudflare divides SQL into
 * statements by itself, and has failed on triggers of any other form.
 */
const brokenTriggers = (sql: string) =>
  [...sql.matchAll(/^.*CREATE (?:TEMP )?TRIGGER.*$/gim)]
    .map(([line]) => line)
    .filter(
      (line) =>
        !/^CREATE TRIGGER `\w+` [^\r]+ BEGIN [^\r]+; END;$/.test(line) ||
        /--|\/\*/.test(line) ||
        line.match(/\b(?:CASE|END)\b/gi)?.join() !== 'END',
    )

/** The rules that the last of some migrations breaks. */
function problems(all: readonly Migration[]): string[] {
  const { name = '', sql = '' } = all.at(-1) ?? {}
  const last = noted(sql)
  const before = all.length === 1 ? 0 : noted(all.at(-2)?.sql ?? '').oldest
  const taken = all.length === 1 ? [] : contractions(sql)
  return [
    ...(numberOf(name) === all.length - 1 ? [] : ['its number']),
    ...(last.migration === numberOf(name) && last.name === name ? [] : ['it does not note itself']),
    ...(last.oldest >= before && last.oldest <= numberOf(name) ? [] : ['the oldest version']),
    ...(taken.length === 0 || last.oldest > before ? [] : ['it takes something away']),
    ...(brokenTriggers(sql).length === 0 ? [] : ['a trigger']),
  ]
}

describe('migrations', () => {
  it('the code needs the newest of them', () => {
    expect(NEEDED_MIGRATION).toEqual({ number: migrations.length - 1, name: migrations.at(-1)?.name })
  })

  it.each(migrations.map(({ name }, index) => [name, migrations.slice(0, index + 1)] as const))(
    '%s has its number, notes itself and the oldest version that can serve, and has sound triggers',
    (_name, all) => expect(problems(all)).toEqual([]),
  )

  const NEXT = migrations.length
  const { oldest: OLDEST } = noted(migrations.at(-1)?.sql ?? '')
  const ADD = 'ALTER TABLE `users` ADD `level` integer'
  const DROP = 'DROP TABLE `users`'
  const filling = (body: string) => `CREATE TRIGGER \`t\` AFTER INSERT ON \`users\` BEGIN ${body} END`
  it.each([
    ['only adds', { sql: ADD }, []],
    ['drops a table', { sql: DROP }, ['it takes something away']],
    ['drops a table, and raises the oldest version', { sql: DROP, oldest: NEXT }, []],
    ['raises the oldest version beyond itself', { oldest: NEXT + 1 }, ['the oldest version']],
    ['lowers the oldest version', { oldest: OLDEST - 1 }, ['the oldest version']],
    ['has a gap before it', { number: NEXT + 1, note: NEXT + 1 }, ['its number']],
    ['notes another one', { note: 7_777 }, ['it does not note itself']],
    ['has a trigger in one line', { sql: filling('DELETE FROM `users`;') }, []],
    ['has a trigger in two lines', { sql: filling('DELETE FROM\n`users`;') }, ['a trigger']],
    ['has a comment in a trigger', { sql: filling('DELETE FROM `users`; /* all */') }, ['a trigger']],
    ['has CASE in a trigger', { sql: filling('SELECT CASE 1 WHEN 1 THEN 2 END;') }, ['a trigger']],
  ])('the next migration: one that %s has these problems', (_what, given, found) => {
    const { sql, oldest, number, note } = { sql: ADD, oldest: OLDEST, number: NEXT, note: NEXT, ...given }
    const name = `${String(number).padStart(4, '0')}_scratch`
    const last = `UPDATE \`schema_version\` SET \`migration\` = ${note}, \`name\` = '${name}', \`oldest\` = ${oldest};`
    const next = { name, sql: `${sql};\n--> statement-breakpoint\n${last}\n` }
    expect(problems([...migrations, next])).toEqual(found)
  })

  it.each([
    ['ALTER TABLE `users` DROP COLUMN `name`', 1],
    ['ALTER TABLE users RENAME COLUMN a TO b', 1],
    ['ALTER TABLE `users` RENAME TO `people`', 1],
    ['DROP TABLE IF EXISTS users', 1],
    ['CREATE UNIQUE INDEX `users_email` ON `users` (`email`)', 1],
    ['ALTER TABLE `users` ADD `level` integer', 0],
    ['ALTER TABLE `users` ADD `k` text;\nCREATE UNIQUE INDEX `k` ON `users` (`k`)', 1],
    [
      'ALTER TABLE `users` ADD `k` text;\nCREATE UNIQUE INDEX `k` ON `users` (`k`);\nCREATE TRIGGER `t` AFTER INSERT ON `users` BEGIN UPDATE `users` SET `k` = new.`id` WHERE `id` = new.`id`; END',
      0,
    ],
    ['CREATE TABLE `new` (`a` text);\nCREATE UNIQUE INDEX `new_a` ON `new` (`a`)', 0],
    ['DROP INDEX `users_by_name`', 0],
    ['DROP TRIGGER `old`;\nCREATE TRIGGER `new` AFTER INSERT ON `users` BEGIN DELETE FROM `users`; END', 0],
    ['-- DROP TABLE `users`', 0],
  ])('%s: %i statements take something away', (sql, count) => {
    expect(contractions(sql)).toHaveLength(count)
  })
})
