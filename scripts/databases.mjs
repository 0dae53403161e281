/**
 * `npm run databases -- add`: adds a database for users to the deployment. It creates a D1, binds it in
 * `wrangler.toml` and applies the migrations to it. docs/operations.md says more.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { bindingOf, MOST_DATABASES } from './lib/databases.mjs'
import { Complaint, inProject, runCommand } from './lib/project.mjs'
import { applyMigrations } from './lib/remote-databases.mjs'
import { outputOfWrangler } from './lib/wrangler.mjs'
import {
  blockOf,
  boundDatabases,
  databaseBlocks,
  nextName,
  withDatabase,
  wranglerToml,
} from './lib/wrangler-toml.mjs'

const USAGE = `npm run databases -- add            creates a D1, binds it in wrangler.toml, and migrates it
npm run databases -- add --dry-run  changes nothing, and prints what it would do
Options: --location weur, or --jurisdiction eu: where the D1 is (npx wrangler d1 create --help).
Choose a place near the servers that send events, as for the first database.`

const NO_PLACE =
  'Without --location, Cloudflare makes the D1 near this computer. It should be near the servers that send events: weur, eeur, wnam, enam, apac or oc.\n'

/** The exit code for words that are not in the usage. */
const MISUSED = 2

/** An id of zeros, as in the wrangler.toml that comes with Laurel. */
const PLACEHOLDER = /^\s*database_id\s*=\s*["'][0-]+["']/m

/** Adds the next database. */
async function add(/** @type {{ isDry: boolean; place: string[] }} */ { isDry, place }) {
  const toml = wranglerToml()
  const number = boundDatabases(toml) + 1
  if (number > MOST_DATABASES) throw new Complaint(`Laurel uses at most ${MOST_DATABASES} databases.`)
  const unmade = databaseBlocks(toml).find(({ text }) => PLACEHOLDER.test(text))
  if (unmade !== undefined && !isDry)
    throw new Complaint(
      `wrangler.toml still has a placeholder as the database_id of ${unmade.binding}. Create that database first: docs/deploying.md says how. Nothing was changed.`,
    )
  const [name, binding] = [nextName(toml, number), bindingOf(number)]
  const create = ['d1', 'create', name, ...place]
  if (place.length === 0) process.stdout.write(NO_PLACE)
  if (isDry) {
    const block = blockOf({ number, name, id: 'the id that wrangler d1 create prints' })
    process.stdout.write(
      `Nothing was changed. This would be done now:\n  wrangler ${create.join(' ')}\n  add to wrangler.toml, after ${bindingOf(number - 1)}:\n${indented(block)}  apply the migrations to ${name}\nAfter that: ${whatIsNext(binding)}`,
    )
    return
  }
  const output = await outputOfWrangler(
    create,
    `${name} could not be created. wrangler.toml was not changed. If a D1 of this name exists already, because this was interrupted before, add it to wrangler.toml by hand and deploy. Do so only if this deployment made it and no other deployment uses it. \`npx wrangler d1 info ${name}\` prints its id:\n${blockOf({ number, name, id: '…' })}`,
  )
  const [id] = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(output) ?? []
  if (id === undefined)
    throw new Complaint(
      `${output}\n${name} was created, but its id is not in the output of wrangler. \`npx wrangler d1 info ${name}\` prints it. Add this to wrangler.toml, and deploy:\n${blockOf({ number, name, id: '…' })}`,
    )
  writeFileSync(inProject('wrangler.toml'), withDatabase(toml, { number, id }))
  process.stdout.write(`${name} was created, and is bound in wrangler.toml as ${binding}.\n`)
  await applyMigrations(
    name,
    `The migrations of ${name} failed. It stays bound as ${binding} in wrangler.toml. \`npm run deploy\` applies them, and deploys only if it can.`,
  )
  process.stdout.write(`\nNext: ${whatIsNext(binding)}`)
}

const indented = (/** @type {string} */ text) => text.replaceAll(/^(?=.)/gm, '    ')

const whatIsNext = (/** @type {string} */ binding) =>
  `run \`npm run deploy\`. Commit wrangler.toml before you deploy: every later deployment needs this block.
Then users move to ${binding} by themselves. Clients notice nothing.
With MULTI_TENANCY=on, nothing moves to it but new tenants, until you call POST /admin/v1/databases/rebalance.
GET /admin/v1/databases shows how far that is.\n`

/** Answers undefined for words that are not in the usage. */
function readOptions(/** @type {string[]} */ args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean' },
        location: { type: 'string' },
        jurisdiction: { type: 'string' },
      },
    })
    if (positionals.join(' ') !== 'add') return undefined
    const { 'dry-run': isDry = false, ...place } = values
    return { isDry, place: Object.entries(place).flatMap(([name, value]) => [`--${name}`, value]) }
  } catch {
    return undefined
  }
}

async function main(/** @type {string[]} */ args) {
  const options = readOptions(args)
  if (options !== undefined) return add(options)
  const output = args.length === 0 ? process.stdout : process.stderr
  output.write(`${USAGE}\n`)
  if (args.length > 0) process.exitCode = MISUSED
}

runCommand(() => main(process.argv.slice(2)))
