/** Tells a script when it has to end. */

/** The signals that end a process. */
export const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Calls `end` with the reason: for each signal that ends a process, and again and again once npm has ended.
 * Many a shell with which npm runs a script ends by a signal without passing it on, so the end of npm is the
 * end of the script. `script` is its name in package.json.
 */
export function onEnding(/** @type {string} */ script, /** @type {(reason: string) => unknown} */ end) {
  for (const signal of SIGNALS) process.on(signal, () => end(signal))
  if (process.env.npm_lifecycle_event !== script) return
  const parent = process.ppid
  setInterval(() => process.ppid === parent || end('npm has ended'), 200).unref()
}
