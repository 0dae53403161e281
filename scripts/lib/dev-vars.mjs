/** Variables and secrets for development: the file `.dev.vars`, and the environment, which overrides it. */
import { randomBytes, randomInt } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Complaint } from './project.mjs'

/** One entry, in the grammar of dotenv. */
const ENTRY =
  /^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$/gm

/** Reads a file of variables. A later entry of the same name wins. */
export function parseVariables(/** @type {string} */ text) {
  const found = /** @type {Record<string, string>} */ ({})
  for (const [, name = '', raw = ''] of text.replace(/\r\n?/g, '\n').matchAll(ENTRY)) {
    const trimmed = raw.trim()
    const value = trimmed.replace(/^(['"`])([\s\S]*)\1$/, '$2')
    found[name] = trimmed.startsWith('"') ? value.replace(/\\n/g, '\n').replace(/\\r/g, '\r') : value
  }
  return found
}

/** A new admin key, `adm_<public>.<secret>`: 12 alphanumeric characters and 256 random bits. */
export function newAdminKey() {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  const name = Array.from({ length: 12 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `adm_${name}.${randomBytes(32).toString('base64url')}`
}

/** A new secret to sign tokens with: 256 random bits. */
export const newTokenSecret = () => randomBytes(32).toString('base64url')

/**
 * Creates the file `.dev.vars` if it is missing. Adds missing lines to an existing one, and changes nothing
 * else. Returns the variables in the file afterwards.
 */
export function completeDevVars(/** @type {string} */ path) {
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined
  const found = parseVariables(before ?? '')
  const lines = []
  if (!found.ADMIN_API_KEY) lines.push(`ADMIN_API_KEY=${newAdminKey()}`)
  if (!found.TOKEN_SECRET) lines.push(`TOKEN_SECRET=${newTokenSecret()}`)
  if (found.TEST_CLOCK === undefined) lines.push('TEST_CLOCK=on')
  if (found.RATE_LIMITS === undefined) lines.push('RATE_LIMITS=off')
  const end = before?.includes('\r\n') ? '\r\n' : '\n'
  const added = lines.map((line) => line + end).join('')
  if (before === undefined) writeFileSync(path, added, { mode: 0o600, flag: 'wx' })
  else if (added !== '') appendFileSync(path, before === '' || before.endsWith('\n') ? added : end + added)
  return parseVariables((before ?? '') + end + added)
}

/** Throws a Complaint with all problems of variables, if there are any. `source` says where they come from. */
export function demandValid(/** @type {string[]} */ problems, /** @type {string} */ source) {
  if (problems.length > 0) throw new Complaint(`${problems.join('\n')}\nVariables are read from ${source}.`)
}

/**
 * The variables of the file, with the environment over it: those of the Worker, with its own address, and
 * with the demo unless it is switched off; and the port and the number of databases. Throws a Complaint with
 * every problem that they have.
 *
 * @param {Record<string, string>} fromFile
 * @param {NodeJS.ProcessEnv} environment
 * @param {any} env what the Worker says of its variables
 * @returns {Promise<{ variables: Record<string, string>; port: number; databases: number }>} no variable is empty
 */
export async function readVariables(fromFile, environment, { VARIABLES, variableErrors, serverVariables }) {
  const merged = { ...fromFile }
  for (const name of [...VARIABLES, 'DATABASES']) merged[name] = environment[name] || merged[name] || ''
  const { DATABASES, ...variables } = merged
  const own = { PORT: environment.PORT ?? '', DATABASES }
  demandValid(await variableErrors({ ...variables, ...own }), 'the environment and from .dev.vars')
  const { PORT: port, DATABASES: databases } = serverVariables(own)
  variables.PUBLIC_URL ||= `http://localhost:${port}`
  // A move of the test clock waits for each attempt.
  variables.WEBHOOK_TIMEOUT ||= '2'
  if (variables.MULTI_TENANCY !== 'on') variables.DEMO ||= 'on'
  const set = Object.entries(variables).filter(([, value]) => value !== '')
  return { variables: Object.fromEntries(set), port, databases }
}

/** Is true if the Worker loads the demo into an empty database. */
export const isDemoWanted = (/** @type {Record<string, string>} */ variables) =>
  variables.DEMO === 'on' && variables.MULTI_TENANCY !== 'on'
