/**
 * Packages that npm fetches when they are first needed, so that a clone is light: few need them, or only some
 * machines do. Each one is a folder of `scripts/tools` with a lockfile of its own. They are kept in a cache of the
 * user, for all clones.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { Complaint, filesIn } from './project.mjs'

/** The folder with all that was fetched. */
export const fetchedFolder = () =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'laurel', 'tools')

/** The variables of npm that say where packages come from. Others are those of the command that runs now. */
const SOURCES = /^npm_config_(registry|cache|userconfig|globalconfig|offline|prefer_offline|cafile|.*proxy)$/i

/** The environment of an npm that is not a part of the npm that runs now. */
const apart = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || SOURCES.test(name)),
  )

/** Runs npm, and shows only its errors. */
function npm(/** @type {string[]} */ args, /** @type {string} */ cwd) {
  const options = /** @type {const} */ ({ cwd, env: apart(), stdio: ['ignore', 'ignore', 'inherit'] })
  const { npm_execpath: running = '' } = process.env
  if (basename(running) === 'npm-cli.js') execFileSync(process.execPath, [running, ...args], options)
  // On Windows, npm is a script of the shell.
  else execFileSync('npm', args, { ...options, shell: process.platform === 'win32' })
}

/**
 * The `node_modules` of a folder with a `package.json` and a lockfile. npm fetches them, and says `why`, unless
 * they are there already. Processes may call it at the same time. Throws if npm fails.
 *
 * @param {string} manifest the folder
 * @param {string} why a sentence
 */
export function fetchedModules(manifest, why) {
  const files = ['package.json', 'package-lock.json', '.npmrc'].filter((file) =>
    existsSync(join(manifest, file)),
  )
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(join(manifest, file)))
  const { platform, arch } = process
  const kept = fetchedFolder()
  const name = `${basename(manifest)}-${platform}-${arch}-${hash.digest('hex').slice(0, 16)}`
  const modules = join(kept, name, 'node_modules')
  if (existsSync(modules)) return modules
  process.stderr.write(`${why}\n`)
  mkdirSync(kept, { recursive: true })
  const draft = mkdtempSync(join(kept, '.draft-'))
  try {
    for (const file of files) copyFileSync(join(manifest, file), join(draft, file))
    npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], draft)
    // npm says nothing of an optional package that it could not fetch.
    if (filesIn(join(draft, 'node_modules')).every((file) => file.startsWith('.')))
      throw new Complaint(`npm has found no package for ${platform}-${arch}, or could not fetch it.`)
    try {
      // A rename is atomic, so nobody sees a part of it.
      renameSync(draft, join(kept, name))
    } catch (error) {
      // Another process was faster.
      if (!existsSync(modules)) throw error
    }
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return modules
}
