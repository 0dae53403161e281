/**
 * `npm run databases -- add`: adds a database for users to the deployment. It creates a D1, binds it in
 * `wrangler.toml` and applies the migrations to it. docs/operations.md says more.
 */
import { writeFileSync } from 'node:fs'
import { applyMigrations } from './lib/cloudflare.mjs'
import { readOptions, runCommand } from './lib/command.mjs'
import { bindingOf } from './lib/databases.mjs'
import { findDeployment } from './lib/deployment.mjs'
import { Complaint, inProject, wordsOf } from './lib/project.mjs'
import { blockOf, boundDatabases, nextName, withDatabase, wranglerToml } from './lib/wrangler-toml.mjs'

const USAGE = `npm run databases -- add            creates a D1, binds it in wrangler.toml, and migrates it
npm run databases -- add --dry-run  changes nothing, and prints what it would do
Options: --location weur, or --jurisdiction eu: where the D1 is (npm run wrangler -- d1 create --help).
Choose a place near the servers that send events, as for the first database.`

const NO_PLACE =
  'Without --location, Cloudflare makes the D1 near this computer. It should be near the servers that send events: weur, eeur, wnam, enam, apac or oc.\n'

/** The greatest number of databases. */
const MOST_DATABASES = 100

/** The exit code for words that are not in the usage. */
const MISUSED = 2

/** Adds the next database. */
async function add(/** @type {Record<string, any>} */ { 'dry-run': isDry, location, jurisdiction }) {
  const place = {
    ...(location && { primary_location_hint: location }),
    ...(jurisdiction && { jurisdiction }),
  }
  const toml = wranglerToml()
  const number = boundDatabases(toml) + 1
  if (number > MOST_DATABASES) throw new Complaint(`Laurel uses at most ${MOST_DATABASES} databases.`)
  const [name, binding] = [nextName(toml, number), bindingOf(number)]
  if (Object.keys(place).length === 0) process.stdout.write(NO_PLACE)
  if (isDry) {
    process.stdout.write(
      `Nothing was changed. This would be done now:\n  create the D1 ${name}\n  add to wrangler.toml, after ${bindingOf(number - 1)}:\n${indented(blockOf(number, name))}  apply the migrations to ${name}\nAfter that: ${whatIsNext(binding)}`,
    )
    return
  }
  const deployment = await findDeployment(undefined)
  if (deployment.isFirst || deployment.missing.length > 0)
    throw new Complaint('Laurel is not deployed yet. Run `npm run deploy` first. Nothing was changed.')
  const added = await deployment.found({ binding, database_name: name })
  if (added.id === undefined) await deployment.make(added, place)
  const database = { name, id: added.id ?? '' }
  writeFileSync(inProject('wrangler.toml'), withDatabase(toml, number))
  process.stdout.write(`${name} was created, and is bound in wrangler.toml as ${binding}.\n`)
  try {
    await applyMigrations(deployment.account, database)
  } catch (error) {
    throw new Complaint(
      `${wordsOf(error)}\nThe migrations of ${name} failed. It stays bound as ${binding} in wrangler.toml. \`npm run deploy\` applies them, and deploys only if it can.`,
    )
  }
  process.stdout.write(`\nNext: ${whatIsNext(binding)}`)
}

const indented = (/** @type {string} */ text) => text.replaceAll(/^(?=.)/gm, '    ')

const whatIsNext = (/** @type {string} */ binding) =>
  `run \`npm run deploy\`. Commit wrangler.toml before you deploy: every later deployment needs this block.
Then users move to ${binding} by themselves. Clients notice nothing.
With MULTI_TENANCY=on, nothing moves to it but new tenants, until you call POST /admin/v1/databases/rebalance.
GET /admin/v1/databases shows how far that is.\n`

async function main([word, ...args] = process.argv.slice(2)) {
  if (word === undefined) return process.stdout.write(`${USAGE}\n`)
  process.exitCode = MISUSED
  if (word !== 'add') throw new Complaint(USAGE)
  const options = readOptions({ usage: USAGE, texts: ['location', 'jurisdiction'], flags: ['dry-run'] }, args)
  process.exitCode = 0
  return add(options)
}

runCommand(main, USAGE)
