/** How many databases there are, and what they are called. */
import { Complaint } from './project.mjs'

/** The binding of a database, by its number from 1. */
export const bindingOf = (/** @type {number} */ number) => (number === 1 ? 'DB' : `DB_${number}`)

/** The name of a database in Cloudflare and in the data of `npm run serve`, by its number from 1. */
export const nameOf = (/** @type {number} */ number) => (number === 1 ? 'laurel' : `laurel-${number}`)

/** The numbers of the first `count` databases. */
export const numbersTo = (/** @type {number} */ count) =>
  Array.from({ length: count }, (_, index) => index + 1)

/** Names as a list of words: `DB_2`, `DB_2 and DB_3`, `DB_2, DB_3 and DB_4`. */
export const listed = (/** @type {readonly string[]} */ names) =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** @typedef {import('./directory.mjs').InUse} InUse */

/** The bindings that are not among those of the first `count` databases, by number. */
export function missingOf(/** @type {readonly string[]} */ names, /** @type {number} */ count) {
  const bound = new Set(numbersTo(count).map(bindingOf))
  return names.filter((name) => !bound.has(name)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}

/** How databases are emptied. */
export function emptying(/** @type {readonly string[]} */ names) {
  const weights = JSON.stringify({ weights: Object.fromEntries(names.map((name) => [name, 0])) })
  return `  POST /admin/v1/databases/rebalance ${weights}\nName the weights of the other databases too, unless they are 1. Wait until GET /admin/v1/databases shows 0 buckets in ${listed(names)}.`
}

/** That databases still have rows. */
export const leftIn = (/** @type {readonly string[]} */ names) =>
  `Rows of users who have left ${listed(names)} are still being deleted there.`

/** For `npm start` and `npm run serve`: throws a Complaint if a database that is in use would be left out. */
export function demandBound(/** @type {InUse} */ { used, left }, /** @type {number} */ count) {
  const [holders, rests] = [missingOf(used, count), missingOf(left, count)]
  const missing = holders.length > 0 ? holders : rests
  if (missing.length === 0) return
  const needed = Math.max(...missing.map((name) => Number(/^DB_(\d+)$/.exec(name)?.[1] ?? 0)))
  const again = needed > count ? `DATABASES=${needed}` : 'the databases that it had before'
  const refusal = `Laurel does not start with ${count === 1 ? 'one database' : `${count} databases`} (DATABASES)`
  if (holders.length === 0)
    throw new Complaint(
      `${refusal}. ${leftIn(rests)}\nStart with ${again} again. Wait some minutes, and try again.`,
    )
  const isOne = holders.length === 1
  throw new Complaint(
    `${refusal}: ${listed(holders)} ${isOne ? 'holds' : 'hold'} users.
Start with ${again} again. To use fewer databases, empty ${isOne ? 'it' : 'them'} first:
${emptying(holders)} Then start with fewer.`,
  )
}
