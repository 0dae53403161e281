/**
 * `npm run restored`: run it after the databases were brought back to an earlier moment (M1). With `-- --undelete`
 * the deletions since then are not done again. docs/operations.md says more.
 */
import { applyMigrations, askDatabase, askInUse } from './lib/cloudflare.mjs'
import { readOptions, runCommand } from './lib/command.mjs'
import { listed, missingOf } from './lib/databases.mjs'
import { demandDatabases, findDeployment } from './lib/deployment.mjs'
import { differingMoments, labelOf } from './lib/moments.mjs'
import { Complaint, commandOf, wordsOf } from './lib/project.mjs'
import { nextEpoch, restoredStatements, restoredStatementsOfOthers, stateQuestion } from './lib/restored.mjs'

const USAGE = `${commandOf('restored', '[OPTIONS]')}
Run it after a restore of the deployed databases.
  --undelete   does not do the deletions since then again
  --name NAME  of the deployment of this name`

/**
 * A database, with its name in Cloudflare. `ask` runs statements in one transaction, and answers the rows of the last
 * one.
 *
 * @typedef {{ binding: string; name: string; ask: (sql: string) => Promise<Record<string, unknown>[]> }} Database
 */

/** The section of the manual about restores of several databases. */
const SEVERAL = 'docs/operations.md#restore-several-databases'

/**
 * Those of a deployment, the first one first, with the migrations that they lack.
 *
 * @type {(deployment: import('./lib/deployment.mjs').Deployment) => Promise<Database[]>}
 */
async function remoteDatabases(deployment) {
  const { account } = deployment
  const databases = demandDatabases(deployment)
  /** @type {<T>(work: Promise<T>, failure: string) => Promise<T>} */
  const tried = (work, failure) =>
    work.catch((error) => {
      throw new Complaint(`${wordsOf(error)}\n${failure}`)
    })
  for (const database of databases)
    await tried(
      applyMigrations(account, database),
      `The migrations of ${database.name} failed. Nothing else was changed.`,
    )
  return databases.map((database) => ({
    ...database,
    ask: (sql) =>
      tried(askDatabase(account, database, sql), `The database ${database.name} has failed. Run this again.`),
  }))
}

/** Tells the databases of the restore. */
async function tell(/** @type {Database[]} */ databases, /** @type {boolean} */ undelete) {
  const [first, ...others] = databases
  if (first === undefined) return
  const { used } = await askInUse(first.ask)
  demandNoneMissing(used, databases.length)
  const tellOne = (/** @type {Database} */ { ask }, /** @type {string[]} */ statements) =>
    ask(statements.join(';\n'))
  if (others.length === 0) return tellOne(first, restoredStatements({ undelete }))
  const states = []
  for (const database of databases) states.push(await stateOf(database))
  demandOneMoment(states, used)
  const epoch = nextEpoch(states, Date.now())
  // The first one is the last: by its epoch the Worker sees the restore.
  for (const database of others) await tellOne(database, restoredStatementsOfOthers(epoch))
  return tellOne(first, restoredStatements({ undelete, epoch }))
}

/** Asks a database for its state. */
async function stateOf(/** @type {Database} */ { binding, name, ask }) {
  const [row] = await ask(stateQuestion)
  const state = /** @type {import('./lib/restored.mjs').State | undefined} */ (row)
  const label = labelOf({ binding, name })
  if (state === undefined)
    throw new Complaint(
      `${label} has no row in the table restores. Nothing was changed but the migrations.\nRestore ${label} to the moment of the others. If it was added after that moment, put a new, empty one in its place: ${SEVERAL} says how.`,
    )
  return { ...state, binding, name }
}

/** Throws if a database is missing that held users at the restored moment. */
function demandNoneMissing(/** @type {string[]} */ used, /** @type {number} */ count) {
  const missing = missingOf(used, count)
  if (missing.length === 0) return
  throw new Complaint(
    `At the restored moment, ${listed(missing)} held users, but there ${missing.length === 1 ? 'is no such database' : 'are no such databases'} now. Bind ${missing.length === 1 ? 'it' : 'them'} again, bring all databases back to one moment, and run this again.`,
  )
}

/** How to bring all of them back. */
function wayBack(/** @type {import('./lib/moments.mjs').Restored[]} */ databases) {
  const restores = databases.map(
    ({ name }) => `  ${commandOf('wrangler', `d1 time-travel restore ${name} --timestamp=TIME`)}\n`,
  )
  return `${restores.join('')}TIME is in UTC, such as 2026-11-22T10:00:00Z. If the times still differ, it is within the seconds in which Laurel writes the time to all databases: choose a moment one minute earlier.`
}

/** Throws a Complaint if the databases were not all brought back to one moment. */
function demandOneMoment(
  /** @type {import('./lib/moments.mjs').Restored[]} */ databases,
  /** @type {string[]} */ used,
) {
  const moments = differingMoments(databases, used)
  if (moments === undefined) return
  throw new Complaint(
    `The databases were not all brought back to one moment.
Laurel notes the time in all databases at once, every five minutes. The last noted times:
${moments}
Bring all of them back to one moment, one right after the other, and run this again:
${wayBack(databases)}
A database that was added after that moment can't go back to it: ${SEVERAL} says what to do.`,
  )
}

async function main() {
  const { undelete = false, name } = readOptions({ usage: USAGE, texts: ['name'], flags: ['undelete'] })
  await tell(await remoteDatabases(await findDeployment(name)), undelete)
  process.stdout.write('Laurel knows of the restore.\n')
}

runCommand(main, USAGE)
