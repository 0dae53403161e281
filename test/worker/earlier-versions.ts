import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'

/** Each number of migrations that a database can have. */
export const earlier = env.MIGRATIONS.map((_, index) => index + 1)

/**
 * Empties the database, and applies the first migrations, this number of them. `seed` has the statements to
 * run as soon as a number of migrations is applied, in ascending order.
 */
export async function databaseWith(
  migrations: number,
  seed: ReadonlyMap<number, readonly string[]> = new Map(),
): Promise<void> {
  const tables = await env.DB.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  ).all<{ name: string }>()
  for (const { name } of tables.results) await env.DB.prepare(`DROP TABLE ${name}`).run()
  for (const [count, statements] of seed) {
    if (count > migrations) break
    await applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, count))
    await env.DB.batch(statements.map((sql) => env.DB.prepare(sql)))
  }
  await applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, migrations))
}
