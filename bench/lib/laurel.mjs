/**
 * Copies of Laurel that `npm run serve` runs. Each has a folder and a state of its own, so that a run neither sees nor
 * leaves anything in the repository, and edits meanwhile change nothing.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { runNode } from '../../scripts/lib/tools.mjs'
import { folder, VARIABLES } from './bench.mjs'
import { freePort, Server } from './server.mjs'

const OURS = [
  ...['package.json', 'wrangler.toml', 'tsconfig.json', 'scripts'],
  ...['src', 'migrations', 'console', 'clients'],
]
/** The files of the databases, and those of the leaderboards, in the folder of a server. */
export const DATABASES = join('data', 'objects', 'laurel-Database')
export const BOARDS = join('data', 'objects', 'laurel-LeaderboardObject')

/**
 * A server, built, and not started yet.
 *
 * @param {string} name of it, and of its folder
 * @param {{ commit?: string; variables?: Record<string, string>; databases?: number; over?: string; module?:
 *   string }} [how] `commit` is one of git instead of the files as they are now: it is run with the packages of today.
 *   `over` is a folder with another Worker and its migrations. `module` is a file of its own that the Worker imports too.
 *   Both are below `bench`
 */
export async function laurel(name, { commit, variables = {}, databases = 1, over, module } = {}) {
  const at = join(folder, name)
  mkdirSync(at)
  if (commit === undefined)
    for (const file of OURS) cpSync(inProject(file), join(at, file), { recursive: true })
  else extract(commit, at)
  if (over !== undefined) {
    rmSync(join(at, 'migrations'), { recursive: true })
    cpSync(inProject('bench', over), at, { recursive: true })
  }
  if (module !== undefined) {
    cpSync(inProject('bench', module), join(at, 'src', 'worker', 'bench.ts'))
    appendFileSync(join(at, 'src', 'worker', 'index.ts'), "import './bench'\n")
  }
  symlinkSync(inProject('node_modules'), join(at, 'node_modules'), 'dir')
  const port = await freePort()
  const env = {
    ...{ ...process.env, ...VARIABLES, ...variables },
    ...{ PORT: `${port}`, HOST: '127.0.0.1', DATABASES: `${databases}`, LAUREL_DATA: join(at, 'data') },
    // So the server ends with the bench, however that ends, as it does with npm.
    npm_lifecycle_event: 'serve',
  }
  const script = join(at, 'scripts', 'serve.mjs')
  await runNode([script, 'build'], { cwd: at, env }, `${name} cannot be built.`)
  return new Server({ name, folder: at, port, env, script: [script, '--built'] })
}

/** Writes the files of a commit to a folder. */
function extract(/** @type {string} */ commit, /** @type {string} */ at) {
  const archive = spawnSync('git', ['archive', commit, ...OURS], { cwd: inProject(), maxBuffer: 1 << 30 })
  if (archive.status !== 0) throw new Complaint(`git has no ${commit}: ${archive.stderr}`)
  spawnSync('tar', ['-x', '-C', at], { input: archive.stdout })
}
