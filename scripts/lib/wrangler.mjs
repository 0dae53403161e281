/** Runs wrangler with the project's Node, without a network, and apart from other projects. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { marked } from './processes.mjs'
import {
  Complaint,
  inHome,
  inProject,
  isPackage,
  nodeExecutable,
  project,
  runNode,
  toolScript,
} from './project.mjs'
import { withLocalDatabases, wranglerToml } from './wrangler-toml.mjs'

/** @typedef {import('node:child_process').StdioOptions} StdioOptions */

/** The folder with the state of D1, KV and the objects between starts. */
export const STATE = '.wrangler/state'

/** Options of the build for a deployment. It shortens names; other builds keep them for stack traces. */
export const BUILD = ['--minify']

/** Environment variables of each wrangler. */
export const QUIET = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: 'true',
}

/** The configuration with local databases, beside `wrangler.toml` so that its paths stay right. */
const LOCAL_CONFIGURATION = 'wrangler.databases.toml'

/** More environment variables of a wrangler that works only on this machine. */
export const LOCAL = {
  ...QUIET,
  // The banner asks the registry for a newer version.
  WRANGLER_HIDE_BANNER: 'true',
  // `Request.cf` is a fixed example instead of one that is fetched.
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: 'true',
  CLOUDFLARE_INCLUDE_PROCESS_ENV: 'false',
  // The trace collector and the explorer would slow down each request.
  X_LOCAL_EXPLORER: 'false',
  X_LOCAL_OBSERVABILITY: 'false',
  // Wrangler sends each log line of the Worker through the inspector, which costs a tenth of each request's
  // time. With this setting it attaches no inspector. To use the devtools, set the variable yourself (to an
  // empty text).
  VSCODE_INSPECTOR_OPTIONS: process.env.VSCODE_INSPECTOR_OPTIONS ?? '{}',
  // Projects that run at the same time don't see each other.
  WRANGLER_REGISTRY_PATH: inHome('registry'),
  CLOUDFLARE_DEV_REGISTRY_PATH: inHome('registry'),
}

/** The script of wrangler, which {@link nodeExecutable} runs. */
const script = () => toolScript('wrangler', 'bin', 'wrangler.js')

/**
 * Starts wrangler as `npm run deploy` does.
 *
 * @type {(args: string[], stdio: StdioOptions, env?: NodeJS.ProcessEnv) => import('node:child_process').ChildProcess}
 */
const spawnWrangler = (args, stdio, env) =>
  spawn(nodeExecutable(), [script(), ...args], {
    cwd: project,
    stdio,
    env: { ...process.env, ...QUIET, ...env },
  })

/**
 * Starts the Worker with the variables of a file. It sends the message `DEV_SERVER_READY` when it listens.
 *
 * @param {{ port: number; variables: string; databases?: number }} options
 */
export function startDev({ port, variables, databases = 1 }) {
  const tether = pathToFileURL(inProject('scripts', 'lib', 'tether.mjs')).href
  const args = ['dev', '--local', '--ip', '127.0.0.1', '--port', String(port), '--inspector-port', '0']
  // Locally the Worker is on localhost, even if wrangler.toml names a domain.
  args.push('--infer-origin-from-routes=false')
  args.push('--persist-to', STATE, '--env-file', variables, '--show-interactive-dev-session=false')
  const configuration = inProject(LOCAL_CONFIGURATION)
  writeFileSync(configuration, withLocalDatabases(wranglerToml(), databases))
  args.push('--config', configuration)
  const child = spawn(nodeExecutable(), ['--import', tether, script(), ...args], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: marked({ ...process.env, ...LOCAL }),
  })
  child.once('exit', () => rmSync(configuration, { force: true }))
  return child
}

/**
 * Runs wrangler in the foreground. Throws a Complaint if it fails. `failure` makes its message from the errors
 * that wrangler has shown.
 *
 * @type {(args: string[], failure: (said: string) => string, env?: NodeJS.ProcessEnv) => Promise<void>}
 */
export async function runWrangler(args, failure, env) {
  const child = spawnWrangler(args, ['inherit', 'inherit', 'pipe'], env)
  let said = ''
  child.stderr?.on('data', (part) => {
    said += part
    process.stderr.write(part)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Complaint(failure(stripVTControlCharacters(said)))
}

/** The standard output of wrangler. `failure` is the message if it fails. */
export async function outputOfWrangler(/** @type {string[]} */ args, /** @type {string} */ failure) {
  const child = spawnWrangler(args, ['inherit', 'pipe', 'ignore'])
  let output = ''
  child.stdout?.on('data', (part) => (output += part))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Complaint(failure)
  return output
}

/**
 * The settings of the Worker, as wrangler reads them from `wrangler.toml`, or has read them for the package.
 *
 * @returns {Promise<import('../serve/config.mjs').Settings>}
 * @throws {Complaint} if it cannot be read
 */
export async function readSettings() {
  if (isPackage) return JSON.parse(readFileSync(inProject('dist', 'serve', 'settings.json'), 'utf8'))
  try {
    const settings = inProject('scripts', 'serve', 'settings.mjs')
    const env = { ...process.env, ...QUIET }
    const { stdout } = await promisify(execFile)(nodeExecutable(), [settings], { env })
    return JSON.parse(stdout)
  } catch (error) {
    throw new Complaint(`wrangler.toml could not be read: ${error instanceof Error ? error.message : error}`)
  }
}

/** Builds `index.js` in the folder, without a network. Throws a Complaint with the output of wrangler. */
export async function buildWorker(/** @type {string} */ folder, /** @type {string[]} */ options = []) {
  const args = [script(), 'deploy', ...options, '--dry-run', '--outdir', folder]
  await runNode(args, { cwd: project, env: { ...process.env, ...LOCAL, CI: '1' } }, 'The build failed.')
}
