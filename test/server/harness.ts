/**
 * Starts the real thing, `scripts/start.mjs`, in a folder of its own, and watches the processes that it starts.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PATIENCE } from '../patience'
import { descendants, stillRunning } from './processes'

const root = join(import.meta.dirname, '..', '..')

/** What a project consists of when it starts. */
const COPIED = ['package.json', '.npmrc', 'wrangler.toml', 'tsconfig.json', 'src', 'migrations', 'scripts']

/** Variables that must not leak from whoever runs the tests into the server. */
const OURS = [
  'PORT',
  'DEMO',
  'MULTI_TENANCY',
  'ADMIN_HOST',
  'ADMIN_API_KEY',
  'TEST_CLOCK',
  'RATE_LIMITS',
  'BODY_TIMEOUT',
  'WEBHOOK_TIMEOUT',
  'WEBHOOK_ALLOW',
  'PUBLIC_URL',
  'NODE_ENV',
]
/** The same of providers, which tests must not reach. */
const PROVIDERS = /^(EMAIL|RESEND|EXPO|APNS|FCM)_/

export type StartOptions = {
  env?: Record<string, string>
  /** A project's folder to start in, which stays when the server stops; without one a fresh one is made, and removed. */
  folder?: string
  port?: number
  /** By `npm start`, or (the default) by `node scripts/start.mjs`. */
  by?: 'npm' | 'node'
  /** Whether it leads a process group of its own, so that `kill` is one signal to the whole group. */
  ownGroup?: boolean
}

export type Ending = { code: number | null; leftovers: string[] }

/** A start script that runs, ready or not. */
export type Starting = {
  folder: string
  port: number
  pid: number
  child: ChildProcess
  /** All that it has printed, on both streams. */
  output(): string
  /** Waits until it has printed a match; throws with the output when it ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Waits until it ends, and says which of the processes it had started still run. */
  ended(): Promise<Ending>
  /** Sends a signal (SIGTERM) and waits until it ends. */
  stop(signal?: 'SIGINT' | 'SIGTERM'): Promise<Ending>
  /** Kills it and all that it has started, as a machine does that fails, and waits until that has ended. */
  kill(): Promise<Ending>
}

export type Server = Starting & { url: string; adminKey: string; curl: string }

/** A fresh project in a temporary folder, with linked `node_modules`. */
export async function newProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-'))
  await Promise.all(COPIED.map((name) => cp(join(root, name), join(folder, name), { recursive: true })))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  return folder
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Kills a process, or by a negative id a group, which may have ended by itself. */
function killed(id: number): void {
  try {
    process.kill(id, 'SIGKILL')
  } catch {
    // It has.
  }
}

/** Runs the start script without waiting for anything. */
export async function launch(options: StartOptions = {}): Promise<Starting> {
  const folder = options.folder ?? (await newProject())
  const port = options.port ?? (await freePort())
  const inherited = Object.entries(process.env).filter(
    ([name]) => !OURS.includes(name) && !PROVIDERS.test(name) && !/^(npm_|VITEST)/.test(name),
  )
  const [command, args] =
    options.by === 'npm'
      ? (['npm', ['start']] as const)
      : ([process.execPath, ['scripts/start.mjs']] as const)
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: options.ownGroup ?? false,
    env: { ...Object.fromEntries(inherited), PORT: String(port), ...options.env },
  })
  let output = ''
  child.stdout.on('data', (part) => (output += part))
  child.stderr.on('data', (part) => (output += part))
  const closed = once(child, 'close')
  const pid = child.pid ?? 0
  // A terminal's Ctrl-C does not reach a group of its own.
  const killGroup = () => killed(-pid)
  if (options.ownGroup) {
    process.once('exit', killGroup)
    child.once('exit', () => process.off('exit', killGroup))
  }

  const ended = async () => {
    const started = descendants(pid)
    const deadline = performance.now() + PATIENCE
    await Promise.race([closed, sleep(PATIENCE, undefined, { ref: false })])
    // Under npm the processes may end a moment after npm itself.
    while (stillRunning(started).length > 0 && performance.now() < deadline) await sleep(25)
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
    return { code: child.exitCode, leftovers: stillRunning(started) }
  }
  return {
    folder,
    port,
    pid,
    child,
    output: () => output,
    ended,
    stop: (signal = 'SIGTERM') => {
      const ending = ended()
      child.kill(signal)
      return ending
    },
    kill: () => {
      // At once: what a client was told a moment ago has to be stored by now.
      if (options.ownGroup) {
        killGroup()
        return ended()
      }
      const ending = ended()
      for (const { id } of descendants(pid)) killed(id)
      return ending
    },
    printed: async (pattern) => {
      const deadline = performance.now() + PATIENCE
      for (;;) {
        const match = pattern.exec(output)
        if (match !== null) return match
        const isOver = child.exitCode !== null || child.signalCode !== null
        if (isOver || performance.now() > deadline) {
          throw new Error(`${isOver ? 'It ended' : 'Timeout'} before it printed ${pattern}:\n${output}`)
        }
        await sleep(50)
      }
    },
  }
}

/** Starts a server and waits until it is ready. */
export async function startServer(options: StartOptions = {}): Promise<Server> {
  const starting = await launch(options)
  try {
    const [curl] = await starting.printed(/^curl .*(?=\n)/m)
    const [, adminKey = ''] = await starting.printed(/Admin key +(\S+)/)
    return { ...starting, url: `http://localhost:${starting.port}`, adminKey, curl }
  } catch (error) {
    await starting.stop()
    throw error
  }
}
