/** The databases in the text of `wrangler.toml`: finds their blocks, and makes others. */
import { readFileSync } from 'node:fs'
import { bindingOf, nameOf, numbersTo } from './databases.mjs'
import { Complaint, inProject } from './project.mjs'

/** A block: its header and the lines up to the next header, comments between them included. */
const BLOCK = /^\[\[d1_databases\]\][^\n]*\n?(?:(?!\[)[^\n]*\n|(?!\[)[^\n]+$)*/gm
const BINDING = /^\s*binding\s*=\s*["']([^"']*)["']/m

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

/**
 * Laurel's databases, the first one first, of all that wrangler.toml binds. Throws a Complaint if they are not `DB`,
 * `DB_2`, … without gaps.
 *
 * @template {{ binding: string }} T
 * @param {readonly T[]} databases
 */
export function databasesOf(databases) {
  // An operator may have bound others.
  const ours = databases.filter(({ binding }) => /^DB(_\d+)?$/.test(binding))
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
  const first = databaseBlocks(toml).find(({ binding }) => binding === bindingOf(1))
  const [, name] = /^\s*database_name\s*=\s*["']([^"']+)["']/m.exec(first?.text ?? '') ?? []
  return name === undefined ? nameOf(number) : `${name}-${number}`
}

/** The text of a block. It has no id: the database is found by its name. @type {(number: number, name: string) => string} */
export const blockOf = (number, name) => `[[d1_databases]]
binding = "${bindingOf(number)}"
database_name = "${name}"
migrations_dir = "migrations"
`

/** Adds the block of a database after the last one. The rest of the file stays as it is, comments included. */
export function withDatabase(/** @type {string} */ toml, /** @type {number} */ number) {
  const { start = 0, text = '' } = databasesOf(databaseBlocks(toml)).at(-1) ?? {}
  const newline = toml.includes('\r\n') ? '\r\n' : '\n'
  const end = start + ownLines(text).length
  const block = blockOf(number, nextName(toml, number)).replaceAll('\n', newline)
  const after = toml.slice(end).replace(/^\r?\n/, '')
  return `${toml.slice(0, end).trimEnd()}${newline}${newline}${block}${after}`
}
