/**
 * The peer's processes: a Redis and a Node in a folder of their own. They can be stopped or killed, and
 * started again on the same state.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { freePort } from '../lib/project.mjs'
import { newRuns, Runs } from './runs.mjs'

/**
 * When Redis syncs its writes to disk: each second, which is its default, or with every write.
 * @typedef {'everysec' | 'always'} Sync
 */

/**
 * The version of the installed Redis.
 *
 * @returns {string}
 * @throws {Complaint} if there is none
 */
export function redisVersion() {
  const { error, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  if (error !== undefined) {
    throw new Complaint(
      `The comparison can't run redis-server (${error.message}). Install it with ` +
        '`apt-get install redis-server` (Debian, Ubuntu) or `brew install redis` (macOS). No service has to run.',
    )
  }
  return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
}

/** One peer: Redis stores everything in the folder, and Node answers requests. */
export class Redis extends Runs {
  /**
   * Makes the folder. Starts nothing.
   *
   * @param {string} folder
   * @param {{ key: string; sync: Sync }} options `key` must be in each request
   */
  static async create(folder, { key, sync }) {
    mkdirSync(folder)
    return new Redis({ folder, key, sync, redisPort: await freePort(), ...(await newRuns()) })
  }

  /**
   * Use {@link Redis.create}.
   *
   * @param {import('./runs.mjs').NewRuns & { folder: string; key: string; sync: Sync;
   *   redisPort: number }} how
   */
  constructor({ key, sync, redisPort, ...more }) {
    super(more)
    this.key = key
    this.sync = sync
    this.redisPort = redisPort
  }

  /** Starts both and waits until they respond. Throws a Complaint with their output. */
  async start() {
    const settings = {
      port: this.redisPort,
      bind: '127.0.0.1',
      dir: this.folder,
      appendonly: 'yes',
      appendfsync: this.sync,
      // No snapshots in addition to the log of commands. Their copies would slow Redis down now and then.
      save: '',
      // A title would overwrite the environment of the process, and with it the mark.
      'set-proc-title': 'no',
    }
    const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    this.run('redis-server', options)
    this.runNode(inProject('bench', 'peers', 'redis', 'server.mjs'), {
      args: [],
      variables: {
        PORT: String(this.port),
        REDIS_PORT: String(this.redisPort),
        API_KEY: this.key,
        TEST_CLOCK: 'on',
        NODE_ENV: 'production',
      },
    })
    await this.ready()
  }
}
