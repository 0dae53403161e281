/**
 * Where things are, and how to end with a sentence instead of a stack.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's folder. */
export const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** A file of the project, by the parts of its path. */
export const inProject = (/** @type {string[]} */ ...parts) => join(project, ...parts)

/** The oldest Node that wrangler runs on. */
const OLDEST_NODE = 22

/** Where the project's own Node is: one of the optional dependencies in package.json, by platform. npm installs the one that fits. */
const ownNodes = () => {
  const isWindows = process.platform === 'win32'
  const platform = `${isWindows ? 'win' : process.platform}-${process.arch}`
  return [`node-${platform}`, `node-bin-${platform}`].map((name) =>
    inProject('node_modules', name, 'bin', isWindows ? 'node.exe' : 'node'),
  )
}

/** An error whose message says all that the person who runs the script needs. */
export class Complaint extends Error {}

/**
 * The Node to run the tools with: the project's own, whatever Node runs this script. On a platform that has none, the Node that runs this
 * script, if it is new enough.
 *
 * @returns {string}
 * @throws {Complaint} when there is none that is new enough
 */
export function nodeExecutable() {
  const own = ownNodes().find((path) => existsSync(path))
  if (own !== undefined) return own
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) return process.execPath
  throw new Complaint(
    `There is no Node ${OLDEST_NODE} or later: run \`npm install\`, or use a newer Node if there is none for ${process.platform}-${process.arch}.`,
  )
}

/**
 * The script of a tool in node_modules, to be run with {@link nodeExecutable}.
 *
 * @param {string[]} path path below node_modules
 * @returns {string}
 * @throws {Complaint} when it is not installed
 */
export function toolScript(...path) {
  const script = inProject('node_modules', ...path)
  if (!existsSync(script)) throw new Complaint(`${path[0]} is not installed: run \`npm install\` first.`)
  return script
}

/**
 * Ends the script with a message; the stack only where the error is not a {@link Complaint}.
 *
 * @param {unknown} error
 */
export function report(error) {
  const text =
    error instanceof Complaint ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`${text}\n`)
}
