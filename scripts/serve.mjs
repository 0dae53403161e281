/**
 * `npm run serve`: Laurel on one's own machine, for real use. It builds the Worker, applies the migrations,
 * runs workerd and its timer, and ends when workerd ends. `-- backup FILE` and `-- restore FILE` copy its
 * data. docs/self-hosting.md says more. `npm start` is the same with a demo, to try Laurel and to develop it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { onEnding } from './lib/ending.mjs'
import { isAnswered, listen } from './lib/port.mjs'
import {
  BUILT,
  Complaint,
  commandOf,
  INSTALL,
  inProject,
  isPackage,
  isSystemError,
  toolScript,
  wordsOf,
} from './lib/project.mjs'
import { until } from './lib/until.mjs'
import { backup, restore, snapshot } from './serve/backup.mjs'
import { classesOf, configuration, lookConfiguration } from './serve/config.mjs'
import {
  CONFIGURATION,
  CONTROL,
  callWorker,
  demandWhole,
  enterData,
  FIRST_START,
  keptTokenSecret,
  lockData,
  OBJECTS,
  PUBLIC,
  RESTORED,
  unlockData,
} from './serve/data.mjs'
import { makeDemo, readDevVars, welcomeTo } from './serve/demo.mjs'
import { Front, mostConnections } from './serve/front.mjs'
import { beQuiet, follow, say, sayServing, sayStopping, written } from './serve/log.mjs'
import { networkFault, storageFault } from './serve/machine.mjs'
import { demandAll, lookAtFiles } from './serve/whole.mjs'

/** The calls, and what each one does. The package has only a build. */
const USAGE = [
  [commandOf('start'), 'serves a demo here, to try Laurel'],
  ...(isPackage ? [] : [[commandOf('build'), 'builds only']]),
  [commandOf('serve'), isPackage ? 'serves for real use' : 'builds and serves for real use'],
  ...(isPackage ? [] : [[commandOf('serve', '--built'), 'serves what was built']]),
  [commandOf('backup', 'FILE'), 'writes all data of one moment to a new file'],
  [commandOf('restore', 'FILE'), 'brings it back into an empty LAUREL_DATA'],
  [commandOf('restore', 'FILE LATER'), 'the same, and does the deletions again that LATER lists: the folder'],
  ['', 'with the data from before the restore, or a later backup'],
]
  .map(([call = '', does]) => `${call.padEnd(40)}${does}`)
  .join('\n')

/**
 * How long, at the end, workerd may take, its death and the last lines of the log, in milliseconds. With what
 * requests under way may take (`front.mjs`), this is under five seconds, the most that the end may take.
 */
const DRAIN_PATIENCE = 500
const KILL_PATIENCE = 300
const END_PATIENCE = 4900

const MINUTE = 60_000
/** How long the Worker may take until it is healthy, in milliseconds. */
const HEALTH_PATIENCE = 2 * MINUTE
/** How often the cron trigger is called, and how soon after a failure, in milliseconds. */
const SCHEDULE = 5 * MINUTE
const AGAIN = 2000

/** Variables whose addresses may be on a private network. */
const TARGETS = ['WEBHOOK_ALLOW', 'RESEND_URL', 'EXPO_URL', 'APNS_URL', 'FCM_URL']
/** Whether the Worker may reach private addresses. */
const isPrivateAllowed = () => process.env.TEST_CLOCK === 'on' || TARGETS.some((name) => process.env[name])

/**
 * An environment variable of workerd that is 120,000 bytes long. It prevents a crash. The memory allocator of
 * workerd samples allocations, and then follows the frame pointers on the stack. Some code of workerd does
 * not keep frame pointers, so the allocator may read an address that is up to 100,000 bytes above the stack.
 * On Linux, the environment is there, so the address can be read.
 */
const ABOVE_STACK = { ABOVE_STACK: '-'.repeat(120_000) }

/** @typedef {import('node:child_process').ChildProcess} Child */
/** @typedef {import('./serve/config.mjs').Settings} Settings */

/** Builds, until the build has ended. */
let builder = /** @type {Child | undefined} */ (undefined)
let workerd = /** @type {Child | undefined} */ (undefined)
/** Resolves after the last line of workerd. */
let said = /** @type {Promise<unknown>} */ (Promise.resolve())
let front = /** @type {Front | undefined} */ (undefined)
let isEnding = false

/** Is true if workerd runs. */
const runs = () => workerd?.pid !== undefined && workerd.exitCode === null && workerd.signalCode === null

/**
 * The work of a command that does not serve. If it is interrupted, it has failed.
 *
 * @type {'build' | 'backup' | 'restore' | undefined}
 */
let job
/** Interrupts a backup or a restore, which then removes its half files. */
const interruption = new AbortController()

/** Ends by a signal, or with npm. */
function stop(/** @type {string} */ reason) {
  if (job === undefined) return end(0, reason)
  const interrupted = new Complaint(`The ${job} was interrupted (${reason}), and is not complete.`)
  if (job === 'build') return fail(interrupted)
  interruption.abort(interrupted)
}

/** Ends workerd, then this process. Requests under way are answered first, or with 503. */
async function end(/** @type {number} */ code, /** @type {string | undefined} */ reason) {
  if (isEnding) return
  isEnding = true
  // Whatever happens.
  setTimeout(() => process.exit(code), END_PATIENCE)
  try {
    if (reason !== undefined) sayStopping(`Laurel stops: ${reason}.`)
    if (builder?.pid !== undefined) process.kill(-builder.pid, 'SIGKILL')
    if (workerd !== undefined && runs()) {
      const ended = once(workerd, 'exit')
      // A backup may have stopped it, and fails now.
      workerd.kill('SIGCONT')
      await front?.end()
      workerd.kill('SIGTERM')
      await Promise.race([ended, sleep(DRAIN_PATIENCE)])
      if (runs()) workerd.kill('SIGKILL')
      await Promise.race([ended, sleep(KILL_PATIENCE)])
    }
    await Promise.race([said, sleep(KILL_PATIENCE)])
    for (const problem of unlockData()) say(`A file of the server could not be removed: ${problem}.`)
    await written(KILL_PATIENCE)
  } finally {
    process.exit(code)
  }
}

/** Ends with an error, unless the end has begun already: then the error is a consequence of that. */
function fail(/** @type {unknown} */ error) {
  if (isEnding) return undefined
  say(wordsOf(error), 'error')
  return end(1)
}

/** Builds in a process group, of which nothing is left when this process ends. */
async function buildFirst(/** @type {boolean} */ isDemo) {
  const args = [inProject('scripts', 'build.mjs'), ...(isDemo ? ['--may-lack-console'] : [])]
  builder = spawn(process.execPath, args, { detached: true, stdio: 'inherit' })
  const [code] = await once(builder, 'exit')
  builder = undefined
  if (code === 0 && !isEnding) return
  // It has said why.
  await end(1)
  await new Promise(() => {})
}

/** The path of workerd. */
const binary = () => createRequire(import.meta.url)(toolScript('workerd', 'lib', 'main.js')).default

/** Reads the build. Throws a Complaint if something of it, or workerd, is missing. */
async function readBuild() {
  try {
    binary()
    const settings = JSON.parse(readFileSync(join(BUILT, 'settings.json'), 'utf8'))
    return { settings, env: await import(pathToFileURL(join(BUILT, 'variables.mjs')).href) }
  } catch (error) {
    if (error instanceof Complaint) throw error
    const { code, message } = Object(error)
    const fact =
      code === 'ENOENT'
        ? 'Nothing was built.'
        : `What was built or installed can't be used: ${message.replace(/\.?$/, '.')}`
    const advice = `Run \`npm ci\` and \`${commandOf('build')}\` as the user of the server.`
    throw new Complaint(`${fact} ${isPackage ? INSTALL : advice}`)
  }
}

/** The names of variables that other programs take for the proxy of their own requests. */
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']

/**
 * The variables of the Worker and those of the server. Each variable of the Worker is there, since workerd
 * makes null of one that is not, and the Worker takes an empty one as none. Throws a Complaint for a value
 * that can't work.
 */
async function readVariables(/** @type {any} */ env, /** @type {string} */ source) {
  const problems = await env.variableErrors(process.env)
  if (problems.length > 0) throw new Complaint(`${problems.join('\n')}\nVariables are read from ${source}.`)
  const server = env.serverVariables(process.env)
  const entryOf = (/** @type {string} */ name) => [name, process.env[name] ?? '']
  const variables = Object.fromEntries(env.VARIABLES.map(entryOf))
  if (variables.ADMIN_API_KEY === '')
    say('ADMIN_API_KEY is not set: only admin keys that were created before open the admin interface.')
  for (const name of PROXIES)
    if (process.env[name] || process.env[name.toLowerCase()])
      say(`${name} is not used: webhooks, emails and push messages are sent directly.`)
  return { variables, server, problemsOf: env.variableErrors }
}

/**
 * A shell that becomes workerd, so the two have one process id. Before that, it starts a watch, which kills that
 * process when its own input ends: then this process has ended. The watch needs none of the secrets, and stays
 * if a signal comes to the whole group.
 */
const WATCHED = `/usr/bin/env -i /bin/sh -c '
  trap "" INT TERM HUP QUIT; read _ || kill -9 $0' $$ <&3 >/dev/null 2>&1 3<&- &
exec "$0" "$@" 3<&-`

/**
 * Starts workerd, which ends with this process however that ends. It has a process group of its own: a
 * terminal sends its signals to a whole group, and workerd would end before requests under way are answered.
 * Rejects when workerd ends.
 *
 * @type {(config: string, variables: Record<string, string>) => Promise<never>}
 */
async function startWorkerd(config, variables) {
  writeFileSync(CONFIGURATION, config, { mode: 0o600 })
  const args = ['serve', '--import-path', BUILT, CONFIGURATION, 'config']
  const child = spawn('/bin/sh', ['-c', WATCHED, binary(), ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...variables, ...(process.platform === 'linux' && ABOVE_STACK), TZ: 'UTC' },
  })
  const watched = /** @type {import('node:stream').Writable} */ (child.stdio[3])
  watched.on('error', () => undefined)
  child.once('exit', () => watched.end('over\n'))
  child.once('error', fail)
  said = follow(child)
  workerd = child
  const [code, signal] = await once(child, 'exit')
  const fact = `workerd has ended (${signal ?? `code ${code}`}), and with it the server.`
  throw new Complaint(isOpen ? fact : `${fact} ${WHY}`)
}

/** Set once the server has opened. */
let isOpen = false

/** What workerd may have said before. */
const WHY = `The lines of workerd say why:
  SQLITE_CORRUPT, SQLITE_NOTADB: a file is damaged. docs/self-hosting.md says what to do.
  SQLITE_FULL, SQLITE_IOERR_SHMSIZE: the disk is full.
  SQLITE_BUSY: another program has locked a file.
  not found: it needs glibc 2.35 or later, which Alpine does not have.
Laurel does not start.`

/** Calls the Worker as soon as it listens, and returns its answer. Throws a Complaint if it failed. */
async function ask(/** @type {string} */ path) {
  await until(() => isAnswered({ path: CONTROL }), { patience: MINUTE, pause: 10 })
  // workerd ends if it can't open some of the files.
  const { status, text } = await callWorker(path).catch(() => ({ status: 0, text: '' }))
  if (status !== 200) throw new Complaint(`The data in ${process.cwd()} can't be opened. ${WHY}`)
  return text
}

/** What each database says before the server decides to start. Until then, no other object can be called. */
async function look(/** @type {Settings} */ settings, /** @type {number} */ databases) {
  const ended = startWorkerd(lookConfiguration(settings, databases), {})
  const answer = await Promise.race([ended, ask('/')])
  workerd?.kill()
  await ended.catch(() => undefined)
  if (isEnding) await new Promise(() => {})
  rmSync(CONTROL, { force: true })
  return JSON.parse(answer)
}

const oneLine = (/** @type {string} */ text) => text.replace(/\s+/g, ' ').slice(0, 300)

/**
 * Opens the Worker as soon as it is healthy, and answers what it says then. Throws a Complaint if it can't be healthy:
 * then there is no `Retry-After`.
 */
async function openWorker() {
  let answer = { status: 0, text: '', retryAfter: /** @type {string | undefined} */ (undefined) }
  const isOpen = async () => {
    answer = await callWorker('/open')
    if (answer.status === 503 && answer.retryAfter === undefined)
      throw new Complaint(`${JSON.parse(answer.text).error}\nLaurel does not start.`)
    return answer.status === 200
  }
  if (await until(isOpen, { patience: HEALTH_PATIENCE, pause: 100 })) return answer.text
  const last = `The last response of /health: ${answer.status} ${oneLine(answer.text)}.`
  throw new Complaint(`The Worker is not ready after ${HEALTH_PATIENCE / 1000} seconds. ${last}`)
}

/** Calls the cron trigger now, and at each multiple of its time. It keeps no process alive. */
async function keepSchedule(/** @type {string} */ cron) {
  for (;;) {
    const call = callWorker(`/scheduled?cron=${encodeURIComponent(cron)}`, AbortSignal.timeout(MINUTE))
    const { status, text } = await call.catch((error) => ({ status: 'nothing', text: String(error) }))
    if (status !== 200 && !isEnding) say(`The scheduled handler answered ${status}: ${oneLine(text)}`)
    await sleep(status === 200 ? SCHEDULE - (Date.now() % SCHEDULE) : AGAIN, undefined, { ref: false })
  }
}

/**
 * Answers `backup` with a copy of the data. It is there until the caller closes the connection, even if the caller is
 * killed.
 *
 * @type {import('node:http').RequestListener}
 */
async function answerBackup(_request, response) {
  const closed = new Promise((resolve) => response.once('close', resolve))
  try {
    const copy = await front?.hold(async () => (runs() && !isEnding ? snapshot(workerd?.pid) : undefined))
    if (copy === undefined) throw new Error('The server is not ready.')
    response.write(JSON.stringify(copy))
    await closed
    // The caller may remove it at the same time. The next start removes the rest.
    await rm(copy.folder, { recursive: true, force: true }).catch(() => undefined)
  } catch (error) {
    response.writeHead(503).end(Object(error).message)
  }
}

/** Takes the code of a link to the console, with a demo. */
let signIn = /** @type {ReturnType<typeof makeDemo> | undefined} */ (undefined)

/**
 * Answers the Worker and `backup`.
 *
 * @type {(...call: Parameters<import('node:http').RequestListener>) => Promise<void>}
 */
async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://server')
  if (pathname === '/storage') response.end(await storageFault())
  else if (pathname === '/network')
    response.end(await networkFault(searchParams.get('origin') ?? '', isPrivateAllowed()))
  else if (pathname === '/sign-in') response.end(signIn?.exchange(await text(request)))
  else await answerBackup(request, response)
}

/** Serves. With a demo, it is the server of `start`. */
async function serve(/** @type {{ isBuilt: boolean; isDemo?: boolean }} */ { isBuilt, isDemo = false }) {
  // The program that reads the output has ended, as `head` does in `npm start | head`. So the server ends too.
  if (isDemo) process.stdout.on('error', () => end(0, 'its output was closed'))
  if (!isBuilt) await buildFirst(isDemo)
  beQuiet(isDemo)
  const { settings, env } = await readBuild()
  if (isDemo) readDevVars()
  const source = `the environment${isDemo ? ' and from .dev.vars' : ''}`
  const { variables, server, problemsOf } = await readVariables(env, source)
  if (isDemo) signIn = makeDemo(variables, server.PORT)
  const { PORT: port, HOST: host, DATABASES: databases } = server
  const bare = host.replace(/^\[|\]$/g, '')
  const folder = enterData(server.LAUREL_DATA)
  demandWhole(folder)
  // An error is that of one call. Then its caller gets no answer.
  await lockData(folder, (request, response) => answer(request, response).catch(() => response.destroy()))
  const trusted = server.TRUST_PROXY ?? ''
  front = new Front({ most: mostConnections(databases), trusted, to: PUBLIC })
  const command = commandOf(isDemo ? 'start' : 'serve')
  // A browser tries both addresses of localhost.
  await listen(front.server, { port, host: bare, command, others: isDemo ? ['127.0.0.1', '::1'] : [] })
  mkdirSync(OBJECTS, { recursive: true, mode: 0o700 })
  const files = await lookAtFiles()
  const madeAgain = demandAll(folder, await look(settings, databases), files, classesOf(settings))
  const secret = variables.TOKEN_SECRET || (await keptTokenSecret(problemsOf))
  const options = { variables: Object.keys(variables), isPrivateAllowed: isPrivateAllowed(), databases }
  const config = configuration(settings, options)
  const ended = startWorkerd(config, { ...variables, TOKEN_SECRET: secret })
  const ready = async () => {
    // A server that ends before it opens does all of this again.
    const found = existsSync(RESTORED) ? 'restored' : madeAgain.length > 0 ? 'lost' : ''
    const error = await ask(`/migrate?found=${found}`)
    if (error !== '') throw new Complaint(`${error}\nLaurel does not start.`)
    rmSync(FIRST_START, { force: true })
    for (const path of madeAgain) say(`${path} is missing. It is made again.`)
    for (const cron of settings.triggers?.crons ?? []) keepSchedule(cron).catch(fail)
    // What is due because of that. After a restore, these are the deletions since the backup (M3): so the server opens
    // without the users who were erased, and sends no pending message to or about them (M2).
    const isDone = async () => found === '' || (await callWorker(`/left?found=${found}`)).text === '0'
    if (!(await until(isDone, { patience: MINUTE, pause: 100 })))
      say(
        `The server still ${found === 'restored' ? 'repeats deletions' : 'makes leaderboards again'}, and opens meanwhile.`,
      )
    const hasDemo = (await openWorker()) === 'true'
    rmSync(RESTORED, { force: true })
    front?.open()
    isOpen = true
    sayServing(
      `Laurel serves http://${bare.includes(':') ? `[${bare}]` : bare}:${port} with the data in ${folder}.`,
    )
    beQuiet(false)
    if (signIn) process.stdout.write(welcomeTo(variables, port, signIn.code, hasDemo))
  }
  await Promise.race([ended, ready()])
  await ended
}

/** Makes a backup, or restores one. */
async function copy(/** @type {'backup' | 'restore'} */ command, /** @type {string[]} */ [path = '', later]) {
  job = command
  const folder = enterData(process.env.LAUREL_DATA)
  const { signal } = interruption
  try {
    await (command === 'backup' ? backup(folder, path, signal) : restore(folder, path, later, signal))
  } catch (error) {
    // The error may be a consequence.
    signal.throwIfAborted()
    if (!isSystemError(error)) throw error
    const place = command === 'backup' ? `to ${path}` : `into ${folder}`
    throw new Complaint(`The ${command} ${place} has failed: ${Object(error).message}.`)
  }
  process.stdout.write(command === 'backup' ? `The backup is in ${path}.\n` : `The data is in ${folder}.\n`)
}

async function main(/** @type {string[]} */ [command = 'serve', ...files]) {
  if (process.platform === 'win32')
    throw new Complaint('Laurel runs on Linux and macOS. On Windows, use WSL.')
  const paths = files.map((name) => resolve(process.env.INIT_CWD ?? '.', name))
  if (process.argv.includes('--help')) process.stdout.write(`${USAGE}\n`)
  else if (command === 'serve' && paths.length === 0) await serve({ isBuilt: isPackage })
  else if (command === '--built' && paths.length === 0) await serve({ isBuilt: true })
  else if (command === 'start' && paths.length === 0) await serve({ isBuilt: isPackage, isDemo: true })
  else if (command === 'build' && paths.length === 0) {
    job = command
    await buildFirst(false)
  } else if (command === 'backup' && paths.length === 1) await copy(command, paths)
  else if (command === 'restore' && (paths.length === 1 || paths.length === 2)) await copy(command, paths)
  else throw new Complaint(USAGE)
  await end(0)
}

onEnding(['start', 'serve'], stop)
process.on('uncaughtException', fail)
main(process.argv.slice(2)).catch(fail)
