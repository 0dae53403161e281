/**
 * Under npm, the end of npm is the end of a script too: many a shell that npm runs the script with ends by a
 * signal without passing it on.
 *
 * @param {string} script its name in package.json
 * @param {() => void} end is called until this process ends
 */
export function onceNpmEnded(script, end) {
  if (process.env.npm_lifecycle_event !== script) return
  const parent = process.ppid
  setInterval(() => process.ppid === parent || end(), 200).unref()
}
