/** Tells a script when it has to end. */
import { isatty } from 'node:tty'

/** The signals that end a process. */
export const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])

/** Signals that would end Node, or open its debugger to all users of the machine. They do nothing. */
const IGNORED = /** @type {const} */ (['SIGUSR1', 'SIGUSR2'])

/**
 * Calls `end` with the reason: for each signal that ends a process, and again and again once npm has ended.
 * Many a shell with which npm runs a script ends by a signal without passing it on, so the end of npm is the
 * end of the script. `scripts` are its names in package.json; `npx` runs scripts of packages.
 */
export function onEnding(/** @type {string[]} */ scripts, /** @type {(reason: string) => unknown} */ end) {
  // Later, a terminal that was closed is none. `nohup` and a supervisor have none.
  const hasTerminal = [0, 1, 2].some(isatty)
  for (const signal of SIGNALS) process.on(signal, () => (signal !== 'SIGHUP' || hasTerminal) && end(signal))
  for (const signal of IGNORED) process.on(signal, () => undefined)
  if (![...scripts, 'npx'].includes(process.env.npm_lifecycle_event ?? '')) return
  const parent = process.ppid
  setInterval(() => process.ppid === parent || end('npm has ended'), 200).unref()
}
