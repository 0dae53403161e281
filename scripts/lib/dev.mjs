/** Runs the Worker on this machine under `wrangler dev`, as `npm start` does. */
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { marked } from './processes.mjs'
import { Complaint, inProject, nodeExecutable, project } from './project.mjs'
import { LOCAL, wranglerScript } from './wrangler.mjs'
import { withLocalDatabases, wranglerToml } from './wrangler-toml.mjs'

/** The folder with the state of D1, KV and the objects between starts. */
export const STATE = '.wrangler/state'

/** The configuration with local databases, beside `wrangler.toml` so that its paths stay right. */
const LOCAL_CONFIGURATION = 'wrangler.databases.toml'

/**
 * The variables as a file for wrangler's `--env-file`. Unlike `.dev.vars`, it expands `$NAME` unless it is
 * escaped. Throws a Complaint for a value that the format can't hold.
 */
export function formatVariables(/** @type {Record<string, string>} */ variables) {
  const lines = Object.entries(variables).map(([name, value]) => {
    const quote = ["'", '`', '"'].find((candidate) => !value.includes(candidate))
    if (quote === undefined || (quote === '"' && /\\[nr]/.test(value))) {
      throw new Complaint(`The value of ${name} has all three kinds of quotes. Use at most two of them.`)
    }
    return `${name}=${quote}${value.replaceAll('$', '\\$')}${quote}\n`
  })
  return lines.join('')
}

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
  const child = spawn(nodeExecutable(), ['--import', tether, wranglerScript(), ...args], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: marked({ ...process.env, ...LOCAL }),
  })
  child.once('exit', () => rmSync(configuration, { force: true }))
  return child
}
