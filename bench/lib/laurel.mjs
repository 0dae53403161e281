/**
 * Copies of Laurel, and of the bare Worker that it is compared with. Each has a folder and a state of its own,
 * so that a run neither sees nor leaves anything in the repository, and edits meanwhile change nothing.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtConsole } from '../../scripts/lib/console.mjs'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { folder, VARIABLES } from './bench.mjs'
import { underDev } from './dev.mjs'
import { Processes } from './processes.mjs'
import { freePort, Server, spawnNode } from './server.mjs'

const OURS = [
  ...['package.json', 'wrangler.toml', 'tsconfig.json', 'scripts'],
  ...['src', 'migrations', 'console', 'clients'],
]

/** Makes the folder of a server, with copies of files and the packages of the project. */
function newFolder(/** @type {string} */ name, /** @type {readonly string[]} */ files, from = inProject()) {
  const at = join(folder, name)
  mkdirSync(at)
  for (const file of files) cpSync(join(from, file), join(at, file), { recursive: true })
  symlinkSync(inProject('node_modules'), join(at, 'node_modules'), 'dir')
  return at
}

/**
 * Laurel as it is now, under `wrangler dev`.
 *
 * @param {string} name of its folder
 * @param {{ databases?: number; variables?: Record<string, string>; more?: string[]; toml?: (text: string) =>
 *   string }} [how] `more` are files that it needs besides. `toml` changes its wrangler.toml
 */
export async function laurel(name, { databases = 1, variables = {}, more = [], toml } = {}) {
  const at = newFolder(name, [...OURS, ...more])
  if (toml !== undefined) {
    const file = join(at, 'wrangler.toml')
    writeFileSync(file, toml(readFileSync(file, 'utf8')))
  }
  // Before the start, which has a time limit. A build is kept, so the start finds it.
  await builtConsole(at)
  return underDev({ name: 'Laurel', at, variables: { ...VARIABLES, ...variables }, databases })
}

/** Laurel as it was at a commit of git, under `wrangler dev`, with the packages of today. */
export async function laurelAt(/** @type {string} */ commit) {
  const at = newFolder(`at-${commit.replace(/\W/g, '-')}`, [])
  const archive = spawnSync('git', ['archive', commit, ...OURS], { cwd: inProject(), maxBuffer: 1 << 30 })
  if (archive.status !== 0) throw new Complaint(`git has no ${commit}: ${archive.stderr}`)
  spawnSync('tar', ['-x', '-C', at], { input: archive.stdout })
  await builtConsole(at)
  return underDev({ name: `Laurel at ${commit}`, at, variables: VARIABLES })
}

/** The bare Worker, under `wrangler dev`. */
export async function baseline() {
  const files = ['wrangler.toml', 'index.ts', 'migrations']
  const at = newFolder('baseline', files, inProject('bench', 'baseline'))
  return underDev({ name: 'The baseline', at, variables: {} })
}

/** Laurel as it is now, under `npm run serve`. */
export async function laurelServed(/** @type {Record<string, string>} */ variables = {}) {
  const at = newFolder('serve', OURS)
  const port = await freePort()
  const processes = new Processes()
  const own = { PORT: String(port), HOST: '127.0.0.1', LAUREL_DATA: join(at, 'data') }
  const env = processes.marked({ ...process.env, ...VARIABLES, ...variables, ...own })
  const run = (/** @type {string} */ command) =>
    spawnNode([join(at, 'scripts', 'serve.mjs'), command], at, env)
  const building = run('build')
  building.stdout?.resume()
  building.stderr?.resume()
  const [code] = await once(building, 'exit')
  if (code !== 0) throw new Complaint(`npm run serve does not build in ${at}.`)
  return new Server({ name: 'Laurel, serve', folder: at, port, processes, launch: () => [run('--built')] })
}
