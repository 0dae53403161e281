import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import type { Instant } from '../lib/clock'
import { json } from '../platform/columns'
import type { AccountDatabase, Statement } from '../platform/database'
import type { Databases } from '../platform/databases/databases'
import { FIRST } from '../platform/databases/directory'
import { logProblem } from '../platform/log'

/**
 * Whether the database was brought back to an earlier moment (M1): one row. `npm run restored` changes it,
 * and `npm run serve` after a backup was restored.
 */
export const restores = sqliteTable('restores', {
  id: integer('id').primaryKey(),
  /**
   * The last time at which the database was brought back, in milliseconds of real time; 0 if never. It only
   * rises, also if the database is brought back to a moment before an earlier restore.
   */
  epoch: integer('epoch').notNull(),
  /** The epoch for which all deletions since the backup were done again (M3). */
  redone: integer('redone').notNull(),
  /** JSON: the last deletion that was done again for the present epoch; null at the beginning. */
  progress: text('progress'),
  /**
   * The last moment that the cron trigger has noted, the same in all databases, in milliseconds of real time.
   * It says to which moment a database was brought back. Null before the first one.
   */
  moment: integer('moment'),
  /**
   * Only in the first database: a moment that all databases have noted, or a later one. A write may not have
   * arrived in all of them. Null before the first one.
   */
  confirmed: integer('confirmed'),
})

const READ = 'SELECT epoch, redone, progress FROM restores'

const Row = z.object({ epoch: z.number(), redone: z.number(), progress: z.string().nullable() })

/** The last restore of the database, and how much was done after it. */
export type Restored = z.infer<typeof Row>

/** Reads whether the database was brought back to an earlier moment (M1). */
export async function readRestored(db: AccountDatabase): Promise<Restored> {
  return db.one(Row, READ)
}

const ADVANCE = 'UPDATE restores SET progress = ?2 WHERE epoch = ?1'
const FINISH = 'UPDATE restores SET redone = ?1, progress = NULL WHERE epoch = ?1'

/**
 * Stores the last deletion that was done again after the restore of this epoch; null: all of them (M3). Does
 * nothing if there was another restore meanwhile.
 */
export function advanceRedo(db: AccountDatabase, epoch: number, progress: string | null): Statement {
  return progress === null ? db.statement(FINISH, epoch) : db.statement(ADVANCE, epoch, progress)
}

const FIRST_NOTED = `
  SELECT moment, confirmed,
    (SELECT json_group_array(name) FROM held_databases WHERE tenants > 0) AS holders,
    (SELECT json_group_object(name, since) FROM known_databases) AS known
  FROM restores WHERE id = 1`
const FirstNoted = z.object({
  moment: z.number().nullable(),
  confirmed: z.number().nullable(),
  holders: json(z.array(z.string())),
  known: json(z.record(z.string(), z.number())),
})
type FirstNoted = z.infer<typeof FirstNoted>
const NOTED = 'SELECT moment, EXISTS (SELECT 1 FROM users) AS hasUsers FROM restores WHERE id = 1'
const Noted = z.object({ moment: z.number().nullable(), hasUsers: z.number() })
type Noted = z.infer<typeof Noted>

const NOTE_FIRST = 'UPDATE restores SET moment = ?1, confirmed = ?2 WHERE id = 1 AND moment IS ?3'
const NOTE = 'UPDATE restores SET moment = ?1 WHERE id = 1 AND moment IS ?2'
const CONFIRM = 'UPDATE restores SET confirmed = ?1 WHERE id = 1 AND moment = ?1'

/**
 * Notes the same moment of real time in all databases, so that `npm run restored` can find out whether all of
 * them were brought back to one moment (M1). With one database it does nothing.
 *
 * If a database has a moment that it can't have by itself, it was restored without the first one, or the
 * first one without it. Then no moment is noted until all are at one moment again, and the log has an error.
 * No moment is noted either while a database can't be reached. The cron trigger calls it.
 */
export async function noteMoment(databases: Databases, now: Instant): Promise<void> {
  const { first, others } = databases
  if (others.length === 0) return
  const before = await first.one(FirstNoted, FIRST_NOTED)
  const found = await Promise.all(
    others.map(async (name) => {
      const db = databases.named(name)
      return { name, db, noted: await db.one(Noted, NOTED) }
    }),
  )
  const different = found.filter(({ name, noted }) => !isExpected(before, name, noted))
  for (const { name } of different)
    logProblem('error', {
      error: `the database ${name} is not at the moment of ${FIRST}. Restore all databases to one moment, and run npm run restored (docs/operations.md).`,
    })
  if (different.length > 0) return
  const moments = found.flatMap(({ noted: { moment } }) => moment ?? [])
  const least = Math.min(before.moment ?? now, ...moments)
  const { meta } = await first.run(first.statement(NOTE_FIRST, now, least, before.moment))
  // Another run of the cron trigger has noted one meanwhile.
  if (meta.changes === 0) return
  const results = await Promise.all(
    found.map(({ db, noted }) => db.run(db.statement(NOTE, now, noted.moment))),
  )
  // If a write has failed, the next run accepts the moment that the database had before.
  if (results.every((result) => result.meta.changes > 0)) await first.run(first.statement(CONFIRM, now))
}

/** Whether a database agrees with the notes of the first one. If not, one of the two was restored alone. */
function isExpected(before: FirstNoted, name: string, { moment, hasUsers }: Noted): boolean {
  // It has nothing that a restore could change.
  if (hasUsers === 0 && !before.holders.includes(name)) return true
  if (moment === before.moment) return true
  if (moment === null) return isNew(before, name)
  if (before.moment === null) return false
  return moment >= (before.confirmed ?? 0) && moment <= before.moment
}

/** Whether a database was added after the last moment: it was never seen, or came before any user (0). */
function isNew({ moment, known }: FirstNoted, name: string): boolean {
  const since = known[name] ?? 0
  return moment === null || since === 0 || since > moment
}
