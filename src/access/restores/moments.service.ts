import * as z from 'zod'
import type { Databases } from '../../db/databases/databases'
import { FIRST } from '../../db/databases/directory'
import { json } from '../../db/json-column'
import type { Instant } from '../../lib/clock'
import { logProblem } from '../../runtime/log'

const Names = z.array(z.string())

const FIRST_NOTED = `
  SELECT moment, unreached, (SELECT json_group_array(name) FROM held_databases WHERE tenants > 0) AS holders
  FROM restores WHERE id = 1`
const FirstNoted = z.object({
  moment: z.number().nullable(),
  unreached: json(Names).nullable(),
  holders: json(Names),
})
const NOTED = 'SELECT moment, EXISTS (SELECT 1 FROM users) AS hasUsers FROM restores WHERE id = 1'
const Noted = z.object({ moment: z.number().nullable(), hasUsers: z.number() })

const NOTE_FIRST = 'UPDATE restores SET moment = ?1, unreached = ?2 WHERE id = 1 AND moment IS ?3'
const NOTE = 'UPDATE restores SET moment = ?1 WHERE id = 1 AND moment IS ?2'
const NOTE_UNREACHED = 'UPDATE restores SET unreached = ?2 WHERE id = 1 AND moment = ?1'

/**
 * Notes the same moment of real time in all databases, so that `npm run restored` can find out whether all of
 * them were brought back to one moment (M1). With one database it does nothing.
 *
 * A database that could not be reached gets the next moment: the first one remembers which these are. Any
 * other one with a moment of its own was brought back without the rest, or the rest without it. It gets no
 * moment, so that nobody takes the databases for restored together, and the log has an error. A database
 * without users is none of them.
 */
export async function noteMoment(databases: Databases, now: Instant): Promise<void> {
  if (!databases.isSeveral) return
  const { first } = databases
  const before = FirstNoted.parse((await first.rows(first.statement(FIRST_NOTED)))[0])
  const isExpected = (name: string, { moment, hasUsers }: z.infer<typeof Noted>) =>
    moment === before.moment ||
    // Nothing was remembered before the first moment of this version.
    (before.unreached?.includes(name) ?? true) ||
    (hasUsers === 0 && !before.holders.includes(name))
  const [noted, away] = [new Map<string, number | null>(), new Set<string>()]
  await Promise.all(
    databases.names.map(async (name) => {
      if (name === FIRST) return
      const db = databases.named(name)
      try {
        const found = Noted.parse((await db.rows(db.statement(NOTED)))[0])
        if (isExpected(name, found)) noted.set(name, found.moment)
        else logProblem('error', { error: differs(name) })
      } catch (error) {
        away.add(name)
        logProblem('warn', { error: `the database ${name} gets its next moment later: ${String(error)}` })
      }
    }),
  )
  // Until all have the moment, each may lack it.
  const all = JSON.stringify([...noted.keys(), ...away])
  const { meta } = await first.run(first.statement(NOTE_FIRST, now, all, before.moment))
  // Another run of the cron trigger has noted one meanwhile.
  if (meta.changes === 0) return
  await Promise.all(
    [...noted].map(async ([name, moment]) => {
      const db = databases.named(name)
      const isNoted = db.run(db.statement(NOTE, now, moment)).then(
        (result) => result.meta.changes > 0,
        () => false,
      )
      if (!(await isNoted)) away.add(name)
    }),
  )
  await first.run(first.statement(NOTE_UNREACHED, now, JSON.stringify([...away])))
}

const differs = (name: string) =>
  `the database ${name} is not at the moment of ${FIRST}. Restore all databases to one moment, and run npm run restored (docs/operations.md).`
