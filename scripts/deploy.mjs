/**
 * `npm run deploy`: checks `wrangler.toml`, builds, refuses to leave out a database that is in use, notes the
 * moment to go back to, applies the migrations to each remote database, deploys, makes the secret of tokens
 * if there is none, and asks `/health`. Stops at the first failure, and says how to go back.
 * docs/operations.md says more.
 */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { demandDeployable, listed } from './lib/databases.mjs'
import { demandValid, newTokenSecret } from './lib/dev-vars.mjs'
import { askInUse, DIRECTORY_EXISTS, DIRECTORY_ROWS } from './lib/directory.mjs'
import { APPLIED_QUESTION } from './lib/migrations.mjs'
import { Complaint, inProject, project, report, runCommand } from './lib/project.mjs'
import { applyMigrations, askDatabase, importOf, questionOf } from './lib/remote-databases.mjs'
import { importSource } from './lib/sources.mjs'
import { BUILD, outputOfWrangler, readSettings, runWrangler } from './lib/wrangler.mjs'
import { databasesOf } from './lib/wrangler-toml.mjs'

const USAGE = `npm run deploy                    checks, builds, migrates, deploys, and asks /health
npm run deploy -- --dry-run       does only the steps that need no account, and prints the others
npm run deploy -- --url URL       asks /health at this address of the Worker
npm run deploy -- --wait SECONDS  waits this long for /health (120)`

/** An id of zeros in quotes: the placeholder in wrangler.toml for a resource that does not exist yet. */
const PLACEHOLDER = /^[^#]*["'][0-]{16,}["']/

/** How many answers of `/health` in a row must be 200: the first ones may come from the version before. */
const HEALTHY_ANSWERS = 3
/** Between two answers, in milliseconds. */
const PAUSE = 1000
/** How long one answer of `/health` may take, in milliseconds. */
const ANSWER_PATIENCE = 5000

/** The moment before each deployment, one line each. */
const LOG = ['.wrangler', 'deployments.log']

/** Asks a database for its time, as `--timestamp` takes it. The clock of this machine may differ from it. */
const TIME = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now') AS now"

/** A hint for a database that does not answer. */
const CHECK = 'Check `npx wrangler whoami`, and that this D1 exists.'

const bookmarkOf = (/** @type {string} */ name) => ['d1', 'time-travel', 'info', name, '--json']
/** The calls that migrate a database, for a dry run. */
const migrationsOf = (/** @type {string} */ name) => [
  questionOf(name, APPLIED_QUESTION),
  importOf(name, 'EACH_THAT_IS_MISSING.sql'),
]
const DEPLOY = ['deploy', ...BUILD]
const SECRETS = ['secret', 'list', '--format', 'json']
const PUT_SECRET = ['secret', 'put', 'TOKEN_SECRET']

/** @typedef {import('./serve/config.mjs').Settings} Settings */

/**
 * How to bring the databases back: their names, and the option of `time-travel restore` with the moment.
 *
 * @typedef {{ names: string[]; option: string }} WayBack
 */

/** Throws if wrangler.toml still has the placeholder of a resource. */
function demandResources() {
  const lines = readFileSync(inProject('wrangler.toml'), 'utf8').split('\n')
  const placeholders = lines.flatMap((line, index) =>
    PLACEHOLDER.test(line) ? `  line ${index + 1}: ${line.trim()}` : [],
  )
  if (placeholders.length === 0) return
  throw new Complaint(
    `wrangler.toml still has placeholder ids. Create the resources first and put their ids there. docs/deploying.md has the commands. \`--location\` says where the database is: near the servers that send events.\n${placeholders.join('\n')}`,
  )
}

/**
 * Throws if wrangler.toml has a variable that can't work, or lacks a binding, a consumer for one of its queues,
 * or the cron trigger.
 */
async function demandSettings(/** @type {Settings} */ settings) {
  const { missingBindings, variableErrors } = await importSource(project, 'src/platform/env.ts')
  demandValid(await variableErrors(settings.variables), 'wrangler.toml. Nothing was changed')
  const names = [
    ...settings.databases.map(({ binding }) => binding),
    ...settings.namespaces,
    settings.assets,
    ...settings.objects.map(({ name }) => name),
    ...settings.producers.map(({ binding }) => binding),
    ...settings.rateLimits.map(({ name }) => name),
  ]
  /** @type {string[]} */
  const bindings = missingBindings(Object.fromEntries(names.map((name) => [name, true])))
  const unread = settings.producers.filter(({ queue }) => settings.consumers[queue] === undefined)
  const problems = [
    ...bindings.map((name) => `the binding ${name}`),
    ...unread.map(({ queue }) => `a [[queues.consumers]] for the queue ${queue}`),
    ...(settings.crons.length === 0 ? ['the cron trigger: crons in [triggers]'] : []),
  ]
  if (problems.length === 0) return
  throw new Complaint(
    `wrangler.toml lacks:\n${problems.map((one) => `  ${one}`).join('\n')}\nAdd what the wrangler.toml of this version has. Nothing was changed.`,
  )
}

/**
 * The address at which to ask `/health`: the given one, the first route for a whole domain, or PUBLIC_URL;
 * null if there is none. Throws if it is not an address.
 */
function addressOf(/** @type {Settings} */ { routes, variables }, /** @type {string | undefined} */ given) {
  const [, host] =
    routes.map((pattern) => /^(?:https?:\/\/)?([^*/]+)(?:\/\*?)?$/.exec(pattern)).find((one) => one) ?? []
  const address = given ?? (host ? `https://${host}` : process.env.PUBLIC_URL || variables.PUBLIC_URL || null)
  if (address === null) return null
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new Complaint(`${address} is not an address that begins with https://.`)
  return address.replace(/\/+$/, '')
}

/** Throws if wrangler.toml lacks a database that is in use. */
async function demandUsedBound(/** @type {string[]} */ names) {
  const [first = ''] = names
  const failure = `${first} could not be asked which databases hold users. Nothing was changed. ${CHECK}`
  demandDeployable(await askInUse((sql) => askDatabase(first, sql, failure)), names.length)
}

/** The Time Travel bookmark of a database as it is now. */
async function readBookmark(/** @type {string} */ name) {
  const failure = `The Time Travel bookmark of ${name} could not be read. Nothing was changed. ${CHECK}`
  const output = await outputOfWrangler(bookmarkOf(name), failure)
  const [, bookmark] = /"bookmark":\s*"([\w-]+)"/.exec(output) ?? []
  if (bookmark === undefined) throw new Complaint(`${output}\n${failure}`)
  return bookmark
}

/** The time of a database in whole seconds, in UTC. */
async function readTime(/** @type {string} */ name) {
  const failure = `The time of ${name} could not be read. Nothing was changed. ${CHECK}`
  const [row] = await askDatabase(name, TIME, failure)
  const time = String(row?.now)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time)) throw new Complaint(failure)
  return time
}

/**
 * The present moment, to which the databases can be brought back. Adds it to the log. Several databases have
 * to go back to one moment, because users move between them. So it is a time then, not a bookmark of each.
 *
 * @returns {Promise<WayBack>}
 */
async function noteMoment(/** @type {string[]} */ names) {
  const bookmarks = []
  // Each one must have a bookmark, so that it can be brought back.
  for (const name of names) bookmarks.push(await readBookmark(name))
  const [first = ''] = names
  const [bookmark] = bookmarks
  const isOne = names.length === 1
  const time = isOne ? new Date().toISOString() : await readTime(first)
  mkdirSync(inProject('.wrangler'), { recursive: true })
  appendFileSync(inProject(...LOG), `${time} ${isOne ? bookmark : names.join(' ')}\n`)
  process.stdout.write(`${isOne ? bookmark : `${time} of ${listed(names)}`} (also in ${LOG.join('/')})\n`)
  return { names, option: isOne ? `--bookmark=${bookmark}` : `--timestamp=${time}` }
}

/** Applies the migrations to each database. Throws with the first one that can't be migrated. */
async function migrate(/** @type {WayBack} */ wayBack) {
  const { names } = wayBack
  for (const [index, name] of names.entries()) {
    const others = names.slice(index + 1)
    const untouched =
      others.length === 0 ? '' : ` ${listed(others)} ${others.length === 1 ? 'was' : 'were'} not migrated.`
    await applyMigrations(
      name,
      `The migrations of ${name} failed. The Worker was not deployed.${untouched} Migrations that were sent before it stay applied. Deploy again once the reason is gone. If the Worker cannot serve with them until then, bring ${names.length === 1 ? 'the database' : 'all databases'} back. This undoes every change since then:\n${restoring(wayBack)}`,
    )
  }
}

/**
 * Makes the secret that signs tokens, if the Worker has none. Without it, the Worker serves everything but
 * tokens, so a failure does not stop the deployment.
 */
async function completeSecrets(/** @type {Settings} */ { variables }) {
  const failure =
    'The secret of user tokens could not be made, so the Worker makes no tokens. docs/configuration.md says how to set TOKEN_SECRET.'
  try {
    if (variables.TOKEN_SECRET || /"TOKEN_SECRET"/.test(await outputOfWrangler(SECRETS, failure))) return
    process.stdout.write(await outputOfWrangler(PUT_SECRET, failure, newTokenSecret()))
  } catch (error) {
    report(error)
  }
}

/** The commands that bring the databases back, one right after the other. */
const restoring = (/** @type {WayBack} */ { names, option }) =>
  `${names.map((name) => `  npx wrangler d1 time-travel restore ${name} ${option}\n`).join('')}Then check out the version before, which serves, and tell it of the restore. This applies the migrations of the checkout:\n  npm run restored`

/** Waits for healthy answers in a row. Returns the last answer if they do not come in time, else null. */
async function healthProblem(/** @type {string} */ address, /** @type {number} */ seconds) {
  const deadline = performance.now() + seconds * 1000
  for (let inRow = 0; ; await sleep(PAUSE)) {
    const answer = await askHealth(address)
    inRow = answer === null ? inRow + 1 : 0
    if (inRow === HEALTHY_ANSWERS) return null
    if (answer !== null && performance.now() > deadline) return answer
  }
}

/** The answer; null if the Worker is healthy. */
async function askHealth(/** @type {string} */ address) {
  try {
    const signal = AbortSignal.timeout(ANSWER_PATIENCE)
    const answer = await fetch(`${address}/health`, { redirect: 'manual', signal })
    const text = await answer.text()
    if (answer.status === 200 && /^\{"status":\s*"ok"\}$/.test(text)) return null
    return `${answer.status} ${text.slice(0, 500)}`
  } catch (error) {
    const { message, cause } = Object(error)
    return cause === undefined ? message : `${message}: ${Object(cause).message}`
  }
}

/** An argument as one writes it in a shell. */
const shown = (/** @type {string} */ arg) => (arg.includes(' ') ? `"${arg}"` : arg)

const title = (/** @type {string} */ text) => process.stdout.write(`\n${text}\n`)

/**
 * Waits until the deployed Worker is healthy. Throws with the way back if it is not.
 *
 * @type {(address: string, seconds: number, wayBack: WayBack) => Promise<void>}
 */
async function demandHealth(address, seconds, wayBack) {
  title(`Asking ${address}/health, for ${seconds} seconds at most…`)
  const problem = await healthProblem(address, seconds)
  if (problem === null) return
  const isOne = wayBack.names.length === 1
  const lines = [
    `The new version is deployed, but is not healthy after ${seconds} seconds. The last answer of /health:`,
    `  ${problem}`,
    '',
    'If the answer names something that you can add or repair, do so and deploy again.',
    'To go back to the version before:',
    '  npx wrangler rollback',
    `If that version's /health names a later migration, bring the ${isOne ? 'database' : 'databases'} back too.`,
    'This undoes every change since then:',
    restoring(wayBack),
    ...(isOne ? [] : ['A version from before a database was added does not know the users who moved there.']),
    'docs/operations.md says more.',
  ]
  throw new Complaint(lines.join('\n'))
}

async function deploy() {
  const { isDry, url, seconds } = readOptions()
  title('Checking wrangler.toml…')
  demandResources()
  const settings = await readSettings()
  await demandSettings(settings)
  const names = databasesOf(settings.databases)
  const address = addressOf(settings, url)
  title('Building the Worker…')
  await runWrangler([...DEPLOY, '--dry-run', '--outdir', 'dist'], 'The build failed. Nothing was changed.')
  if (isDry) {
    const [first = ''] = names
    const calls = [
      ...[DIRECTORY_EXISTS, DIRECTORY_ROWS].map((sql) => questionOf(first, sql)),
      ...names.map(bookmarkOf),
      ...(names.length === 1 ? [] : [questionOf(first, TIME)]),
      ...names.flatMap(migrationsOf),
      DEPLOY,
      SECRETS,
    ]
    const steps = calls.map((args) => `  wrangler ${args.map(shown).join(' ')}\n`)
    const commands = [...steps, `  wrangler ${PUT_SECRET.join(' ')}, if it is not in that list\n`]
    const question = address === null ? '' : `  GET ${address}/health\n`
    process.stdout.write(
      `\nNothing was changed. A deployment would now do this:\n${commands.join('')}${question}`,
    )
    return
  }
  const isOne = names.length === 1
  title('Asking which databases hold users…')
  await demandUsedBound(names)
  title(isOne ? 'Noting the bookmark to go back to…' : 'Noting the time to go back to…')
  const wayBack = await noteMoment(names)
  title(`Applying the migrations to ${isOne ? 'the remote database' : `${names.length} remote databases`}…`)
  await migrate(wayBack)
  title('Deploying…')
  await runWrangler(
    DEPLOY,
    `The deployment failed. The migrations are already applied. Try again. If the version before cannot serve with them until then, bring ${isOne ? 'the database' : 'all databases'} back. This undoes every change since then:\n${restoring(wayBack)}`,
  )
  title('Looking for the secret of tokens…')
  await completeSecrets(settings)
  if (address === null) {
    process.stdout.write(
      '\nLaurel is deployed. /health was not asked: wrangler.toml names no domain (`routes`), and there is no PUBLIC_URL. Without a domain from elsewhere, nobody can reach it.\n',
    )
    return
  }
  await demandHealth(address, seconds, wayBack)
  process.stdout.write('\nLaurel is deployed, and healthy.\n')
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { 'dry-run': { type: 'boolean' }, url: { type: 'string' }, wait: { type: 'string' } },
    })
    const wait = values.wait ?? '120'
    if (!/^\d{1,4}$/.test(wait)) throw new Error(`--wait must be a whole number of seconds, not ${wait}.`)
    return { isDry: values['dry-run'] ?? false, url: values.url, seconds: Number(wait) }
  } catch (error) {
    throw new Complaint(`${Object(error).message}\n${USAGE}`)
  }
}

runCommand(deploy)
