/** The peer: a Redis that stores everything in a folder, and a Node that answers requests. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { fetchedTool } from '../../scripts/lib/tools.mjs'
import { folder } from '../lib/bench.mjs'
import { Processes } from '../lib/processes.mjs'
import { freePort, Server, spawnNode } from '../lib/server.mjs'

/** The version of the installed Redis. */
export function redisVersion() {
  const { error, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  if (error !== undefined)
    throw new Complaint(
      `The comparison can't run redis-server (${error.message}). Install it with ` +
        '`apt-get install redis-server` (Debian, Ubuntu) or `brew install redis` (macOS). No service has to run.',
    )
  return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
}

/** One peer, not started yet. Redis syncs its writes each second (`everysec`, its default) or always. */
export async function redisPeer(/** @type {'everysec' | 'always'} */ sync, /** @type {string} */ key) {
  const at = join(folder, `redis-${sync}`)
  mkdirSync(at)
  const [port, redisPort] = [await freePort(), await freePort()]
  const processes = new Processes()
  const settings = {
    ...{ port: redisPort, bind: '127.0.0.1', dir: at, appendonly: 'yes', appendfsync: sync },
    // No snapshots in addition to the log of commands. Their copies would slow Redis down now and then.
    save: '',
    // A title would overwrite the environment of the process, and with it the mark.
    'set-proc-title': 'no',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const variables = { PORT: String(port), REDIS_PORT: String(redisPort), API_KEY: key, TEST_CLOCK: 'on' }
  const fixed = { PACKAGES: fetchedTool('peers'), NODE_ENV: 'production' }
  const env = processes.marked({ ...process.env, ...variables, ...fixed })
  const script = inProject('bench', 'peers', 'redis', 'server.mjs')
  const launch = () => [
    spawn('redis-server', options, { cwd: at, stdio: ['ignore', 'pipe', 'pipe'], env }),
    spawnNode([script], at, env),
  ]
  const server = new Server({ name: `Redis, ${sync}`, folder: at, port, processes, launch })
  server.key = key
  return server
}
