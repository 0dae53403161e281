/**
 * Builds the console (`console/`) with Vite. A build is kept under the hash of all that it depends on, so it
 * is made again only when a source has changed. Projects that share `node_modules` share the builds.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hashOf } from './hash.mjs'
import { toolScript } from './project.mjs'
import { runNode } from './tools.mjs'

/** The sources of a build, below the project's folder. */
const SOURCES = ['console', 'clients/typescript', 'clients/react', 'package.json', 'package-lock.json']

/** How many builds are kept. */
const KEPT = 4

/**
 * Makes the console's files, if they are not there yet. Returns the folder with `index.html` and the files
 * that it loads, which must not be changed. Throws a Complaint with Vite's output if the build fails.
 *
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} [environment]
 */
export async function builtConsole(folder, environment = process.env) {
  const builds = join(folder, 'node_modules', '.cache', 'laurel-console')
  const target = join(builds, hashOf(folder, SOURCES).slice(0, 20))
  if (existsSync(target)) return target
  process.stderr.write('Building the console…\n')
  mkdirSync(builds, { recursive: true })
  const draft = join(builds, `draft-${process.pid}`)
  const args = [toolScript('vite', 'bin', 'vite.js'), 'build', '--outDir', draft, '--emptyOutDir']
  const failure =
    'The console could not be built. Repair the source above, run `npm install` if a package is missing, or move Laurel if its path has a # or ?.'
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
