/** The variables of `npm start` in the file `.dev.vars`, and new secrets. */
import { randomBytes, randomInt } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
// Not `parseEnv` by its name: a Node without it has to come so far that it can say that it is too old.
import * as util from 'node:util'

/** A new admin key, `adm_<public>.<secret>`: 12 alphanumeric characters and 256 random bits. */
export function newAdminKey() {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
  const name = Array.from({ length: 12 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `adm_${name}.${randomBytes(32).toString('base64url')}`
}

/** A new secret to sign tokens with: 256 random bits. */
export const newTokenSecret = () => randomBytes(32).toString('base64url')

/** What the file needs. */
const NEEDED = {
  ADMIN_API_KEY: newAdminKey,
  TOKEN_SECRET: newTokenSecret,
  TEST_CLOCK: () => 'on',
  RATE_LIMITS: () => 'off',
}

/** Adds the lines that the file lacks, and changes nothing else. Returns its variables. */
export function completeDevVars(/** @type {string} */ path) {
  const before = existsSync(path) ? readFileSync(path, 'utf8').replace(/^\ufeff/, '') : ''
  const found = util.parseEnv(before)
  const missing = Object.entries(NEEDED).filter(([name]) => !found[name])
  const lines = missing.map(([name, make]) => `${name}=${make()}\n`)
  const added = `${/[^\n]$/.test(before) ? '\n' : ''}${lines.join('')}`
  if (lines.length > 0) appendFileSync(path, added, { mode: 0o600 })
  return util.parseEnv(before + added)
}
