/**
 * `npm run deploy`: puts Laurel on Cloudflare, or its next version. It checks `wrangler.toml`, asks what it has to
 * know, builds, makes what the account lacks, notes the moment to go back to, migrates the databases, deploys with the
 * first secrets, and waits for `/health`. Each run goes on after the one before: it asks the account what exists. It
 * stops at the first failure, and says how to go back. docs/deploying.md and docs/operations.md say more.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import {
  Account,
  applyMigrations,
  askDatabase,
  askInUse,
  patience,
  Refusal,
  readBookmark,
  withRight,
} from './lib/cloudflare.mjs'
import { answerTo, readOptions, runCommand } from './lib/command.mjs'
import { listed } from './lib/databases.mjs'
import { Deployment, demandDeployable, namedConfig, nearestPlace, PLACES } from './lib/deployment.mjs'
import { newAdminKey, newTokenSecret } from './lib/dev-vars.mjs'
import {
  Complaint,
  commandOf,
  inHome,
  inProject,
  isPackage,
  makeHome,
  project,
  report,
  wordsOf,
} from './lib/project.mjs'
import { importVariables } from './lib/sources.mjs'
import { nodeExecutable } from './lib/tools.mjs'
import { buildWorker, QUIET, readSettings, wranglerScript } from './lib/wrangler.mjs'

const USAGE = `${commandOf('deploy', '[OPTIONS]')}
  --location weur        where a new database is: ${Object.keys(PLACES).join(', ')}
  --jurisdiction eu      instead of it: the database never leaves this region
  --domain HOST          serves on this host of your account, and not on workers.dev
  --name NAME            another deployment: its Worker and all its resources have this name (laurel)
  --subdomain NAME       the name of your account at workers.dev, if it has none
  --new-admin-key        replaces the secret ADMIN_API_KEY, and prints it
  --dry-run              only says what would be made${isPackage ? '' : '\n  --built                deploys the last build'}
  --url URL              asks /health at this address of the Worker
  --wait SECONDS         waits this long for /health (120; 300 at the first time)`

/** How many answers of `/health` in a row must be 200: the first ones may come from the version before. */
const HEALTHY_ANSWERS = 3
/** Between two answers, in milliseconds. */
const PAUSE = 1000
/** How long one answer of the Worker may take, in seconds. */
const answerPatience = () => Math.min(10, patience())
/** How long wrangler may take to upload, in seconds: it sends some megabytes, and asks many questions. */
const uploadPatience = () => 10 * patience()

/** The Worker as it is deployed, with its source map, which the package does not have. */
const BUILT = isPackage ? inHome('worker') : inProject('dist', 'deploy')
/** The moment before each deployment, one line each. */
const LOG = inHome('deployments.log')

/** Asks a database for its time, as `--timestamp` takes it. The clock of this machine may differ from it. */
const TIME = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now') AS now"

/** @typedef {import('./lib/cloudflare.mjs').Database} Database */
/** @typedef {import('./lib/cloudflare.mjs').Row} Row */
/** @typedef {ReturnType<typeof optionsOf>} Options */

/**
 * How to go back: the databases' names, the option of `time-travel restore` with the moment, and the command that
 * brings the version back.
 *
 * @typedef {{ names: string[]; option: string; version: string }} WayBack
 */

const title = (/** @type {string} */ text) => process.stdout.write(`\n${text}\n`)

/**
 * Throws if wrangler.toml has a variable that can't work, or lacks a binding, a consumer for one of its queues,
 * or the cron trigger.
 */
async function demandSettings(/** @type {Row} */ config) {
  const { missingBindings, variableErrors } = await importVariables()
  const texts = Object.entries(config.vars).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const given = { ...Object.fromEntries(texts), ADMIN_API_KEY: process.env.ADMIN_API_KEY ?? '' }
  const errors = await variableErrors(given)
  if (errors.length > 0)
    throw new Complaint(
      `${errors.join('\n')}\nVariables are read from wrangler.toml, ADMIN_API_KEY from the environment. Nothing was changed.`,
    )
  const { d1_databases, kv_namespaces, assets, durable_objects, ratelimits, queues, triggers } = config
  const { producers = [], consumers = [] } = queues
  const names = [
    ...[...d1_databases, ...kv_namespaces, ...producers].map(({ binding }) => binding),
    ...[...(durable_objects?.bindings ?? []), ...ratelimits].map(({ name }) => name),
    assets?.binding,
  ]
  /** @type {string[]} */
  const bindings = missingBindings(Object.fromEntries(names.map((name) => [name, true])))
  const unread = producers.filter(({ queue }) => consumers.every((one) => one.queue !== queue))
  const problems = [
    ...bindings.map((name) => `the binding ${name}`),
    ...unread.map(({ queue }) => `a [[queues.consumers]] for the queue ${queue}`),
    ...((triggers?.crons ?? []).length === 0 ? ['the cron trigger: crons in [triggers]'] : []),
  ]
  if (problems.length === 0) return
  throw new Complaint(
    `wrangler.toml lacks:\n${problems.map((one) => `  ${one}`).join('\n')}\nAdd what the wrangler.toml of this version has. Nothing was changed.`,
  )
}

/** Where a new database will be, as the API takes it. */
async function placeOf(/** @type {Options} */ { location, jurisdiction }) {
  if (jurisdiction !== undefined) return { jurisdiction }
  const proposed = nearestPlace()
  const places = Object.entries(PLACES).map(([key, name]) => `  ${key}  ${name}\n`)
  const reason = `The database should be near the servers that send events. It can't be moved later.\n${places.join('')}`
  const asked =
    location ?? (await answerTo(`\n${reason}Where will it be? [${proposed}, the nearest to this computer] `))
  if (asked === undefined)
    throw new Complaint(
      `${reason}Say where it will be, such as --location ${proposed}, the nearest to this computer. Nothing was changed.`,
    )
  const place = asked || proposed
  if (!(place in PLACES))
    throw new Complaint(`${reason}--location must be one of these, not ${place}. Nothing was changed.`)
  return { primary_location_hint: place }
}

/** Throws if a host can't be a domain of the Worker. @type {(account: Account, host: string, name: string) => Promise<void>} */
async function demandDomain(account, host, name) {
  // The last part may be one of Unicode, such as xn--p1ai for .рф.
  if (!/^([a-z\d]([a-z\d-]*[a-z\d])?\.)+([a-z]{2,}|xn--[a-z\d-]*[a-z\d])$/.test(host))
    throw new Complaint(
      `--domain must be a host, such as laurel.example.com, not ${host}. Nothing was changed.`,
    )
  const labels = host.split('.')
  const zones = labels.slice(1).map((_, index) => labels.slice(index).join('.'))
  let isThere = false
  for (const zone of zones)
    isThere ||= (await account.list('/zones', { name: zone, 'account.id': account.id })).length > 0
  if (!isThere)
    throw new Complaint(
      `Your account has no domain to which ${host} belongs. Add it at https://dash.cloudflare.com/${account.id}/add-site, or give the token the right \`Zone: Zone: Read\`. Nothing was changed.`,
    )
  const [other] = (await account.list('/workers/domains', { hostname: host })).filter(
    ({ service }) => service !== name,
  )
  if (other === undefined) return
  throw new Complaint(
    `${host} belongs to the Worker ${other.service}. Remove it there first. Nothing was changed.`,
  )
}

/**
 * Sets where the Worker serves: on the domain that is given, on the routes of wrangler.toml, on the domain that it
 * has, or on workers.dev. Returns its address; null if it is unknown.
 *
 * @type {(deployment: Deployment, options: Options) => Promise<string | null>}
 */
async function chooseAddress({ account, config, domains }, { domain, subdomain, isDry }) {
  if (domain !== undefined) await demandDomain(account, domain, config.name)
  const hosts = domain === undefined ? domains.map(({ hostname }) => hostname) : [domain]
  if (domain !== undefined || (config.routes ?? config.route) === undefined) {
    if (hosts.length > 0) {
      config.workers_dev = false
      config.routes = hosts.map((pattern) => ({ pattern, custom_domain: true }))
      return `https://${hosts[0]}`
    }
    if (config.workers_dev === false) return process.env.PUBLIC_URL || config.vars.PUBLIC_URL || null
    config.workers_dev = true
    const own = await workersDev(account, subdomain, isDry)
    return `https://${config.name}.${own}.workers.dev`
  }
  const routes = [config.route ?? [], config.routes ?? []]
    .flat()
    .map((route) => /^(?:https?:\/\/)?([^*/]+)(?:\/\*?)?$/.exec(route.pattern ?? route))
  const [, host] = routes.find((one) => one) ?? []
  return host ? `https://${host}` : process.env.PUBLIC_URL || config.vars.PUBLIC_URL || null
}

/** The name of the account at workers.dev. Registers it if it has none. */
async function workersDev(
  /** @type {Account} */ account,
  /** @type {string | undefined} */ given,
  /** @type {boolean} */ isDry,
) {
  const found = await account.find('/workers/subdomain')
  if (found?.subdomain) return String(found.subdomain)
  const question =
    'Your account has no name at workers.dev yet. It is part of the addresses of all its Workers.'
  const name = given ?? (isDry ? 'YOUR-ACCOUNT' : await answerTo(`\n${question}\nWhich name will it have? `))
  if (!name)
    throw new Complaint(`${question} Say which one, such as --subdomain your-company. Nothing was changed.`)
  if (!isDry) await account.ask('/workers/subdomain', { method: 'PUT', body: { subdomain: name } })
  return name
}

/** What a deployment consists of, and what of it is made now. */
function plan(
  /** @type {Deployment} */ { worker, parts, config },
  /** @type {string | null} */ address,
  /** @type {string} */ where,
) {
  const isLost = (/** @type {Row} */ { type, name }) => /plain|json/.test(type) && !(name in config.vars)
  const lost = isPackage || config.keep_vars ? [] : (worker ?? []).filter(isLost)
  const rows = [
    ...parts.map(({ kind, name, id }) => [
      kind,
      name,
      id === undefined ? `is made${kind === 'D1 database' ? where : ''}` : 'exists',
    ]),
    ['Worker', config.name, worker === undefined ? 'is made' : 'gets a new version'],
    ...lost.map(({ name }) => ['variable', name, 'is deleted: wrangler.toml does not have it']),
    ...(address === null ? [] : [['address', address, '']]),
  ]
  const width = Math.max(...rows.map(([, name = '']) => name.length))
  const lines = rows.map(([kind = '', name = '', what]) =>
    `  ${kind.padEnd(12)}  ${name.padEnd(width)}  ${what}`.trimEnd().concat('\n'),
  )
  return `${config.name} on Cloudflare:\n${lines.join('')}`
}

const COST = `This needs the plan Workers Paid, which costs $5 a month. 10 million events a month of 100,000 users are $17 in
all. docs/scale.md computes the whole bill. See your plan at https://dash.cloudflare.com/?to=/:account/workers/plans.\n\n`

const NO_DOMAIN = `\nEverybody can reach an address on workers.dev: rules of your own (WAF, Access) can't protect it, and it changes if
you ever move. Put Laurel on a domain of your account before others use it:

  ${commandOf('deploy', '--domain laurel.example.com')}\n`

/** Throws if wrangler.toml lacks a database that is in use. */
async function demandUsedBound(
  /** @type {Deployment} */ { account, databases: [first] },
  /** @type {number} */ count,
) {
  if (first === undefined) return
  try {
    demandDeployable(await askInUse((sql) => askDatabase(account, first, sql)), count)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Complaint(
      `${error.message}\n${first.name} could not be asked which databases hold users. Nothing was changed.`,
    )
  }
}

/**
 * The present moment, to which the databases can be brought back, and the version that serves. Adds both to the log.
 * Several databases have to go back to one moment, because users move between them. So it is a time then, not a
 * bookmark of each.
 *
 * @type {(deployment: Deployment) => Promise<WayBack>}
 */
async function noteMoment({ account, databases, config }) {
  const names = databases.map(({ name }) => name)
  const isOne = names.length === 1
  title(isOne ? 'Noting the bookmark to go back to…' : 'Noting the time to go back to…')
  const bookmarks = []
  // Each one must have a bookmark, so that it can be brought back.
  for (const database of databases) bookmarks.push(await readBookmark(account, database))
  const [first = { name: '', id: '' }] = databases
  const [bookmark] = bookmarks
  const [row] = isOne ? [{ now: new Date().toISOString() }] : await askDatabase(account, first, TIME)
  const time = String(row?.now)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z$/.test(time))
    throw new Complaint(`The time of ${first.name} could not be read. Nothing was changed.`)
  // Without an id, wrangler goes back to the deployment before, which may have the same code and another secret.
  const { deployments } = await account.ask(`/workers/scripts/${config.name}/deployments`)
  const parts = (deployments[0]?.versions ?? []).toSorted(
    (/** @type {Row} */ a, b) => b.percentage - a.percentage,
  )
  const id = parts[0]?.version_id ?? 'VERSION'
  makeHome()
  appendFileSync(LOG, `${time} ${id} ${isOne ? bookmark : names.join(' ')}\n`)
  const moment = isOne ? bookmark : `${time} of ${listed(names)}`
  process.stdout.write(`${moment}, and the version ${id} (also in ${relative('.', LOG)})\n`)
  const version = commandOf('wrangler', `rollback ${id} --name ${config.name}`)
  return { names, option: isOne ? `--bookmark=${bookmark}` : `--timestamp=${time}`, version }
}

/** Applies the migrations to each database. Throws with the first one that can't be migrated. */
async function migrate(
  /** @type {Deployment} */ { account, databases },
  /** @type {WayBack | undefined} */ wayBack,
) {
  for (const [index, database] of databases.entries()) {
    try {
      await applyMigrations(account, database)
    } catch (error) {
      const others = databases.slice(index + 1).map(({ name }) => name)
      const untouched =
        others.length === 0 ? '' : ` ${listed(others)} ${others.length === 1 ? 'was' : 'were'} not migrated.`
      throw new Complaint(
        `${wordsOf(error)}\nThe migrations of ${database.name} failed. The Worker was not deployed.${untouched} Migrations that were sent before it stay applied. Deploy again once the reason is gone.${undoing(wayBack)}`,
      )
    }
  }
}

/**
 * The secrets that the Worker gets with this version: those that it lacks, since what it has may be newer than the file.
 * They are in the file until a deployment has ended well, so that a run after a failure has the same ones. `key` is the
 * admin key that was made for it, in this run or before.
 *
 * @type {(deployment: Deployment, options: Options, file: string) =>
 *   Promise<{ secrets: Record<string, string>; key: string | undefined }>}
 */
async function secretsOf({ account, config, worker, isFirst }, { 'new-admin-key': isNewKey }, file) {
  const listed = worker === undefined ? [] : await account.ask(`/workers/scripts/${config.name}/secrets`)
  const known = [...Object.keys(config.vars), ...listed.map((/** @type {Row} */ { name }) => name)]
  const { TOKEN_SECRET = newTokenSecret(), ADMIN_API_KEY: before } = /** @type {Record<string, string>} */ (
    existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  )
  const hasKey = known.includes('ADMIN_API_KEY')
  const first = isFirst && !hasKey ? (before ?? (process.env.ADMIN_API_KEY || newAdminKey())) : before
  const key = isNewKey ? newAdminKey() : first
  const secrets = {
    ...(!known.includes('TOKEN_SECRET') && { TOKEN_SECRET }),
    ...(key !== undefined && (isNewKey || !hasKey) && { ADMIN_API_KEY: key }),
  }
  return { secrets, key }
}

/**
 * Hands the build to wrangler, with the secrets in the file if there are any.
 *
 * @type {(deployment: Deployment, file: string, secrets: object, wayBack: WayBack | undefined) => Promise<void>}
 */
async function upload(deployment, file, secrets, wayBack) {
  const { build: _, minify: __, keep_names: ___, ...config } = deployment.bound
  const whole = {
    ...config,
    main: `${BUILT}/index.js`,
    no_bundle: true,
    assets: {
      ...config.assets,
      directory: isPackage ? inProject('dist', 'serve', 'assets') : inProject(config.assets.directory),
    },
    // Variables that were set in the dashboard stay: the package has no file for them.
    ...(isPackage && { keep_vars: true }),
  }
  const configuration = deployment.fileOf('configuration')
  writeFileSync(configuration, JSON.stringify(whole, null, 2))
  // Otherwise wrangler would take CLOUDFLARE_ENV from .env, and deploy another Worker.
  const args = ['deploy', '--config', configuration, '--env=']
  if (Object.keys(secrets).length > 0) {
    writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 })
    args.push('--secrets-file', file)
  }
  const result = deployment.fileOf('result')
  rmSync(result, { force: true })
  const isAsked = process.stdin.isTTY && process.stdout.isTTY
  const output = isAsked ? { WRANGLER_OUTPUT_FILE_PATH: result } : {}
  const child = spawn(nodeExecutable(), [wranglerScript(), ...args], {
    cwd: project,
    stdio: ['inherit', 'inherit', 'pipe'],
    timeout: uploadPatience() * 1000,
    env: { ...process.env, ...QUIET, ...output, CLOUDFLARE_ACCOUNT_ID: deployment.account.id },
  })
  child.stderr.pipe(process.stderr)
  const [colored, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
  // At a terminal, wrangler may ask whether to go on. If the answer is no, it still ends with 0.
  const isTold = isAsked && code === 0 && readFileSync(result, 'utf8').includes('"version_id":null')
  if (code === 0 && !isTold) return
  const said = stripVTControlCharacters(colored)
  const [, path = '/workers/'] = /Cloudflare API \((\S+)\) failed/.exec(said) ?? []
  const right = /\[code: (?:10000|10023|9109|7403)\]/.test(said) ? `${withRight(path)}\n` : ''
  const late = signal === 'SIGTERM' ? `wrangler did not end within ${uploadPatience()} seconds.\n` : ''
  const told = isTold ? 'wrangler was told not to go on.\n' : late
  throw new Complaint(
    `${told}${right}The deployment failed. The migrations are already applied. Run this again: it goes on from here.${undoing(wayBack)}`,
  )
}

/** What to do if the migrations are applied and the new version is not deployed. Nothing at the first deployment. */
const undoing = (/** @type {WayBack | undefined} */ wayBack) =>
  wayBack === undefined
    ? ''
    : ` If the version before cannot serve with them until then, bring ${wayBack.names.length === 1 ? 'the database' : 'all databases'} back. This undoes every change since then:\n${restoring(wayBack)}\n${EARLIER}`

/** After a deployment that failed, the next one notes the broken version. So what the first one has noted counts. */
const EARLIER = `If deployments before this one have failed too, go back to what ${relative('.', LOG)} has of the first of them.`

/** The commands that bring the databases back, one right after the other. */
const restoring = (/** @type {WayBack} */ { names, option }) =>
  `${names.map((name) => `  ${commandOf('wrangler', `d1 time-travel restore ${name} ${option}`)}\n`).join('')}Then ${isPackage ? 'take the version before (npx @laurel/cli@VERSION)' : 'check out the version before'}, which serves, and tell it of the restore. This applies its migrations:\n  ${commandOf('restored')}`

/** The answer of `/health`; null if the Worker is healthy. */
async function askHealth(/** @type {string} */ address) {
  try {
    const signal = AbortSignal.timeout(answerPatience() * 1000)
    const answer = await fetch(`${address}/health`, { redirect: 'manual', signal })
    const text = await answer.text()
    if (answer.status === 200 && /^\{"status":\s*"ok"\}$/.test(text)) return null
    return `${answer.status} ${text.slice(0, 500)}`
  } catch (error) {
    return failureOf(error)
  }
}

/** Why the Worker gave no answer. */
function failureOf(/** @type {unknown} */ error) {
  const { name, message, cause } = Object(error)
  if (name === 'TimeoutError') return `no answer within ${answerPatience()} seconds`
  return cause === undefined ? message : `${message}: ${Object(cause).message}`
}

/**
 * Waits until the deployed Worker is healthy, for some answers in a row. Throws with the way back if it is not.
 *
 * @type {(address: string, seconds: number, wayBack: WayBack | undefined) => Promise<void>}
 */
async function demandHealth(address, seconds, wayBack) {
  title(`Asking ${address}/health, for ${seconds} seconds at most…`)
  const deadline = performance.now() + seconds * 1000
  let problem = await askHealth(address)
  for (let inRow = 0; problem === null || performance.now() <= deadline; problem = await askHealth(address)) {
    inRow = problem === null ? inRow + 1 : 0
    if (inRow === HEALTHY_ANSWERS) return
    await sleep(PAUSE)
  }
  const [base, others] =
    wayBack?.names.length === 1
      ? ['database', '']
      : ['databases', '\nA version from before a database was added does not know the users who moved there.']
  const next =
    wayBack === undefined
      ? 'A new domain may need some minutes. Deploy again then: it goes on from here, and prints the admin key.'
      : `To go back to the version before:
  ${wayBack.version}
If that version's /health names a later migration, bring the ${base} back too.
This undoes every change since then:
${restoring(wayBack)}
${EARLIER}${others}`
  throw new Complaint(`The new version is deployed, but is not healthy after ${seconds} seconds. The last answer of /health:
  ${problem}

If the answer names something that you can add or repair, do so and deploy again.
${next}
docs/operations.md says more.`)
}

/** Another machine may have replaced the key. */
const UNKNOWN_KEY = `Laurel does not take the admin key that was made here. If nobody has the one that it takes, replace it: ${commandOf('deploy', '--new-admin-key')}`

/**
 * A link that signs in to the console, once: it has an admin key of its own, which the console replaces as soon as
 * it opens. Null if the key can't be made. Undefined if the Worker does not know the admin key, and this run has not set
 * it (`isNew`): just after that, the version before may still answer.
 *
 * @type {(asked: string, shown: string, adminKey: string, isNew: boolean) => Promise<string | null | undefined>}
 */
async function linkTo(asked, shown, adminKey, isNew) {
  try {
    const answer = await fetch(`${asked}/admin/v1/admin-api-keys`, {
      method: 'POST',
      headers: { 'X-API-KEY': adminKey, 'Content-Type': 'application/json' },
      body: JSON.stringify([{ name: 'Console link of npm run deploy' }]),
      signal: AbortSignal.timeout(answerPatience() * 1000),
    })
    if (answer.status === 401 && !isNew) return void report(new Complaint(UNKNOWN_KEY))
    if (answer.status !== 201) throw new Complaint(`Laurel answered ${answer.status}`)
    const { created } = await answer.json()
    return `${shown}/console#code=${created[0].id}:${created[0].key}`
  } catch (error) {
    const fact = `The link to the console could not be made: ${failureOf(error)}.`
    report(new Complaint(`${fact} Sign in there with the admin key.`))
    return null
  }
}

/**
 * What is printed at the end. `key` is the first admin key if it was set in this run.
 *
 * @type {(address: string, key: string | undefined, link: string | null, isPublic: boolean) => string}
 */
function farewell(address, key, link, isPublic) {
  const metric = `curl -sS ${address}/admin/v1/metrics -H 'X-API-KEY: ${key}' -H 'Content-Type: application/json' -d '[{"key": "lessons", "name": "Lessons completed"}]'`
  return `
Laurel is deployed, and healthy.

  Address    ${address}
  Console    ${address}/console
  Reference  ${address}/docs
${key === undefined ? '' : `  Admin key  ${key}  (it is shown only now: keep it)\n`}${link === null ? '' : `\nOpen the console, signed in (the link works once):\n\n${link}\n`}${
  isPublic ? NO_DOMAIN : ''
}${key === undefined ? '' : `\nNext, create the first metric:\n\n${metric}\n`}`
}

/** Makes the Worker and the console. All questions were asked before: this takes a while. */
async function build(/** @type {Options} */ { built }) {
  if (isPackage) {
    makeHome()
    cpSync(inProject('dist', 'serve', 'laurel.js'), `${BUILT}/index.js`)
  } else if (!built || !existsSync(`${BUILT}/index.js`)) {
    title('Building the Worker and the console…')
    await buildWorker(BUILT)
  }
}

async function deploy() {
  const options = optionsOf()
  title('Checking the settings…')
  const config = namedConfig(await readSettings(), options.name)
  await demandSettings(config)
  title('Asking the account what it has…')
  const deployment = await new Deployment(await Account.open(config.account_id), config).look()
  const { missing } = deployment
  if (deployment.isFirst) process.stdout.write(COST)
  const place =
    missing.some(({ kind }) => kind === 'D1 database') && !options.isDry ? await placeOf(options) : {}
  const address = await chooseAddress(deployment, options)
  const [where = options.location ?? options.jurisdiction] = Object.values(place)
  process.stdout.write(plan(deployment, address, where ? `, in ${where}` : ''))
  if (options.isDry) {
    process.stdout.write('\nNothing was changed. Without --dry-run, this would be done now.\n')
    return
  }
  await demandUsedBound(deployment, config.d1_databases.length)
  await build(options)
  for (const part of missing) {
    title(`Making the ${part.kind} ${part.name}…`)
    await deployment.make(part, place)
  }
  const wayBack = deployment.isFirst ? undefined : await noteMoment(deployment)
  title(`Applying the migrations to ${listed(deployment.databases.map(({ name }) => name))}…`)
  await migrate(deployment, wayBack)

  title('Deploying…')
  const file = deployment.fileOf('secrets')
  const { secrets, key: made } = await secretsOf(deployment, options, file)
  await upload(deployment, file, secrets, wayBack)
  // Who gave a key has it.
  const key = made === process.env.ADMIN_API_KEY ? undefined : made
  await finish(deployment, { address, key, isNew: 'ADMIN_API_KEY' in secrets, file, wayBack }, options)
}

/**
 * Waits until the Worker is healthy, and says how to use it.
 *
 * @param {Deployment} deployment
 * @param {{ address: string | null; key: string | undefined; isNew: boolean; file: string;
 *   wayBack: WayBack | undefined }} made `isNew` if this run has given the Worker the key
 * @param {Options} options
 */
async function finish({ config, isFirst }, { address, key, isNew, file, wayBack }, { url, seconds }) {
  const asked = url ?? address
  if (asked === null || address === null) {
    process.stdout.write(
      `\nLaurel is deployed. /health was not asked: wrangler.toml names no whole domain, and there is no PUBLIC_URL.\n${key === undefined ? '' : `The admin key, which is shown only now: ${key}\n`}`,
    )
  } else {
    await demandHealth(asked, seconds ?? (isFirst ? 300 : 120), wayBack)
    const { ADMIN_HOST } = config.vars
    const host = ADMIN_HOST ? `https://${ADMIN_HOST}` : address
    const link = key === undefined ? null : await linkTo(asked, host, key, isNew)
    const shown = link === undefined ? undefined : key
    process.stdout.write(farewell(address, shown, link ?? null, config.workers_dev === true))
  }
  rmSync(file, { force: true })
}

const KNOWN = {
  usage: USAGE,
  texts: ['location', 'jurisdiction', 'domain', 'name', 'subdomain', 'url', 'wait'],
  flags: ['new-admin-key', 'dry-run', 'built'],
}

function optionsOf() {
  const { url, wait, 'dry-run': isDry = false, ...others } = readOptions(KNOWN)
  if (wait !== undefined && !/^\d{1,4}$/.test(wait))
    throw new Complaint(`--wait must be a whole number of seconds, not ${wait}.\n${USAGE}`)
  if (url !== undefined && (!/^https?:\/\//.test(url) || !URL.canParse(url)))
    throw new Complaint(`${url} is not an address that begins with https://.\n${USAGE}`)
  return { ...others, url: url?.replace(/\/+$/, ''), seconds: wait && Number(wait), isDry }
}

runCommand(deploy, USAGE)
