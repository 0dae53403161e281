/**
 * Copies a project into its own folder, so that a run of the bench neither sees nor leaves anything in the
 * repository.
 */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
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
 */
export const copyOurs = (folder, variables) =>
  copy({ folder, from: inProject(), names: OURS, database: 'laurel', variables })

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
 * @param {{ folder: string; from: string; names: string[]; database: string; variables: Record<string,
 *   string> }} what
 * @returns {Promise<Server>} not started yet, with its migrations applied
 */
async function copy({ folder, from, names, database, variables }) {
  mkdirSync(folder)
  for (const name of names) cpSync(join(from, name), join(folder, name), { recursive: true })
  cpSync(inProject('scripts'), join(folder, 'scripts'), { recursive: true })
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
  const server = new Server({ folder, variables, port: await freePort(), scripts })
  await server.migrate(database)
  return server
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
