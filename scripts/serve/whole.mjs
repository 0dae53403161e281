/** Whether all of the data is there: a part of a copy must not start as an empty service. */
import { accessSync, constants, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { demandServed, listed } from '../lib/databases.mjs'
import { Complaint, commandOf, wordsOf } from '../lib/project.mjs'
import { FIRST_START, OBJECTS, RESTORED } from './data.mjs'
import { sync } from './files.mjs'

/** The folders whose content is made again from the database. */
const MADE_AGAIN = ['LeaderboardObject', 'MessageQueue', 'Timekeeper', 'UserLane']

/** The file that workerd makes in each folder, and its size while all that it holds is in its `-wal`. */
const METADATA = 'metadata.sqlite'
const HEADER = 4096

const pathOf = (/** @type {string} */ className) => join(OBJECTS, `laurel-${className}`)

/** Is false if the folder was not copied, or not with its `-wal`. An empty file means that it was given up. */
function isThere(/** @type {string} */ className) {
  const file = join(pathOf(className), METADATA)
  return existsSync(file) && (statSync(file).size !== HEADER || existsSync(`${file}-wal`))
}

/** Throws a Complaint if a file or folder of the data can't be read and written, with its path. */
function demandOpenable() {
  try {
    for (const name of readdirSync('.', { recursive: true, encoding: 'utf8' }))
      accessSync(name, constants.R_OK | constants.W_OK)
  } catch (error) {
    const owned = `All files in ${resolve()} have to belong to the user of the server`
    throw new Complaint(`${wordsOf(error)} ${owned}: chown -R USER: ${resolve()}`)
  }
}

/**
 * Looks at the files before workerd makes any. If there are none, this is noted on the disk until the tables are
 * made. Without that note, a database without tables has lost them.
 * `there` are the classes whose folders are there.
 */
export async function lookAtFiles() {
  demandOpenable()
  const classes = readdirSync(OBJECTS).map((name) => name.replace('laurel-', ''))
  if (classes.length === 0) {
    writeFileSync(FIRST_START, '')
    await sync(FIRST_START)
    await sync('.')
  }
  return { mayBeEmpty: existsSync(FIRST_START) || existsSync(RESTORED), there: classes.filter(isThere) }
}

/**
 * Throws a Complaint if the server can't start with its data. `looks` is what each database says (`look` in
 * platform.mjs), `files` what `lookAtFiles` has found.
 *
 * @param {string} folder of the data
 * @param {{ binding: string; isEmpty: boolean; later?: string; inUse: import('../lib/databases.mjs').InUse;
 *   classes: string[] }[]} looks
 * @param {Awaited<ReturnType<typeof lookAtFiles>>} files
 * @param {string[]} classes that this version knows
 * @returns {string[]} the missing folders whose content has to be made again
 */
export function demandAll(folder, looks, files, classes) {
  const [first] = looks
  if (first === undefined) return []
  const later = looks.flatMap((look) => look.later ?? [])
  if (later.length > 0)
    throw new Complaint(
      `A later version of Laurel has applied the migration ${later[0]}. Deploy that version again.\nLaurel does not start.`,
    )
  demandServed(first.inUse, looks.length)
  const { used, left } = first.inUse
  const emptied = looks.filter(
    (look) =>
      look.isEmpty && (look === first ? !files.mayBeEmpty : [...used, ...left].includes(look.binding)),
  )
  const missing = first.classes.filter((name) => classes.includes(name) && !files.there.includes(name))
  const lost = [
    ...emptied.map(({ binding }) => `the database ${binding} in ${pathOf('Database')}`),
    ...missing.filter((name) => !MADE_AGAIN.includes(name)).map(pathOf),
  ]
  if (lost.length > 0)
    throw new Complaint(`The data in ${folder} is not whole: ${listed(lost)} ${lost.length === 1 ? 'is' : 'are'} missing.
A copy needs all files of one moment, also those that end in -wal. Copy again with \`${commandOf('backup', 'FILE')}\`, and restore that. If there is no other copy, docs/self-hosting.md says what to do.
Laurel does not start.`)
  return missing.map(pathOf)
}
