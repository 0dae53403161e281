/**
 * `npm run deploy`: checks `wrangler.toml`, builds, notes the bookmarks to go back to, applies the migrations
 * to each remote database, deploys, makes the secret of tokens if there is none, and asks `/health`. Stops at
 * the first failure, and says how to go back. docs/operations.md says more.
 */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { listed } from './lib/databases.mjs'
import { newTokenSecret } from './lib/dev-vars.mjs'
import { Complaint, inProject, project, report } from './lib/project.mjs'
import { importSource } from './lib/sources.mjs'
import { BUILD, outputOfWrangler, readSettings, runWrangler } from './lib/wrangler.mjs'
import { databasesOf } from './lib/wrangler-toml.mjs'

const USAGE = `npm run deploy                    checks, builds, migrates, deploys, and asks /health
npm run deploy -- --dry-run       does only the steps that need no account, and prints the others
npm run deploy -- --url URL       asks /health at this address of the Worker
npm run deploy -- --wait SECONDS  waits this long for /health (120)`

/** An id of zeros in quotes: the placeholder in wrangler.toml for a resource that does not exist yet. */
const PLACEHOLDER = /^[^#]*["'][0-]{16,}["']/

/**
 * How many answers of `/health` in a row must be 200, a second apart. The version before may still answer the
 * first ones.
 */
const HEALTHY_ANSWERS = 3
const PAUSE = 1000
/** How long one answer of `/health` may take, in milliseconds. */
const ANSWER_PATIENCE = 5000

/** The bookmarks of each deployment, one line each. */
const LOG = ['.wrangler', 'deployments.log']

const bookmarkOf = (/** @type {string} */ name) => ['d1', 'time-travel', 'info', name, '--json']
const migrationOf = (/** @type {string} */ name) => ['d1', 'migrations', 'apply', name, '--remote']
const DEPLOY = ['deploy', ...BUILD]
const SECRETS = ['secret', 'list', '--format', 'json']
const PUT_SECRET = ['secret', 'put', 'TOKEN_SECRET']

/** @typedef {import('./serve/config.mjs').Settings} Settings */
/** @typedef {{ name: string; bookmark: string }} Bookmark of a database */

/** Throws if wrangler.toml still has the placeholder of a resource. */
function demandResources() {
  const lines = readFileSync(inProject('wrangler.toml'), 'utf8').split('\n')
  const placeholders = lines.flatMap((line, index) =>
    PLACEHOLDER.test(line) ? `  line ${index + 1}: ${line.trim()}` : [],
  )
  if (placeholders.length === 0) return
  throw new Complaint(
    `wrangler.toml still has placeholder ids. Create the resources first and put their ids there.\n${placeholders.join('\n')}`,
  )
}

/**
 * Throws if wrangler.toml lacks a binding that the Worker needs, a consumer for one of its queues, or the
 * cron trigger.
 */
async function demandBindings(/** @type {Settings} */ settings) {
  const { missingBindings } = await importSource(project, 'src/worker/bindings.ts')
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
 * null if there is none.
 *
 * @param {Settings} settings
 * @param {string | undefined} given
 * @returns {string | null}
 * @throws {Complaint} if it is not an address
 */
function addressOf({ routes, publicUrl }, given) {
  const [, host] =
    routes.map((pattern) => /^(?:https?:\/\/)?([^*/]+)(?:\/\*?)?$/.exec(pattern)).find((one) => one) ?? []
  const address = given ?? (host ? `https://${host}` : process.env.PUBLIC_URL || publicUrl)
  if (address === null) return null
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new Complaint(`${address} is not an address that begins with https://.`)
  return address.replace(/\/+$/, '')
}

/** The Time Travel bookmarks of the databases as they are now. Adds them to the log. */
async function noteBookmarks(/** @type {string[]} */ names) {
  const bookmarks = /** @type {Bookmark[]} */ ([])
  for (const name of names) {
    const failure = `The Time Travel bookmark of ${name} could not be read. Nothing was changed.`
    const output = await outputOfWrangler(bookmarkOf(name), failure)
    const [, bookmark] = /"bookmark":\s*"([\w-]+)"/.exec(output) ?? []
    if (bookmark === undefined) throw new Complaint(`${output}\n${failure}`)
    bookmarks.push({ name, bookmark })
  }
  const now = new Date().toISOString()
  mkdirSync(inProject('.wrangler'), { recursive: true })
  for (const { name, bookmark } of bookmarks) {
    const label = names.length === 1 ? '' : ` ${name}`
    appendFileSync(inProject(...LOG), `${now} ${bookmark}${label}\n`)
    process.stdout.write(`${bookmark}${label} (also in ${LOG.join('/')})\n`)
  }
  return bookmarks
}

/** Applies the migrations to each database. Throws with the first one that can't be migrated. */
async function migrate(/** @type {Bookmark[]} */ bookmarks) {
  for (const [index, { name }] of bookmarks.entries()) {
    const others = bookmarks.slice(index + 1).map((later) => later.name)
    const untouched =
      others.length === 0 ? '' : ` ${listed(others)} ${others.length === 1 ? 'was' : 'were'} not migrated.`
    await runWrangler(
      migrationOf(name),
      `The migrations of ${name} failed. The Worker was not deployed.${untouched} Migrations that are listed as applied above stay applied. Deploy again once the reason is gone. If the Worker cannot serve with them until then, bring ${bookmarks.length === 1 ? 'the database' : 'all databases'} back. This undoes every change since then:\n${restoring(bookmarks)}`,
    )
  }
}

/**
 * Makes the secret that signs tokens, if the Worker has none. Without it, the Worker serves everything but
 * tokens, so a failure does not stop the deployment.
 */
async function completeSecrets(/** @type {Settings} */ { hasTokenSecret }) {
  const failure =
    'The secret of user tokens could not be made, so the Worker makes no tokens. docs/configuration.md says how to set TOKEN_SECRET.'
  try {
    if (hasTokenSecret || /"TOKEN_SECRET"/.test(await outputOfWrangler(SECRETS, failure))) return
    process.stdout.write(await outputOfWrangler(PUT_SECRET, failure, newTokenSecret()))
  } catch (error) {
    report(error)
  }
}

/** The commands that bring the databases back. */
const restoring = (/** @type {Bookmark[]} */ bookmarks) =>
  bookmarks
    .map(({ name, bookmark }) => `  npx wrangler d1 time-travel restore ${name} --bookmark=${bookmark}`)
    .join('\n')

/**
 * Waits until `/health` answers 200 several times in a row.
 *
 * @param {string} address
 * @param {number} seconds
 * @returns {Promise<string | null>} its last answer if it is not healthy in time; null if it is
 */
async function healthProblem(address, seconds) {
  const deadline = performance.now() + seconds * 1000
  for (let inRow = 0; ; await sleep(PAUSE)) {
    const answer = await askHealth(address)
    inRow = answer === null ? inRow + 1 : 0
    if (inRow === HEALTHY_ANSWERS) return null
    if (answer !== null && performance.now() > deadline) return answer
  }
}

/** @returns {Promise<string | null>} the answer; null if the Worker is healthy */
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

const title = (/** @type {string} */ text) => process.stdout.write(`\n${text}\n`)

/** Waits until the deployed Worker is healthy. Throws with the way back if it is not. */
async function demandHealth(
  /** @type {string} */ address,
  /** @type {number} */ seconds,
  /** @type {Bookmark[]} */ bookmarks,
) {
  title(`Asking ${address}/health, for ${seconds} seconds at most…`)
  const problem = await healthProblem(address, seconds)
  if (problem === null) return
  const lines = [
    `The new version is deployed, but is not healthy after ${seconds} seconds. The last answer of /health:`,
    `  ${problem}`,
    '',
    'If the answer names something that you can add or repair, do so and deploy again.',
    'To go back to the version before:',
    '  npx wrangler rollback',
    `If that version's /health names a later migration, bring the ${bookmarks.length === 1 ? 'database' : 'databases'} back too.`,
    'This undoes every change since then:',
    restoring(bookmarks),
    'docs/operations.md says more.',
  ]
  throw new Complaint(lines.join('\n'))
}

async function deploy() {
  const { isDry, url, seconds } = readOptions()
  title('Checking wrangler.toml…')
  demandResources()
  const settings = await readSettings()
  await demandBindings(settings)
  const names = databasesOf(settings.databases)
  const address = addressOf(settings, url)
  title('Building the Worker…')
  await runWrangler([...DEPLOY, '--dry-run', '--outdir', 'dist'], 'The build failed. Nothing was changed.')
  if (isDry) {
    const calls = [...names.map(bookmarkOf), ...names.map(migrationOf), DEPLOY, SECRETS]
    const steps = calls.map((args) => `  wrangler ${args.join(' ')}\n`)
    const commands = [...steps, `  wrangler ${PUT_SECRET.join(' ')}, if it is not in that list\n`]
    const question = address === null ? '' : `  GET ${address}/health\n`
    process.stdout.write(
      `\nNothing was changed. A deployment would now do this:\n${commands.join('')}${question}`,
    )
    return
  }
  const isOne = names.length === 1
  title(isOne ? 'Noting the bookmark to go back to…' : 'Noting the bookmarks to go back to…')
  const bookmarks = await noteBookmarks(names)
  title(`Applying the migrations to ${isOne ? 'the remote database' : `${names.length} remote databases`}…`)
  await migrate(bookmarks)
  title('Deploying…')
  await runWrangler(
    DEPLOY,
    `The deployment failed. The migrations are already applied. Try again. If the version before cannot serve with them until then, bring ${isOne ? 'the database' : 'all databases'} back. This undoes every change since then:\n${restoring(bookmarks)}`,
  )
  title('Looking for the secret of tokens…')
  await completeSecrets(settings)
  if (address === null) {
    process.stdout.write(
      '\nLaurel is deployed. /health was not asked: wrangler.toml names no domain (`routes`), and there is no PUBLIC_URL. Without a domain from elsewhere, nobody can reach it.\n',
    )
    return
  }
  await demandHealth(address, seconds, bookmarks)
  process.stdout.write('\nLaurel is deployed, and healthy.\n')
}

/** @returns {{ isDry: boolean; url: string | undefined; seconds: number }} */
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

deploy().catch((error) => {
  report(error)
  process.exitCode = 1
})
