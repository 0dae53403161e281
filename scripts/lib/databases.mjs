/** How many databases there are, and what they are called. */
import { Complaint } from './project.mjs'

/** The greatest number of databases. */
export const MOST_DATABASES = 100

/**
 * The binding of a database.
 *
 * @param {number} number from 1
 * @returns {string}
 */
export const bindingOf = (number) => (number === 1 ? 'DB' : `DB_${number}`)

/**
 * The name of a database: in Cloudflare, and in the data of `npm run serve`.
 *
 * @param {number} number from 1
 * @returns {string}
 */
export const nameOf = (number) => (number === 1 ? 'laurel' : `laurel-${number}`)

/**
 * @param {number} count
 * @returns {number[]} the numbers of so many databases
 */
export const numbersTo = (count) => Array.from({ length: count }, (_, index) => index + 1)

/**
 * @param {string | undefined} value of the variable DATABASES
 * @returns {number}
 * @throws {Complaint} if it is no number of databases
 */
export function parseDatabases(value) {
  if (value === undefined || value === '') return 1
  const count = Number(value)
  if (!/^\d{1,3}$/.test(value) || count < 1 || count > MOST_DATABASES)
    throw new Complaint(`DATABASES must be a whole number from 1 to ${MOST_DATABASES}, not ${value}.`)
  return count
}

/** Names as a list of words: `DB_2`, `DB_2 and DB_3`, `DB_2, DB_3 and DB_4`. */
export const listed = (/** @type {readonly string[]} */ names) =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/**
 * @param {readonly string[]} used bindings of the databases that hold users
 * @param {number} count how many databases would be bound
 * @throws {Complaint} if one would be left out; it says what to do
 */
export function demandBound(used, count) {
  const bound = new Set(numbersTo(count).map(bindingOf))
  const left = used
    .filter((name) => !bound.has(name))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  if (left.length === 0) return
  const needed = Math.max(...left.map((name) => Number(/^DB_(\d+)$/.exec(name)?.[1] ?? 0)))
  const again = needed > count ? `DATABASES=${needed}` : 'the databases that it had before'
  const isOne = left.length === 1
  const weights = JSON.stringify({ weights: Object.fromEntries(left.map((name) => [name, 0])) })
  throw new Complaint(
    `Laurel does not start with ${count === 1 ? 'one database' : `${count} databases`} (DATABASES): ${listed(left)} ${isOne ? 'holds' : 'hold'} users.
Start with ${again} again. To use fewer databases, empty ${isOne ? 'it' : 'them'} first:
  POST /admin/v1/databases/rebalance ${weights}
Wait until GET /admin/v1/databases shows 0 users in ${listed(left)}, and then start with fewer.`,
  )
}
