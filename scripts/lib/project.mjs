/** Where files are, and errors that end a script with a sentence instead of a stack trace. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
// All commands import this module first. Debian and Ubuntu have older versions of Node.
if (major < 20 || (major === 20 && minor < 12)) {
  process.stderr.write(`Laurel needs Node 20.12 or later. This is Node ${process.versions.node}.\n`)
  process.exit(1)
}

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

/** An error with a message that is enough for the person who runs the script. */
export class Complaint extends Error {}

/** A file of an installed package, if it is there, by its path below node_modules. */
export function installed(name = '', /** @type {string[]} */ ...path) {
  // An app has the packages that a package of its own needs beside that.
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  return folders.map((folder) => join(folder, name, ...path)).find((file) => existsSync(file))
}

/** The same. Throws a Complaint if it is not installed. */
export function toolScript(name = '', /** @type {string[]} */ ...path) {
  const script = installed(name, ...path)
  if (script === undefined) throw new Complaint(`${name} is not installed. ${INSTALL}`)
  return script
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
