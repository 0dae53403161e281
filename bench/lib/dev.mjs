/**
 * Runs a Worker of a folder under `wrangler dev`. It is the one way to run Laurel, earlier versions of it and the bare
 * Worker by the same means.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bindingOf, numbersTo } from '../../scripts/lib/databases.mjs'
import { runNode } from '../../scripts/lib/tools.mjs'
import { LOCAL, wranglerScript } from '../../scripts/lib/wrangler.mjs'
import { blockOf } from '../../scripts/lib/wrangler-toml.mjs'
import { Processes } from './processes.mjs'
import { freePort, Server, spawnNode } from './server.mjs'

/** The folder with the state of D1, KV and the objects between starts. */
export const STATE = join('.wrangler', 'state')

/** Environment variables of wrangler. */
const DEV = {
  ...LOCAL,
  CI: '1',
  // `Request.cf` is a fixed example instead of one that is fetched.
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  CLOUDFLARE_INCLUDE_PROCESS_ENV: 'false',
  // The trace collector and the explorer would slow down each request.
  X_LOCAL_EXPLORER: 'false',
  X_LOCAL_OBSERVABILITY: 'false',
  // Wrangler sends each log line of the Worker through the inspector, which costs a tenth of each request's time. With
  // this setting it attaches no inspector.
  VSCODE_INSPECTOR_OPTIONS: '{}',
}

/**
 * The server of a folder, migrated, and not started yet.
 *
 * @param {{ name: string; at: string; variables: Record<string, string>; databases?: number }} what
 */
export async function underDev({ name, at, variables, databases = 1 }) {
  const toml = join(at, 'wrangler.toml')
  const more = numbersTo(databases).slice(1)
  writeFileSync(toml, [readFileSync(toml, 'utf8'), ...more.map((number) => blockOf({ number }))].join('\n'))
  // Workers on this machine find each other in the folder of the registry.
  const env = { ...process.env, ...DEV, WRANGLER_REGISTRY_PATH: join(at, 'registry') }
  for (const binding of numbersTo(databases).map(bindingOf)) {
    const args = ['d1', 'migrations', 'apply', binding, '--local', '--persist-to', STATE]
    await runNode([wranglerScript(), ...args], { cwd: at, env }, `The migrations of ${binding} failed.`)
  }
  const file = join(at, 'variables.env')
  const lines = Object.entries(variables).map(([key, value]) => `${key}='${value}'\n`)
  writeFileSync(file, lines.join(''), { mode: 0o600 })
  const port = await freePort()
  const processes = new Processes()
  const args = ['dev', '--local', '--ip', '127.0.0.1', '--port', String(port), '--inspector-port', '0']
  args.push('--persist-to', STATE, '--env-file', file, '--show-interactive-dev-session=false')
  const launch = () => [spawnNode([wranglerScript(), ...args], at, processes.marked(env))]
  return new Server({ name, folder: at, port, processes, launch })
}
