/** The databases in the text of `wrangler.toml`: finds their blocks, and makes others. */
import { readFileSync } from 'node:fs'
import { bindingOf, nameOf, numbersTo } from './databases.mjs'
import { Complaint, inProject } from './project.mjs'

/** A block: its header and the lines up to the next header. */
const BLOCK = /^\[\[d1_databases\]\][^\n]*\n?(?:(?!\[)[^\n]*\n|(?!\[)[^\n]+$)*/gm
const BINDING = /^\s*binding\s*=\s*["']([^"']*)["']/m

/**
 * @typedef {object} Block
 * @property {string} binding
 * @property {string} text from the header up to the next one, comments between them included
 * @property {number} start of the text in the file
 */

/** The text of `wrangler.toml`. */
export const wranglerToml = () => readFileSync(inProject('wrangler.toml'), 'utf8')

/** The blocks of databases, also of those that are not Laurel's. */
const databaseBlocks = (/** @type {string} */ toml) =>
  [...toml.matchAll(BLOCK)].map(({ 0: text, index: start }) => {
    return { binding: BINDING.exec(text)?.[1] ?? '', text, start }
  })

/** A block without the comments at its end, which belong to what follows. */
function ownLines(/** @type {string} */ text) {
  const lines = text.split('\n')
  return lines.slice(0, lines.findLastIndex((line) => !/^\s*(#|$)/.test(line)) + 1).join('\n')
}

/** Is true for a binding of Laurel's databases. An operator may have bound others. */
const isOurs = (/** @type {string} */ binding) => /^DB(_\d+)?$/.test(binding)

const ourBlocks = (/** @type {string} */ toml) =>
  databaseBlocks(toml).filter(({ binding }) => isOurs(binding))
const isFirst = (/** @type {Block} */ { binding }) => binding === bindingOf(1)
const NO_FIRST = 'wrangler.toml has no [[d1_databases]] with the binding DB.'

/**
 * Laurel's databases, the first one first, of all that wrangler.toml binds. Throws a Complaint if they are not `DB`,
 * `DB_2`, … without gaps.
 *
 * @template {{ binding: string }} T
 * @param {readonly T[]} databases
 */
export function databasesOf(databases) {
  const ours = databases.filter(({ binding }) => isOurs(binding))
  const missing = numbersTo(Math.max(1, ours.length))
    .map(bindingOf)
    .find((name) => ours.every(({ binding }) => binding !== name))
  if (missing !== undefined)
    throw new Complaint(
      `wrangler.toml has no [[d1_databases]] with the binding ${missing}. The databases of Laurel are DB, DB_2, DB_3 and so on, without gaps. Put its block back. Never rename another one: Laurel knows the databases by these names.`,
    )
  return ours.toSorted((a, b) => a.binding.localeCompare(b.binding, 'en', { numeric: true }))
}

/** How many databases are bound. Throws a Complaint if there is none, or a gap. */
export const boundDatabases = (/** @type {string} */ toml) => databasesOf(databaseBlocks(toml)).length

/** The name of a further database in Cloudflare, after the first one: each deployment has its own names. */
export function nextName(/** @type {string} */ toml, /** @type {number} */ number) {
  const first = databaseBlocks(toml).find(isFirst)
  const [, name] = /^\s*database_name\s*=\s*["']([^"']+)["']/m.exec(first?.text ?? '') ?? []
  return name === undefined ? nameOf(number) : `${name}-${number}`
}

/**
 * The text of a block. It has no id: the database is found by its name.
 *
 * @param {{ number: number; name?: string; newline?: string }} database
 * @returns {string} with a line break at its end
 */
export const blockOf = ({ number, name = nameOf(number), newline = '\n' }) =>
  [
    '[[d1_databases]]',
    `binding = "${bindingOf(number)}"`,
    `database_name = "${name}"`,
    'migrations_dir = "migrations"',
    '',
  ].join(newline)

/**
 * Adds a block after the last database. The rest of the file stays as it is, comments included.
 *
 * @param {string} toml
 * @param {number} number of the database
 */
export function withDatabase(toml, number) {
  const last = ourBlocks(toml).at(-1)
  if (last === undefined) throw new Complaint(NO_FIRST)
  const newline = toml.includes('\r\n') ? '\r\n' : '\n'
  const end = last.start + ownLines(last.text).length
  const before = toml.slice(0, end).trimEnd()
  const after = toml.slice(end).replace(/^\r?\n/, '')
  const name = nextName(toml, number)
  return `${before}${newline}${newline}${blockOf({ number, name, newline })}${after}`
}
