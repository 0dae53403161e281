/**
 * Starts the real thing, `npm start` or `npm run serve`, in a folder of its own, and watches the processes that it
 * starts.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { PATIENCE } from '../patience'
import { beginClock } from './local-state'
import { descendants, stillRunning } from './processes'

const root = join(import.meta.dirname, '..', '..', '..')

/** The files that a project needs to start. */
const COPIED = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'README.md',
  'wrangler.toml',
  'tsconfig.json',
  'src',
  'migrations',
  'scripts',
  'console',
  'clients',
]

// By a path, since the tests of the clients do not know the types of the Worker's platform.
const { VARIABLES }: { VARIABLES: readonly string[] } = await import(join(root, 'src', 'platform', 'env.ts'))

/** Variables of the environment of the tests that must not reach the server. */
const OURS = [...VARIABLES, 'PORT', 'HOST', 'LAUREL_DATA', 'DATABASES', 'TRUST_PROXY', 'NODE_ENV']

export type StartOptions = {
  env?: Record<string, string>
  /**
   * The project's folder. It stays after the server stops. By default, a new folder is made, and removed at
   * the end.
   */
  folder?: string
  port?: number
  /**
   * By `npm start`, by (the default) what that calls, or by what `npm run serve -- --built` calls. The first two build
   * again what a test has changed.
   */
  by?: 'npm' | 'start' | 'serve'
  /** The id of the user and the group that run it; by default those of the tests. Only root can set it. */
  uid?: number
  /** True if it leads a process group of its own, so that `kill` is one signal to each of its groups. */
  ownGroup?: boolean
  /** True if its standard input is a terminal. This needs Python. */
  inTerminal?: boolean
  /** How many files and connections a process of it may have open at most. */
  descriptors?: number
  /**
   * What the test clock shows at the first start in the folder. By default it is not set, so real time counts. A test
   * that names dates, or that a midnight could disturb, passes SERVER_START (test/helpers/time.ts).
   */
  clock?: number
}

export type Ending = { code: number | null; leftovers: string[] }

/** A running start script, ready or not. */
export type Starting = {
  folder: string
  port: number
  pid: number
  /** The process groups that it has, if it has its own: those of its processes when it printed something. */
  groups: ReadonlySet<number>
  child: ChildProcess
  /** All its output so far, on both streams. */
  output(): string
  /** Waits until it has printed a match. Throws with the output if it ends first. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Waits until it ends. Returns which of its processes still run. */
  ended(): Promise<Ending>
  /** Sends a signal (default: SIGTERM) and waits until it ends. */
  stop(signal?: 'SIGINT' | 'SIGTERM'): Promise<Ending>
  /** Kills it and all its processes, like a machine that fails, and waits until they have ended. */
  kill(): Promise<Ending>
}

export type Server = Starting & { url: string; adminKey: string; curl: string; ask: Ask }

/** A response. Its body has no schema: the set-up checks each response against the contract. */
export type Answer = { status: number; headers: Headers; body: ReturnType<ObjectConstructor> }

/** Sends a request, with the admin key unless other headers say otherwise. */
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
  signal?: AbortSignal,
) => Promise<Answer>

const askOf =
  (url: string, adminKey: string): Ask =>
  async (method, path, body, headers, signal) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'x-api-key': adminKey, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }

/** Runs a program in a folder. Answers its exit code, and what it has printed on both streams. */
export async function run(
  folder: string,
  [program = '', ...args]: string[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const { stdout, stderr, code } = await promisify(execFile)(program, args, { cwd: folder, env })
    .then((said) => ({ ...said, code: 0 }))
    .catch((error) => Object(error))
  return { code: Number(code), said: `${stdout}${stderr}` }
}

/** Runs `npm run serve -- …` for a folder of data of a project. */
export const runServe = (folder: string, data: string, ...args: string[]) =>
  run(folder, [process.execPath, 'scripts/serve.mjs', ...args], serveEnv(folder, data))

/** The environment of `npm run serve` for a folder of data. */
export const serveEnv = (folder: string, data: string): NodeJS.ProcessEnv => ({
  ...process.env,
  INIT_CWD: folder,
  LAUREL_DATA: join(folder, data),
})

/** A new project in a temporary folder, with linked `node_modules`. */
export async function newProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-'))
  await Promise.all(COPIED.map((name) => cp(join(root, name), join(folder, name), { recursive: true })))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  // Made before the tests (build.ts). It is as good as new until a test changes a source.
  await cp(join(root, 'dist', 'serve'), join(folder, 'dist', 'serve'), { recursive: true })
  return folder
}

/** A port that no process listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Kills a process, or a group if the id is negative. It may have ended already. */
function killed(id: number): void {
  try {
    process.kill(id, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/** The admin key of servers that are told one. */
export const ADMIN_KEY = 'adm_serve.the-key-of-the-tests-and-of-nothing-else'

function commandOf(by: 'npm' | 'start' | 'serve', folder: string): [command: string, args: string[]] {
  if (by === 'npm') return ['npm', ['start']]
  if (by === 'start') return [process.execPath, ['scripts/serve.mjs', 'start']]
  const isBuilt = existsSync(join(folder, 'dist', 'serve', 'settings.json'))
  // That of the machine, since other users may not read the tests' own.
  return ['node', ['scripts/serve.mjs', ...(isBuilt ? ['--built'] : [])]]
}

/** Runs a command whose standard input is a new terminal. Its other end is open as long as the command runs. */
const IN_TERMINAL = `import os, pty, sys
outer, inner = pty.openpty()
os.set_inheritable(outer, True)
os.dup2(inner, 0)
os.execvp(sys.argv[1], sys.argv[1:])`

/** The command with the limits and the terminal that the options ask for. */
function commandWith({ by = 'start', inTerminal, descriptors }: StartOptions, folder: string): string[] {
  const [command, args] = commandOf(by, folder)
  const limit = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
  const terminal = ['python3', '-c', IN_TERMINAL]
  return [...(descriptors ? limit : []), ...(inTerminal ? terminal : []), command, ...args]
}

/** Runs the start script without waiting for anything. */
export async function launch(options: StartOptions = {}): Promise<Starting> {
  const folder = options.folder ?? (await newProject())
  const port = options.port ?? (await freePort())
  const databases = options.env?.DATABASES ?? process.env.TEST_DATABASES
  if (options.clock !== undefined) beginClock(folder, options.clock)
  const inherited = Object.entries(process.env).filter(
    ([name]) => !OURS.includes(name) && !/^(npm_|VITEST)/.test(name),
  )
  const [command = '', ...args] = commandWith(options, folder)
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: options.ownGroup ?? false,
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
    env: {
      ...Object.fromEntries(inherited),
      PORT: String(port),
      ...(databases !== undefined && { DATABASES: databases }),
      ...(options.by === 'serve' && { ADMIN_API_KEY: ADMIN_KEY }),
      ...options.env,
    },
  })
  let output = ''
  child.stdout.on('data', (part) => (output += part))
  child.stderr.on('data', (part) => (output += part))
  const closed = once(child, 'close')
  const pid = child.pid ?? 0
  // Ctrl-C in a terminal does not reach another process group. workerd has a further one (`npm run serve`).
  const groups = new Set([pid])
  const killGroup = () => {
    for (const group of groups) killed(-group)
  }
  if (options.ownGroup) {
    process.once('exit', killGroup)
    child.once('exit', () => process.off('exit', killGroup))
  }

  const ended = async () => {
    const started = descendants(pid)
    const deadline = performance.now() + PATIENCE
    await Promise.race([closed, sleep(PATIENCE, undefined, { ref: false })])
    // Under npm, the processes may end a moment after npm itself.
    while (stillRunning(started).length > 0 && performance.now() < deadline) await sleep(25)
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
    return { code: child.exitCode, leftovers: stillRunning(started) }
  }
  return {
    folder,
    port,
    pid,
    groups,
    child,
    output: () => output,
    ended,
    stop: (signal = 'SIGTERM') => {
      const ending = ended()
      child.kill(signal)
      return ending
    },
    kill: () => {
      // Kills at once: everything that a client has a response for must be stored by now.
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
        if (match !== null) {
          for (const { group } of options.ownGroup ? descendants(pid) : []) groups.add(group)
          return match
        }
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
    if (options.by === 'serve') {
      const [, url = ''] = await starting.printed(/^Laurel serves (\S+)/m)
      return { ...starting, url, adminKey: ADMIN_KEY, curl: '', ask: askOf(url, ADMIN_KEY) }
    }
    const [curl] = await starting.printed(/^curl .*(?=\n)/m)
    const [, adminKey = ''] = await starting.printed(/Admin key +(\S+)/)
    const url = `http://localhost:${starting.port}`
    return { ...starting, url, adminKey, curl, ask: askOf(url, adminKey) }
  } catch (error) {
    await starting.stop()
    throw error
  }
}
