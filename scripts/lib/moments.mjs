/** Whether several databases were brought back to one moment (M1). */

/**
 * A database, its name in Cloudflare, and what it says about its moment.
 *
 * @typedef {{ binding: string; name: string } & Pick<import('./restored.mjs').State, 'moment' | 'hasUsers'>} Restored
 */

/**
 * @param {readonly Restored[]} databases
 * @param {readonly string[]} used bindings of the databases that hold users, by the directory
 * @returns {string | undefined} a line for each database with its moment; undefined if all are at one
 */
export function differingMoments(databases, used) {
  // One that was added after that moment and is empty may not have been told of any.
  const told = databases.filter(
    ({ binding, moment, hasUsers }) => moment !== null || hasUsers !== 0 || used.includes(binding),
  )
  if (new Set(told.map(({ moment }) => moment)).size < 2) return undefined
  const width = Math.max(...told.map((one) => labelOf(one).length))
  return told
    .map(({ moment, ...one }) => {
      const time = moment === null ? 'before any noted time' : new Date(moment).toISOString()
      return `  ${labelOf(one).padEnd(width)}  ${time}`
    })
    .join('\n')
}

/** The name of a database for people: its binding, and its name in Cloudflare. */
export const labelOf = (/** @type {{ binding: string; name: string }} */ { binding, name }) =>
  `${binding} (${name})`
