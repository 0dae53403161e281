/** The peer: a Redis that stores everything in a folder, and a Node that answers requests. */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { fetchedTool } from '../../scripts/lib/tools.mjs'
import { folder } from '../lib/bench.mjs'
import { freePort, Server } from '../lib/server.mjs'

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
  const settings = {
    ...{ port: redisPort, bind: '127.0.0.1', dir: at, appendonly: 'yes', appendfsync: sync },
    // No snapshots in addition to the log of commands. Their copies would slow Redis down now and then.
    save: '',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const variables = { PORT: String(port), REDIS_PORT: String(redisPort), API_KEY: key, TEST_CLOCK: 'on' }
  const env = { ...process.env, ...variables, PACKAGES: fetchedTool('peers'), NODE_ENV: 'production' }
  const script = inProject('bench', 'peers', 'redis', 'server.mjs')
  const commands = [
    ['redis-server', ...options],
    [process.execPath, script],
  ]
  const server = new Server({ name: `Redis, ${sync}`, folder: at, port, commands, env })
  server.key = key
  return server
}
