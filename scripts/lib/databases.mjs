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

/**
 * Throws a Complaint if a database that is in use would be left out.
 *
 * @param {InUse} inUse
 * @param {number} count of databases from now on
 * @param {(missing: string[]) => { fact: string; again: string; meanwhile: string; afterwards: string }} words that
 *   they are missing, how to have them again, what holds until they are empty, and what to do then
 */
export function demandBound({ used, left }, count, words) {
  const [holders, rests] = [missingOf(used, count), missingOf(left, count)]
  if (holders.length > 0) {
    const { fact, again, afterwards } = words(holders)
    const weights = JSON.stringify({ weights: Object.fromEntries(holders.map((name) => [name, 0])) })
    const [hold, them] = holders.length === 1 ? ['holds', 'it'] : ['hold', 'them']
    throw new Complaint(`${listed(holders)} ${hold} users, but ${fact}
${again} To use fewer databases, empty ${them} first:
  POST /admin/v1/databases/rebalance ${weights}
Name the weights of the other databases too, unless they are 1. Wait until GET /admin/v1/databases shows 0 buckets in ${listed(holders)}. ${afterwards}`)
  }
  if (rests.length > 0)
    throw new Complaint(
      `Rows of users who have left ${listed(rests)} are still being deleted there.${words(rests).meanwhile} Wait some minutes, and try again.`,
    )
}

/** For `npm start` and `npm run serve`. */
export const demandServed = (/** @type {InUse} */ inUse, /** @type {number} */ count) =>
  demandBound(inUse, count, (missing) => {
    const needed = Math.max(...missing.map((name) => Number(name.replace('DB_', ''))))
    const again = `Start with DATABASES=${needed} again.`
    const now = count === 1 ? 'is one database' : `are ${count} databases`
    return {
      fact: `there ${now} (DATABASES). Laurel does not start.`,
      again,
      meanwhile: `\n${again}`,
      afterwards: 'Then start with fewer.',
    }
  })
