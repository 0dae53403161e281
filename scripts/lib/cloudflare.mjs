/** Asks Cloudflare's REST API about one account, with the credentials of wrangler. */
import { createHash } from 'node:crypto'
import { DIRECTORY_ROWS, databasesInUse } from './directory.mjs'
import { APPLIED_QUESTION, missingMigrations } from './migrations.mjs'
import { Complaint, commandOf } from './project.mjs'
import { outputOfWrangler } from './wrangler.mjs'

/** How long an answer may take, in seconds. */
export function patience() {
  const given = process.env.LAUREL_PATIENCE || '60'
  if (/^[1-9]\d{0,3}$/.test(given)) return Number(given)
  throw new Complaint(`LAUREL_PATIENCE must be a whole number of seconds from 1 to 9999, not ${given}.`)
}
/** How many items a page of a list has: the most that Cloudflare allows for accounts and zones. */
const PAGE = 50

/** The rights of a token, as Cloudflare's dashboard names them, by the paths that need them. */
const RIGHTS = /** @type {const} */ ([
  [/\/d1\//, 'Account: D1: Edit'],
  [/\/storage\/kv\//, 'Account: Workers KV Storage: Edit'],
  [/\/queues(\/|\?|$)/, 'Account: Queues: Edit'],
  [/\/(routes|domains\/records)(\?|$)/, 'Zone: Workers Routes: Edit'],
  [/\/workers\//, 'Account: Workers Scripts: Edit'],
  [/\/zones/, 'Zone: Zone: Read'],
  [/./, 'Account: Account Settings: Read'],
])

/** What to do if a question about a path is refused: it names the right that the token needs. */
export const withRight = (/** @type {string} */ path) =>
  `The token lacks a right, or it belongs to another account. It needs \`${RIGHTS.find(([part]) => part.test(path))?.[1]}\`. docs/deploying.md lists all rights.`

/** An answer of the API that is an error. */
export class Refusal extends Complaint {
  /**
   * @param {string} call
   * @param {number} status of HTTP
   * @param {{ code?: number; message?: string; error_chain?: { code?: number; message?: string }[] }[]} errors
   */
  constructor(call, status, errors) {
    const causes = errors.flatMap(({ error_chain: chain = [], ...error }) => [error, ...chain])
    const said = causes.map(({ code, message }) => `${message} (${code})`).join(' ')
    const right = status === 401 || status === 403 ? `\n${withRight(call)}` : ''
    super(`Cloudflare answered ${status} to ${call}: ${said || 'no reason'}${right}`)
    this.status = status
    this.codes = errors.map(({ code }) => code)
  }
}

/** A hint if a proxy is set, but Node does not use it: it needs NODE_USE_ENV_PROXY when it starts. */
function proxyHint() {
  const { HTTPS_PROXY, https_proxy: lower, NODE_USE_ENV_PROXY: isUsed } = process.env
  return (HTTPS_PROXY || lower) && !isUsed
    ? '\nHTTPS_PROXY is set, but is used only with NODE_USE_ENV_PROXY=1, and by Node 22.21 or later.'
    : ''
}

/**
 * An answer and its text. Throws a Complaint if there is none in time.
 *
 * @param {string} call what an error calls it
 * @param {string} address
 * @param {RequestInit} init
 */
async function answerOf(call, address, init) {
  const seconds = patience()
  try {
    const answer = await fetch(address, { ...init, signal: AbortSignal.timeout(seconds * 1000) })
    return { answer, text: await answer.text() }
  } catch (error) {
    const { name, message, cause } = Object(error)
    const fact =
      name === 'TimeoutError'
        ? `Cloudflare did not answer ${call} within ${seconds} seconds. Try again. LAUREL_PATIENCE=${2 * seconds} waits longer.`
        : `Cloudflare did not answer ${call}: ${Object(cause).message ?? message}.`
    throw new Complaint(`${fact}${proxyHint()}`)
  }
}

/** @type {(text: string) => Row | undefined} the JSON of an answer, unless it is something else */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The headers that name who asks. Throws a Complaint if nobody is logged in. */
async function credentials() {
  const { CLOUDFLARE_API_TOKEN: token } = process.env
  // Otherwise the error of `fetch` would show it.
  if (token && !/^[\x21-\x7e]+$/.test(token.trim()))
    throw new Complaint(
      'CLOUDFLARE_API_TOKEN has a space, a line end or another character that no token has.',
    )
  if (token) return { Authorization: `Bearer ${token}` }
  const failure = `You are not logged in. Run \`${commandOf('wrangler', 'login')}\`, or set CLOUDFLARE_API_TOKEN.`
  const found = JSON.parse(await outputOfWrangler(['auth', 'token', '--json'], failure))
  return found.type === 'api_key'
    ? { 'X-Auth-Key': found.key, 'X-Auth-Email': found.email }
    : { Authorization: `Bearer ${found.token}` }
}

/** The error if a token that belongs to an account asks for the list of accounts. */
const OWNED_BY_ACCOUNT = 1001

/** @typedef {{ method?: string; body?: unknown; query?: Record<string, string | string[]> }} Call */
/** @typedef {Record<string, any>} Row a row of a database, or a thing that the API tells of */

/** An account. */
export class Account {
  #headers

  /**
   * @param {Record<string, string>} headers
   * @param {string} id
   */
  constructor(headers, id) {
    this.#headers = headers
    this.id = id
  }

  /** The account that `CLOUDFLARE_ACCOUNT_ID` or the configuration names, or the only one. */
  static async open(/** @type {string | undefined} */ configured) {
    const headers = await credentials()
    const named = process.env.CLOUDFLARE_ACCOUNT_ID || configured
    if (named) return new Account(headers, named)
    const accounts = await new Account(headers, '').list('/accounts').catch((error) => {
      if (!(error instanceof Refusal && error.codes.includes(OWNED_BY_ACCOUNT))) throw error
      throw new Complaint(
        `${error.message}\nThe token belongs to an account. Name that in CLOUDFLARE_ACCOUNT_ID.`,
      )
    })
    const [account] = accounts
    if (account !== undefined && accounts.length === 1) return new Account(headers, account.id)
    throw new Complaint(
      accounts.length === 0
        ? 'This token may see no account. Give it the right `Account: Account Settings: Read`, or name the account in CLOUDFLARE_ACCOUNT_ID.'
        : `Name the account in CLOUDFLARE_ACCOUNT_ID. You have these:\n${accounts.map(({ id, name }) => `  ${id}  ${name}\n`).join('')}`,
    )
  }

  /** The result of a call, whose path is below the account unless it is one of zones or accounts. It may be empty. */
  async ask(/** @type {string} */ path, /** @type {Call} */ { method = 'GET', body, query = {} } = {}) {
    const base = process.env.CLOUDFLARE_API_BASE_URL || 'https://api.cloudflare.com/client/v4'
    const whole = /^\/(accounts|zones)/.test(path) ? path : `/accounts/${this.id}${path}`
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
    )
    const call = `${method} ${path}`
    const { answer, text } = await answerOf(call, `${base}${whole}?${search}`, {
      method,
      headers: { ...this.#headers, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const said = parsed(text)
    if (said?.success === true || (answer.ok && text === '')) return said?.result
    throw new Refusal(call, answer.status, said?.errors ?? [])
  }

  /** The result of a call; undefined if there is no such thing. */
  async find(/** @type {string} */ path) {
    try {
      return await this.ask(path)
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return undefined
      throw error
    }
  }

  /** @type {(path: string, query?: Call['query']) => Promise<Row[]>} all items of a list */
  async list(path, query = {}) {
    /** @type {Row[]} */
    const items = []
    for (let page = 1; ; page += 1) {
      const more = await this.ask(path, { query: { ...query, page: `${page}`, per_page: `${PAGE}` } })
      items.push(...more)
      if (more.length < PAGE) return items
    }
  }
}

/** A database of the deployment. `id` is the one that Cloudflare gave it. @typedef {{ name: string; id: string }} Database */

const questionOf = (/** @type {Database} */ { id }, /** @type {string} */ what) =>
  `/d1/database/${id}/${what}`

/** @type {(account: Account, database: Database, sql: string) => Promise<Row[]>} the rows of the last statement */
export async function askDatabase(account, database, sql) {
  const answers = await account.ask(questionOf(database, 'query'), { method: 'POST', body: { sql } })
  return answers.at(-1).results
}

/** Asks the first database whether it has the directory. Before its first migrations, it has none. */
const DIRECTORY_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'directory'"

/**
 * The databases in use. `ask` asks the first one, and answers rows.
 *
 * @param {(sql: string) => Promise<Record<string, unknown>[]>} ask
 */
export const askInUse = async (ask) =>
  databasesInUse((await ask(DIRECTORY_EXISTS)).length === 0 ? [] : await ask(DIRECTORY_ROWS))

/** The Time Travel bookmark of a database as it is now. */
export const readBookmark = async (/** @type {Account} */ account, /** @type {Database} */ database) =>
  String((await account.ask(questionOf(database, 'time_travel/bookmark'))).bookmark)

/**
 * Applies the migrations that a database lacks, in their order, each with its row of `d1_migrations`.
 *
 * They go through the import, which runs a file whole or not at all. `wrangler d1 migrations apply` sends
 * them another way, and there Cloudflare may divide a trigger at its semicolons ("incomplete input").
 */
export async function applyMigrations(/** @type {Account} */ account, /** @type {Database} */ database) {
  const missing = async () => missingMigrations(await askDatabase(account, database, APPLIED_QUESTION))
  for (const { name, sql } of await missing()) {
    process.stdout.write(`  ${database.name}: ${name}\n`)
    await importInto(account, database, sql).catch(async (error) => {
      // D1 may say of an import that has ended well that nothing is imported. So the table decides.
      const left = await missing().catch(() => [{ name }])
      if (left.some((one) => one.name === name)) throw error
    })
  }
}

/** Runs a file of SQL in a database as `wrangler d1 execute --file` does. */
async function importInto(
  /** @type {Account} */ account,
  /** @type {Database} */ database,
  /** @type {string} */ sql,
) {
  const step = (/** @type {Row} */ body) =>
    account.ask(questionOf(database, 'import'), { method: 'POST', body })
  const etag = createHash('md5').update(sql).digest('hex')
  let state = await step({ action: 'init', etag })
  if (state.upload_url !== undefined) {
    const { filename, upload_url: url } = state
    const call = 'the upload of a migration'
    const { answer } = await answerOf(call, url, { method: 'PUT', body: sql })
    if (!answer.ok || answer.headers.get('etag')?.replaceAll('"', '') !== etag)
      throw new Complaint(`Cloudflare answered ${answer.status} to ${call}, or got another file.`)
    state = await step({ action: 'ingest', filename, etag })
  }
  while (state.status !== 'complete') {
    if (!state.success || state.status === 'error')
      throw new Complaint(state.errors?.join('\n') || state.error || 'The import failed.')
    state = await step({ action: 'poll', current_bookmark: state.at_bookmark })
  }
}
