/** The tools of the scripts: the Node that runs them, and those that npm fetches when they are first needed. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { SIGNALS } from './ending.mjs'
import { fetchedFolder, fetchedModules } from './fetched.mjs'
import { Complaint, inProject, wordsOf } from './project.mjs'

/** The oldest Node that wrangler runs on. */
const OLDEST_NODE = 22

/** Returns true if the tools can run on the present version of Node. */
const isNew = () => Number.parseInt(process.versions.node, 10) >= OLDEST_NODE

/**
 * The `node_modules` of a tool of `scripts/tools`, which npm fetches when it is first needed. Throws a Complaint if
 * npm fails.
 */
export function fetchedTool(/** @type {string} */ name) {
  const folder = inProject('scripts', 'tools', name)
  const { description } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  try {
    return fetchedModules(folder, `npm fetches ${description} once, into ${fetchedFolder()} …`)
  } catch (error) {
    throw new Complaint(`${wordsOf(error)}\n\nnpm could not fetch ${description}.`)
  }
}

/**
 * The Node that runs the tools: the one that runs this script, if it is new enough, or one that npm fetches when it
 * is first needed. Throws a Complaint if there is none.
 */
export function nodeExecutable() {
  if (isNew()) return process.execPath
  const isWindows = process.platform === 'win32'
  const platform = `${isWindows ? 'win' : process.platform}-${process.arch}`
  const modules = fetchedTool('node')
  const own = [`node-${platform}`, `node-bin-${platform}`]
    .map((name) => join(modules, name, 'bin', isWindows ? 'node.exe' : 'node'))
    .find((path) => existsSync(path))
  if (own !== undefined) return own
  throw new Complaint(`Use Node ${OLDEST_NODE} or later: npm has none for ${platform}.`)
}

/** Runs a script of Node, which gets the signals of this process, and returns its exit code. */
export async function runInFront(
  /** @type {string[]} */ args,
  /** @type {import('node:child_process').SpawnOptions} */ options = {},
) {
  const child = spawn(nodeExecutable(), args, { stdio: 'inherit', ...options })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/** If this Node is too old for the tools, runs this process again in a newer one, and ends as that does. */
export async function demandNewNode() {
  if (!isNew()) process.exit(await runInFront([...process.execArgv, ...process.argv.slice(1)]))
}

/**
 * Runs a script of Node until it ends, and returns what it printed. Throws a Complaint with all of that, and
 * `failure`, if it fails.
 *
 * @type {(args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }, failure: string) => Promise<string>}
 */
export async function runNode(args, options, failure) {
  const node = nodeExecutable()
  try {
    return (await promisify(execFile)(node, args, options)).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = Object(error)
    throw new Complaint(`${stripVTControlCharacters(stdout + stderr).trim()}\n\n${failure}`)
  }
}
