/**
 * `npm start`: runs Laurel on this machine, ready to use. Needs no network.
 *
 * It completes `.dev.vars`, applies the migrations, builds the console if its sources have changed, starts
 * `wrangler dev` on PORT (8787), waits for the demo configuration and prints how to send the first event.
 * SIGINT or SIGTERM ends everything that it started.
 */
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { demandAlone, variablesFileOf } from './lib/alone.mjs'
import { builtConsole } from './lib/console.mjs'
import { formatVariables, startDev } from './lib/dev.mjs'
import { completeDevVars, readVariables } from './lib/dev-vars.mjs'
import { onEnding } from './lib/ending.mjs'
import { LocalDatabases } from './lib/local-databases.mjs'
import { Output } from './lib/output.mjs'
import { demandFree } from './lib/port.mjs'
import { endMarked, marked } from './lib/processes.mjs'
import { Complaint, inProject, makeHome, project, report } from './lib/project.mjs'
import { keepSchedule, waitForHealth } from './lib/readiness.mjs'
import { offerSignIn } from './lib/sign-in.mjs'
import { welcomeTo } from './lib/welcome.mjs'

/** How long wrangler may take to end, and killing the rest, in milliseconds: under five seconds together. */
const GRACE = 3000
const KILL_PATIENCE = 1000

const output = new Output()
const ending = new AbortController()
/** The running child process: first the migrations, then wrangler. */
let child = /** @type {import('node:child_process').ChildProcess | undefined} */ (undefined)
let variablesFile = ''

/** Ends every process that was started, then this process. A second call changes nothing. */
async function end(/** @type {number} */ code, /** @type {string} */ reason) {
  if (ending.signal.aborted) return
  ending.abort()
  if (code === 0) process.stderr.write(`Laurel stops: ${reason}.\n`)
  output.drop()
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGTERM')
    await Promise.race([once(child, 'exit'), sleep(GRACE)])
  }
  await endMarked(KILL_PATIENCE)
  if (variablesFile !== '') rmSync(variablesFile, { force: true })
  process.exit(code)
}

/** Ends with an error. One that comes while the process ends is a consequence, and is not reported. */
function fail(/** @type {unknown} */ error) {
  if (!ending.signal.aborted) report(error)
  return end(1, 'an error')
}

/** Rejects when wrangler ends, with its output. */
async function unexpectedEnd(/** @type {import('node:child_process').ChildProcess} */ wrangler) {
  const closed = once(wrangler, 'close')
  const [code, signal] = await once(wrangler, 'exit')
  // A process that wrangler leaves behind may keep its output open.
  await Promise.race([closed, sleep(500)])
  const held = output.held()
  throw new Complaint(`${held === '' ? '' : `${held}\n\n`}wrangler has ended (${signal ?? `code ${code}`}).`)
}

async function listening(/** @type {import('node:child_process').ChildProcess} */ wrangler) {
  for (;;) {
    const [message] = await once(wrangler, 'message')
    if (String(message).includes('DEV_SERVER_READY')) return
  }
}

async function start() {
  const given = completeDevVars(inProject('.dev.vars'))
  const { variables, port, databases } = await readVariables(given, process.env)
  const signIn = await offerSignIn(variables.ADMIN_API_KEY ?? '')
  const file = formatVariables({ ...variables, CONSOLE_SIGN_IN: signIn.address })
  await demandAlone()
  await demandFree(port)

  process.stdout.write('Applying the migrations…\n')
  await Promise.all([prepareDatabases(databases), prepareConsole()])
  if (ending.signal.aborted) return

  process.stdout.write('Starting the Worker…\n')
  makeHome()
  variablesFile = variablesFileOf(port)
  rmSync(variablesFile, { force: true })
  writeFileSync(variablesFile, file, { mode: 0o600 })
  const wrangler = startDev({ port, variables: variablesFile, databases })
  child = wrangler
  output.follow(wrangler)
  const ended = unexpectedEnd(wrangler)
  await Promise.race([ended, listening(wrangler).then(() => greet(port, variables, signIn.code))])
  await ended
}

/** Applies the migrations. Refuses to leave out a database that is in use. */
async function prepareDatabases(/** @type {number} */ count) {
  const databases = new LocalDatabases(count)
  child = databases.child
  await databases.demandBound()
  await databases.migrate()
  await databases.close()
}

/**
 * Builds the console if it is stale. Wrangler would do it too, but without a word. The interfaces work
 * without it, so a failure does not stop the start.
 */
async function prepareConsole() {
  try {
    await builtConsole(project, marked(process.env))
  } catch (error) {
    if (ending.signal.aborted) return
    report(error)
    process.stderr.write('Laurel starts without it.\n')
  }
}

/**
 * Waits until the Worker is ready, and prints the welcome text.
 *
 * @type {(port: number, variables: Record<string, string>, code: string) => Promise<void>}
 */
async function greet(port, variables, code) {
  const local = `http://127.0.0.1:${port}`
  /** @type {(path: string, seconds: number, send: typeof fetch) => Promise<{ status: number; text: string }>} */
  const ask = async (path, seconds, send) => {
    const answer = await send(`${local}${path}`, { signal: AbortSignal.timeout(seconds * 1000) })
    return { status: answer.status, text: await answer.text() }
  }
  // Wrangler does not call it.
  const scheduled = () =>
    ask(`/cdn-cgi/handler/scheduled?cron=${encodeURIComponent('*/5 * * * *')}`, 60, fetch)
  const say = (/** @type {string} */ problem) => ending.signal.aborted || process.stderr.write(`${problem}\n`)
  keepSchedule(scheduled, 60_000, say).catch(fail)
  await waitForHealth(() =>
    ask('/health', 5, output.fetch).catch((error) => ({ status: 'none', text: String(error) })),
  )
  if (ending.signal.aborted) return
  const text = await welcomeTo({ port, variables, code }, output.fetch)
  output.pass()
  process.stdout.write(text)
}

onEnding('start', (reason) => end(0, reason))
process.on('uncaughtException', fail)
process.on('beforeExit', () =>
  fail(new Error('The start script has nothing left to wait for, but was not asked to end.')),
)
// The reader of the output has gone, as after `npm start | head`.
process.stdout.on('error', () => end(0, 'its output was closed'))
start().catch(fail)
