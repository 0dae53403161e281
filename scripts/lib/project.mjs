/** Where files are, and errors that end a script with a sentence instead of a stack trace. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { SIGNALS } from './ending.mjs'
import { fetchedFolder, fetchedModules } from './fetched.mjs'

/** The folder with Laurel's own files: a clone, or the package `@laurel/cli`, which has a build instead of sources. */
export const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** A file of the project, by the parts of its path. */
export const inProject = (/** @type {string[]} */ ...parts) => join(project, ...parts)

/** The folder with the build that `npm start` and `npm run serve` run. */
export const BUILT = inProject('dist', 'serve')

/** The paths of all files below a folder, which may not exist. */
export const filesIn = (/** @type {string} */ folder) =>
  (existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []).filter((name) =>
    statSync(join(folder, name), { throwIfNoEntry: false })?.isFile(),
  )

/** Whether this is the package. */
export const isPackage = JSON.parse(readFileSync(inProject('package.json'), 'utf8')).name === '@laurel/cli'

/** The folder with what belongs to the person who runs the commands, such as data. The package has its own elsewhere. */
const home = isPackage ? resolve('.laurel') : inProject('.wrangler')

/** A file of this person, by the parts of its path. */
export const inHome = (/** @type {string[]} */ ...parts) => join(home, ...parts)

/** Makes the folder of {@link inHome}, which git ignores. */
export function makeHome() {
  mkdirSync(home, { recursive: true })
  if (!existsSync(inHome('.gitignore'))) writeFileSync(inHome('.gitignore'), '*\n')
}

/** How a command is called here, in words for people: by npm in a clone, else by the package. */
export function commandOf(/** @type {string} */ name, words = '') {
  if (isPackage) return `npx @laurel/cli ${name} ${words}`.trimEnd()
  if (name === 'start') return 'npm start'
  const isPart = ['build', 'backup', 'restore'].includes(name)
  const rest = isPart ? `${name} ${words}`.trimEnd() : words
  return `npm run ${isPart ? 'serve' : name}${rest === '' ? '' : ` -- ${rest}`}`
}

/** What to do if a package is missing. */
export const INSTALL = isPackage
  ? 'Install @laurel/cli again, with its optional dependencies.'
  : 'Run `npm install --include=dev` first.'

/** The oldest Node that wrangler runs on. */
const OLDEST_NODE = 22

/** An error with a message that is enough for the person who runs the script. */
export class Complaint extends Error {}

/** Whether this Node is new enough for the tools. */
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
  throw new Complaint(
    `Use Node ${OLDEST_NODE} or later: npm has none for ${process.platform}-${process.arch}.`,
  )
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
 * The script of a tool, by its path below node_modules. Run it with {@link nodeExecutable}. Throws a
 * Complaint if it is not installed.
 */
export function toolScript(name = '', /** @type {string[]} */ ...path) {
  // An app has the packages that a package of its own needs beside that.
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  const script = folders.map((folder) => join(folder, name, ...path)).find((file) => existsSync(file))
  if (script !== undefined) return script
  if (isPackage && existsSync(inProject('scripts', 'tools', name)))
    return join(fetchedTool(name), name, ...path)
  throw new Complaint(`${name} is not installed. ${INSTALL}`)
}

/**
 * Runs a script of Node until it ends, and returns what it printed. Throws a Complaint with all of that, and
 * `failure`, if it fails.
 *
 * @type {(args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }, failure: string) => Promise<string>}
 */
export async function runNode(args, options, failure) {
  try {
    return (await promisify(execFile)(nodeExecutable(), args, options)).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = Object(error)
    throw new Complaint(`${stripVTControlCharacters(stdout + stderr).trim()}\n\n${failure}`)
  }
}

/** Is true for an error of the operating system, such as a full disk or a folder that can't be written. */
export const isSystemError = (/** @type {unknown} */ error) => Object(error).syscall !== undefined

/** An error in words. It has its stack only if it is a fault of the script. */
export function wordsOf(/** @type {unknown} */ error) {
  if (error instanceof Complaint) return error.message
  if (!isSystemError(error)) return String(Object(error).stack ?? error)
  const { message, code } = Object(error)
  // ENOENT: no such file or directory, open '/a/b'
  const [, reason, call, file] = /^\w+: (.*?), (\w+)(?: '(.*?)'(?: -> '.*')?)?$/s.exec(message) ?? []
  return reason === undefined
    ? `${message}.`
    : `Can't ${call} ${file === undefined ? 'a file' : resolve(file)}: ${reason} (${code}).`
}

/** Prints an error. */
export const report = (/** @type {unknown} */ error) => process.stderr.write(`${wordsOf(error)}\n`)
