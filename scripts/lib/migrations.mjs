/** The migrations of the project, and the table in which wrangler notes those that a database has. */
import { readdirSync, readFileSync } from 'node:fs'
import { inProject, isPackage } from './project.mjs'

/**
 * The migrations in their order, under the names that wrangler gives them.
 *
 * @type {() => { name: string; sql: string }[]}
 */
export const readMigrations = () =>
  isPackage
    ? JSON.parse(readFileSync(inProject('dist', 'serve', 'migrations.json'), 'utf8'))
    : readdirSync(inProject('migrations'))
        .filter((name) => name.endsWith('.sql'))
        .sort()
        .map((name) => ({ name, sql: readFileSync(inProject('migrations', name), 'utf8') }))

/** The migrations that a database lacks, each with its row of `d1_migrations`. `rows` are those that it has. */
export function missingMigrations(/** @type {Record<string, unknown>[]} */ rows) {
  const applied = new Set(rows.map(({ name }) => name))
  return readMigrations().flatMap(({ name, sql }) => {
    if (applied.has(name)) return []
    const row = `INSERT INTO d1_migrations (name) VALUES ('${name.replaceAll("'", "''")}');`
    return [{ name, sql: `${sql.trim().replace(/;?$/, ';')}\n${row}\n` }]
  })
}

/** Asks which migrations a database has. A new database gets the table for them. */
export const APPLIED_QUESTION =
  'CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL); SELECT name FROM d1_migrations'
