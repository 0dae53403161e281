/**
 * Copies a project into its own folder, so that a run of the bench neither sees nor leaves anything in the
 * repository.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtConsole } from '../../scripts/lib/console.mjs'
import { inProject } from '../../scripts/lib/project.mjs'
import { Server } from './server.mjs'

/** The files of Laurel and of the baseline. The scripts start both. */
export const OURS = [
  'package.json',
  'wrangler.toml',
  'tsconfig.json',
  'src',
  'migrations',
  'console',
  'clients',
]
const BASELINE = ['wrangler.toml', 'index.ts', 'migrations']

/**
 * Copies Laurel as it is now, so that edits during the run change nothing.
 *
 * @param {string} folder
 * @param {Record<string, string>} variables of the Worker
 * @param {{ main?: string; more?: string[]; databases?: number }} [how] `main` is the Worker's module, if it
 *   is not that of wrangler.toml, and `more` are files that it needs. `databases` is how many databases it
 *   has
 */
export const copyOurs = (folder, variables, { more = [], ...how } = {}) =>
  copy({ folder, from: inProject(), names: [...OURS, ...more], database: 'laurel', variables, ...how })

/** Copies the baseline; see `copyOurs`. */
export const copyBaseline = (/** @type {string} */ folder) =>
  copy({
    folder,
    from: inProject('bench', 'baseline'),
    names: BASELINE,
    database: 'baseline',
    variables: {},
  })

/**
 * Copies files into a folder, with the scripts that start a Worker there.
 *
 * @param {{ folder: string; from: string; names: string[]; database: string | null; variables:
 *   Record<string, string>; main?: string; databases?: number }} what `database` is the
 *   name of the first database. Its migrations are applied, unless it is null
 * @returns {Promise<Server>} not started yet, with its migrations applied
 */
export async function copy({ folder, from, names, database, variables, main, databases = 1 }) {
  mkdirSync(folder)
  for (const name of names) cpSync(join(from, name), join(folder, name), { recursive: true })
  cpSync(inProject('scripts'), join(folder, 'scripts'), { recursive: true })
  if (main !== undefined) {
    const toml = join(folder, 'wrangler.toml')
    writeFileSync(toml, readFileSync(toml, 'utf8').replace(/^main = .*$/m, `main = "${main}"`))
  }
  symlinkSync(inProject('node_modules'), join(folder, 'node_modules'), 'dir')
  // Before the start, which has a time limit. A build is kept, so the start finds it.
  if (names.includes('console')) await builtConsole(folder)
  // The copy's own scripts run wrangler in the copy's folder, in the same way as `npm start`.
  const load = (/** @type {string} */ name) => import(pathToFileURL(join(folder, 'scripts/lib', name)).href)
  const scripts = {
    wrangler: await load('wrangler.mjs'),
    processes: await load('processes.mjs'),
    variables: await load('dev-vars.mjs'),
  }
  const server = new Server({ folder, variables, port: await freePort(), scripts, databases })
  if (databases > 1) await migrateAll(load, databases)
  else if (database !== null) await server.migrate(database)
  return server
}

/** Applies all migrations to several databases. */
async function migrateAll(/** @type {(name: string) => Promise<any>} */ load, /** @type {number} */ count) {
  const { LocalDatabases } = await load('local-databases.mjs')
  const databases = new LocalDatabases(count)
  await databases.migrate()
  await databases.close()
}

/** @returns {Promise<number>} a port that is free */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
