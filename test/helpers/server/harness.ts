/**
 * Starts the real thing, `npm start` or `npm run serve`, in a folder of its own, and watches the processes that it
 * starts. After the last test of a file, what still runs is stopped, and the folders are removed.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { cp, rm, symlink } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { listening } from '../listening'
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
  /** The project's folder. By default, a new one is made. */
  folder?: string
  port?: number
  /**
   * By `npm start`, by (the default) what that calls, or by what `npm run serve -- --built` calls. The first two build
   * again what a test has changed.
   */
  by?: 'npm' | 'start' | 'serve'
  /** Another command that does what `by` says. */
  command?: string[]
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

/** A command that runs, or has ended. */
export type Running = {
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

/** A running start script, ready or not. */
export type Starting = Running & { folder: string; port: number }

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

/**
 * Sends a request without `fetch`, whose answers the set-up compares with the contract. Of a stream, it reads only the
 * head. Throws if the answer breaks off.
 */
export async function askPlainly(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<Answer> {
  const isSized = body !== '' && headers['transfer-encoding'] === undefined
  const common = {
    'content-type': 'application/json',
    ...(isSized && { 'content-length': Buffer.byteLength(body) }),
  }
  const call = request(`${url}${path}`, { method, headers: { ...common, ...headers }, agent: false }).end(
    body,
  )
  const [answer] = await once(call, 'response')
  const came = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
  const type = came.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) {
    call.destroy()
    return { status: answer.statusCode, headers: came, body: null }
  }
  const said = await text(answer)
  const isJson = type.includes('json') && said !== ''
  return { status: answer.statusCode, headers: came, body: isJson ? JSON.parse(said) : said }
}

/** Runs a program in a folder. Answers its exit code, and what it has printed on both streams. */
export async function run(
  folder: string,
  [program = '', ...args]: string[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const running = promisify(execFile)(program, args, { cwd: folder, env })
  // As without a terminal.
  running.child.stdin?.end()
  const { stdout, stderr, code } = await running
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

/** The processes and folders of a test file. They are stopped and removed after its last test. */
const running = new Set<Running>()
const folders: string[] = []
afterAll(async () => {
  await Promise.all([...running].map((one) => one.stop()))
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })))
})

/** A new folder with a name that begins like this. By default, it is with the other temporary files. */
export function newFolder(name = 'laurel', parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, `${name}-`))
  folders.push(folder)
  return folder
}

/** A new project in a new folder, with linked `node_modules`. */
export async function newProject(): Promise<string> {
  const folder = newFolder()
  await Promise.all(COPIED.map((name) => cp(join(root, name), join(folder, name), { recursive: true })))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  // Made before the tests (build.ts). It is as good as new until a test changes a source.
  await cp(join(root, 'dist', 'serve'), join(folder, 'dist', 'serve'), { recursive: true })
  return folder
}

/** A port that no process listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const { port } = new URL(await listening(server))
  server.close()
  await once(server, 'close')
  return Number(port)
}

/** Sends a signal to a process, or to a group if the id is negative. It may have ended already. */
function signal(id: number, name: NodeJS.Signals): void {
  try {
    process.kill(id, name)
  } catch {
    // It has ended already.
  }
}

/** The admin key of servers that are told one. */
export const ADMIN_KEY = 'adm_serve.the-key-of-the-tests-and-of-nothing-else'

function commandOf(by: 'npm' | 'start' | 'serve', folder: string): string[] {
  if (by === 'npm') return ['npm', 'start']
  if (by === 'start') return [process.execPath, 'scripts/serve.mjs', 'start']
  const isBuilt = existsSync(join(folder, 'dist', 'serve', 'settings.json'))
  // That of the machine, since other users may not read the tests' own.
  return ['node', 'scripts/serve.mjs', ...(isBuilt ? ['--built'] : [])]
}

/** Runs a command whose standard input is a new terminal. Its other end is open as long as the command runs. */
const IN_TERMINAL = `import os, pty, sys
outer, inner = pty.openpty()
os.set_inheritable(outer, True)
os.dup2(inner, 0)
os.execvp(sys.argv[1], sys.argv[1:])`

/** The command with the limits and the terminal that the options ask for. */
function commandWith(options: StartOptions, folder: string): string[] {
  const { by = 'start', command = commandOf(by, folder), inTerminal, descriptors } = options
  const limit = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
  const terminal = ['python3', '-c', IN_TERMINAL]
  return [...(descriptors ? limit : []), ...(inTerminal ? terminal : []), ...command]
}

/** The environment of a shell: that of the tests, without what they have added or what a server would read. */
export const environment = (more: Record<string, string | undefined> = {}): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !OURS.includes(name) && !/^(npm_|VITEST)/.test(name)),
  ),
  ...more,
})

type CommandOptions = {
  cwd: string
  env: NodeJS.ProcessEnv
  ownGroup?: boolean | undefined
  uid?: number | undefined
}

/** Starts a command in a folder, without waiting for anything, and watches the processes that it starts. */
export function startCommand(
  [program = '', ...args]: string[],
  { cwd, env, ownGroup = false, uid }: CommandOptions,
): Running {
  const child = spawn(program, args, {
    cwd,
    env,
    detached: ownGroup,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  })
  let output = ''
  child.stdout.on('data', (part) => (output += part))
  child.stderr.on('data', (part) => (output += part))
  const closed = once(child, 'close')
  const pid = child.pid ?? 0
  // Ctrl-C in a terminal does not reach another process group. workerd has a further one (`npm run serve`).
  const groups = new Set([pid])
  const killGroups = () => {
    for (const group of groups) signal(-group, 'SIGKILL')
  }
  if (ownGroup) {
    process.once('exit', killGroups)
    child.once('exit', () => process.off('exit', killGroups))
  }
  const isOver = () => child.exitCode !== null || child.signalCode !== null

  const ended = async () => {
    const started = isOver() ? [] : descendants(pid)
    const deadline = performance.now() + PATIENCE
    await Promise.race([closed, sleep(PATIENCE, undefined, { ref: false })])
    // Under npm, the processes may end a moment after npm itself.
    while (stillRunning(started).length > 0 && performance.now() < deadline) await sleep(25)
    return { code: child.exitCode, leftovers: stillRunning(started) }
  }
  const started: Running = {
    pid,
    groups,
    child,
    output: () => output,
    ended,
    stop: (name = 'SIGTERM') => {
      const ending = ended()
      if (!ownGroup) child.kill(name)
      else if (!isOver()) signal(-pid, name)
      return ending
    },
    kill: () => {
      // Kills at once: everything that a client has a response for must be stored by now.
      if (ownGroup) {
        killGroups()
        return ended()
      }
      const ending = ended()
      for (const { id } of descendants(pid)) signal(id, 'SIGKILL')
      return ending
    },
    printed: async (pattern) => {
      const deadline = performance.now() + PATIENCE
      for (;;) {
        const match = pattern.exec(output)
        if (match !== null) {
          for (const { group } of ownGroup ? descendants(pid) : []) groups.add(group)
          return match
        }
        if (isOver() || performance.now() > deadline) {
          throw new Error(`${isOver() ? 'It ended' : 'Timeout'} before it printed ${pattern}:\n${output}`)
        }
        await sleep(50)
      }
    },
  }
  running.add(started)
  child.once('close', () => running.delete(started))
  return started
}

/** Runs the start script without waiting for anything. */
export async function launch(options: StartOptions = {}): Promise<Starting> {
  const folder = options.folder ?? (await newProject())
  const port = options.port ?? (await freePort())
  const databases = options.env?.DATABASES ?? process.env.TEST_DATABASES
  if (options.clock !== undefined) beginClock(folder, options.clock)
  const env = environment({
    PORT: String(port),
    ...(databases !== undefined && { DATABASES: databases }),
    ...(options.by === 'serve' && { ADMIN_API_KEY: ADMIN_KEY }),
    ...options.env,
  })
  const { ownGroup, uid } = options
  return { ...startCommand(commandWith(options, folder), { cwd: folder, env, ownGroup, uid }), folder, port }
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
