/**
 * The peer's processes: a Redis and a Node in a folder of their own. They can be stopped or killed, and
 * started again on the same state.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Complaint, inProject, nodeExecutable } from '../../scripts/lib/project.mjs'
import { freePort } from '../lib/project.mjs'

/** Timeouts in milliseconds: to become ready, to end by itself, to be killed. */
const READY = 20_000
const GRACE = 3000
const KILL = 1000

/** How much output is stored for a failure, in characters. */
const KEPT = 8000

/**
 * When Redis syncs its writes to disk: each second, which is its default, or with every write.
 * @typedef {'everysec' | 'always'} Sync
 */

/** All peers of this run, so that all can be stopped. */
const peers = /** @type {Set<Redis>} */ (new Set())

let isOver = false

/** Stops all peers for good. Nothing starts after that. */
export function stopPeers() {
  isOver = true
  return Promise.all([...peers].map((peer) => peer.stop()))
}

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
export class Redis {
  #children = /** @type {import('node:child_process').ChildProcess[]} */ ([])
  #said = ''

  /**
   * Makes the folder. Starts nothing.
   *
   * @param {string} folder
   * @param {{ key: string; sync: Sync }} options `key` must be in each request
   */
  static async create(folder, { key, sync }) {
    mkdirSync(folder)
    const [port, redisPort] = [await freePort(), await freePort()]
    // Each peer imports its own copy of this module, so that it has its own mark to find its processes.
    const processes = await import(`../../scripts/lib/processes.mjs?of=${redisPort}`)
    return new Redis({ folder, key, sync, port, redisPort, processes })
  }

  /**
   * @param {{ folder: string; key: string; sync: Sync; port: number; redisPort: number; processes: any }} how
   *   use {@link Redis.create}
   */
  constructor({ folder, key, sync, port, redisPort, processes }) {
    this.folder = folder
    this.key = key
    this.sync = sync
    this.port = port
    this.redisPort = redisPort
    this.marks = processes
    peers.add(this)
  }

  /** Starts both and waits until they respond. Throws a Complaint with their output. */
  async start() {
    if (isOver) throw new Complaint('The bench is ending, so nothing is started.')
    this.#said = ''
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
    this.#run('redis-server', options, {})
    const tether = inProject('scripts', 'lib', 'tether.mjs')
    const server = inProject('bench', 'peers', 'redis', 'server.mjs')
    this.#run(nodeExecutable(), ['--import', tether, server], {
      PORT: String(this.port),
      REDIS_PORT: String(this.redisPort),
      API_KEY: this.key,
      TEST_CLOCK: 'on',
      NODE_ENV: 'production',
    })
    const deadline = performance.now() + READY
    for (;;) {
      await sleep(50)
      const isOut = this.#children.some(
        ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null,
      )
      if (isOver || isOut || performance.now() > deadline) {
        throw new Complaint(`${this.#said.trim()}\n\nThe peer in ${this.folder} does not start.`)
      }
      const url = `http://127.0.0.1:${this.port}/health`
      const answer = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => null)
      await answer?.arrayBuffer()
      if (answer?.status === 200) return
    }
  }

  /** Ends both. Their state stays. */
  async stop() {
    const ended = this.#children
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .map((child) => {
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        return exit
      })
    this.#children = []
    if (ended.length > 0) await Promise.race([Promise.all(ended), sleep(GRACE, undefined, { ref: false })])
    await this.marks.endMarked(KILL)
  }

  /** Kills both at once. Their state stays. */
  async kill() {
    this.#children = []
    await this.marks.endMarked(KILL)
  }

  /** The ids of its processes. @returns {number[]} */
  processes() {
    return this.marks.markedProcesses()
  }

  /** Runs one of the two, and stores the first part of its output. */
  #run(
    /** @type {string} */ command,
    /** @type {string[]} */ args,
    /** @type {Record<string, string>} */ environment,
  ) {
    const child = spawn(command, args, {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: this.marks.marked({ ...process.env, ...environment }),
    })
    const hear = (/** @type {string} */ part) => {
      if (this.#said.length < KEPT) this.#said += part
    }
    child.stdout?.setEncoding('utf8').on('data', hear)
    child.stderr?.setEncoding('utf8').on('data', hear)
    child.on('error', (error) => hear(error.message))
    this.#children.push(child)
  }
}
