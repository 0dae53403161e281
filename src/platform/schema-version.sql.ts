import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { entries } from '../../migrations/meta/_journal.json'
import { type Instant, SECOND } from '../lib/clock'
import { within } from '../lib/system-clock'
import type { AccountDatabase } from './database'
import type { Databases } from './databases/databases'
import { FIRST } from './databases/directory'

/**
 * The version of the tables: one row, which each migration updates. It lets the Worker say at
 * `GET /health` that a migration is missing, or that a later version of Laurel has migrated the database
 * beyond what this version can serve.
 */
export const schemaVersion = sqliteTable('schema_version', {
  id: integer('id').primaryKey(),
  /** The number of the newest migration that was applied, such as 0. */
  migration: integer('migration').notNull(),
  /** Its name, such as `0000_first`. */
  name: text('name').notNull(),
  /** The oldest `NEEDED_MIGRATION` of a Worker that can serve with these tables. */
  oldest: integer('oldest').notNull(),
})

/** The migration that this version of the code needs, which is its newest one: its number and its name. */
export const NEEDED_MIGRATION = { number: entries.length - 1, name: entries.at(-1)?.tag ?? 'none' }

const READ = 'SELECT migration, name, oldest FROM schema_version'
const TABLE = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'"

const Version = z.object({ migration: z.number(), name: z.string(), oldest: z.number() })

/**
 * Why this version of the code can't serve with the tables of the databases, in a sentence that names the
 * migration; null if it can. One round trip to each of them, side by side. Throws if the first one can't be
 * reached. Another one that does not answer within a second is left out.
 */
export const schemaProblem = (databases: Databases): Promise<string | null> =>
  firstAnswer(databases, problemIn)

async function problemIn(db: AccountDatabase): Promise<string | null> {
  const found = await read(db)
  const { number, name } = NEEDED_MIGRATION
  if (found === null || found.migration < number)
    return `The migration ${name} is missing. Apply the migrations: npm run deploy, npm start and npm run serve do so.`
  if (found.oldest > number)
    return `A later version of Laurel has applied the migration ${found.name}. Deploy that version again.`
  return null
}

/** The table is wrangler's own, as `npm run serve` makes it too. Its times are UTC, in whole seconds. */
const APPLIED = 'SELECT name FROM d1_migrations WHERE unixepoch(applied_at) >= ?1 ORDER BY id DESC LIMIT 1'

const Applied = z.object({ name: z.string() })

/** The newest migration of a database if it was applied since then, or null. Asks like `schemaProblem`. */
export const migrationSince = (databases: Databases, since: Instant): Promise<string | null> =>
  firstAnswer(databases, async (db) => {
    const applied = await db.find(Applied, APPLIED, Math.floor(since / SECOND))
    return applied?.name.replace(/\.sql$/, '') ?? null
  })

async function firstAnswer(
  databases: Databases,
  ask: (db: AccountDatabase) => Promise<string | null>,
): Promise<string | null> {
  const answers = await Promise.all(
    databases.names.map((name) => {
      const answer = ask(databases.named(name))
      return name === FIRST ? answer : within(SECOND, answer).catch(() => null)
    }),
  )
  return answers.find((one) => one !== null) ?? null
}

/** The version that the database notes; null if it has no table for it yet. */
async function read(db: AccountDatabase): Promise<z.infer<typeof Version> | null> {
  try {
    return await db.one(Version, READ)
  } catch (error) {
    if ((await db.rows(db.statement(TABLE))).length === 0) return null
    throw error
  }
}
