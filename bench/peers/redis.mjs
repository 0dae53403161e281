/** The peer: a Node that answers requests, and a Redis that stores everything in a folder. */
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
export async function redisPeer(/** @type {'everysec' | 'always'} */ sync) {
  const name = `Redis, ${sync}`
  const at = join(folder, name)
  mkdirSync(at)
  const [port, redisPort, key] = [await freePort(), await freePort(), 'a-key']
  const variables = {
    PORT: `${port}`,
    REDIS_PORT: `${redisPort}`,
    SYNC: sync,
    API_KEY: key,
    TEST_CLOCK: 'on',
  }
  const env = { ...process.env, ...variables, PACKAGES: fetchedTool('peers'), NODE_ENV: 'production' }
  const script = [inProject('bench', 'peers', 'redis', 'server.mjs')]
  const server = new Server({ name, folder: at, port, script, env })
  server.key = key
  return server
}
