/** Asks and migrates the databases of the deployment, by their names in Cloudflare. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { APPLIED_QUESTION, missingMigrations } from './migrations.mjs'
import { Complaint, inProject } from './project.mjs'
import { outputOfWrangler, runWrangler } from './wrangler.mjs'

/** The arguments of wrangler that run something in a database. */
const executionIn = (/** @type {string} */ name, /** @type {string[]} */ ...what) =>
  ['d1', 'execute', name, '--remote', '--yes'].concat(what)

/** The arguments of wrangler that run SQL in a database. */
export const executionOf = (/** @type {string} */ name, /** @type {string} */ sql) =>
  executionIn(name, '--command', sql)

/** The arguments of wrangler that ask a database for rows. */
export const questionOf = (/** @type {string} */ name, /** @type {string} */ sql) =>
  executionIn(name, '--command', sql, '--json')

/**
 * Asks a database. Returns the rows of the last statement. `failure` is the message if it fails.
 *
 * @type {(name: string, sql: string, failure: string) => Promise<Record<string, unknown>[]>}
 */
export async function askDatabase(name, sql, failure) {
  const output = await outputOfWrangler(questionOf(name, sql), failure)
  try {
    return JSON.parse(output).at(-1).results
  } catch {
    throw new Complaint(`${output}\n${failure}`)
  }
}

/** The folder, in the project, for the migrations that are sent. */
const SENT = '.wrangler/migrations'

/** The arguments of wrangler that send a migration to a database. */
export const importOf = (/** @type {string} */ name, /** @type {string} */ file) =>
  executionIn(name, '--file', `${SENT}/${file}`)

/**
 * Applies the migrations that a database lacks, in their order, each with its row of `d1_migrations`.
 *
 * They go through the import, which runs a file whole or not at all. `wrangler d1 migrations apply` sends
 * them another way, and there Cloudflare may divide a trigger at its semicolons ("incomplete input").
 */
export async function applyMigrations(/** @type {string} */ name, /** @type {string} */ failure) {
  const rows = await askDatabase(name, APPLIED_QUESTION, failure)
  mkdirSync(inProject(SENT), { recursive: true })
  for (const { name: file, sql } of missingMigrations(rows)) {
    if (!/^\d+_\w+\.sql$/.test(file)) continue
    writeFileSync(inProject(SENT, file), sql)
    await runWrangler(importOf(name, file), failure)
  }
}
