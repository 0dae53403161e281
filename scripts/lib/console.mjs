/**
 * Builds the console (`console/`) with Vite. A build is kept under the hash of all that it depends on, so it
 * is made again only when a source has changed. Projects that share `node_modules` share the builds.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { runNode, toolScript } from './project.mjs'

/** The sources of a build, below the project's folder. */
const SOURCES = ['console', 'clients/typescript', 'clients/react', 'package.json', 'package-lock.json']

/** Folders that are no source. Generated types leave no trace in a build. */
const SKIPPED = new Set(['node_modules', 'dist', 'generated', 'test'])

/** How many builds are kept. */
const KEPT = 4

/** The files of a folder, or the file itself, sorted by path. */
function filesOf(/** @type {string} */ path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.has(name) && !name.startsWith('.'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name }) => /** @type {string[]} */ (filesOf(join(path, name))))
}

/** The hash of everything that a build depends on. */
function hashOf(/** @type {string} */ folder) {
  const hash = createHash('sha256')
  for (const file of SOURCES.flatMap((name) => filesOf(join(folder, name))))
    hash
      .update(`${file.slice(folder.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex').slice(0, 20)
}

/**
 * Makes the console's files, if they are not there yet. Returns the folder with `index.html` and the files
 * that it loads, which must not be changed. Throws a Complaint with Vite's output if the build fails.
 *
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} [environment]
 */
export async function builtConsole(folder, environment = process.env) {
  const builds = join(folder, 'node_modules', '.cache', 'laurel-console')
  const target = join(builds, hashOf(folder))
  if (existsSync(target)) return target
  process.stderr.write('Building the console…\n')
  mkdirSync(builds, { recursive: true })
  const draft = join(builds, `draft-${process.pid}`)
  const args = [toolScript('vite', 'bin', 'vite.js'), 'build', '--outDir', draft, '--emptyOutDir']
  const failure =
    'The console could not be built. Repair the source above, or run `npm install` if a package is missing.'
  // A test's environment would put the development build of React into it, which is larger and slower.
  const env = { ...environment, NODE_ENV: 'production' }
  try {
    await runNode(args, { cwd: join(folder, 'console'), env }, failure)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    // Another process may have made the same build at the same time.
    if (!existsSync(target)) throw error
  }
  removeOld(builds, target)
  return target
}

/** Removes all builds but the newest ones. */
function removeOld(/** @type {string} */ builds, /** @type {string} */ target) {
  const old = readdirSync(builds)
    .filter((name) => !name.startsWith('draft-') && join(builds, name) !== target)
    .map((name) => ({ path: join(builds, name), time: statSync(join(builds, name)).mtimeMs }))
    .toSorted((a, b) => b.time - a.time)
  for (const { path } of old.slice(KEPT - 1)) rmSync(path, { recursive: true, force: true })
}
