/**
 * `npm run restored`: run it after the databases were brought back to an earlier moment (M1). With
 * `-- --local` it works on the state of `npm start`, which must be stopped. With `-- --undelete` the
 * deletions since then are not done again. docs/operations.md says more.
 */
import { existsSync, readFileSync } from 'node:fs'
import { demandAlone } from './lib/alone.mjs'
import { applyMigrations, askDatabase } from './lib/cloudflare.mjs'
import { readOptions, runCommand } from './lib/command.mjs'
import { bindingOf, listed, missingOf } from './lib/databases.mjs'
import { demandDatabases, findDeployment } from './lib/deployment.mjs'
import { parseVariables, readVariables } from './lib/dev-vars.mjs'
import { askInUse } from './lib/directory.mjs'
import { LocalDatabases } from './lib/local-databases.mjs'
import { differingMoments, labelOf } from './lib/moments.mjs'
import { Complaint, commandOf, inProject, isPackage, wordsOf } from './lib/project.mjs'
import { nextEpoch, restoredStatements, restoredStatementsOfOthers, stateQuestion } from './lib/restored.mjs'

const USAGE = `${commandOf('restored', '[OPTIONS]')}
Run it after a restore of the deployed databases.
  --undelete   does not do the deletions since then again
  --name NAME  of the deployment of this name${isPackage ? '' : '\n  --local      after a restore of the state of npm start, which must be stopped'}`

/**
 * The databases, by number from 1.
 *
 * @typedef {object} Databases
 * @property {number[]} numbers
 * @property {(number: number) => string | undefined} nameOf the name in Cloudflare, if it is there
 * @property {() => Promise<string[]>} used the bindings of those that hold users
 * @property {() => Promise<void>} migrate applies the migrations that they lack
 * @property {(number: number, sql: string) => Promise<Record<string, unknown>[]>} ask answers rows
 * @property {(number: number, statements: string[]) => Promise<void>} tell runs statements in one transaction
 * @property {string} wayBack how to bring all of them back
 */

const UNCHANGED = 'Nothing was changed but the migrations. Run this again.'

/** The section of the manual about restores of several databases. */
const SEVERAL = 'docs/operations.md#restore-several-databases'

/** Those of a deployment. @returns {Databases} */
function remoteDatabases(/** @type {import('./lib/deployment.mjs').Deployment} */ deployment) {
  const { account } = deployment
  const databases = demandDatabases(deployment)
  const ofNumber = (/** @type {number} */ number) => databases[number - 1] ?? { name: '', id: '' }
  /** @type {<T>(work: Promise<T>, failure: string) => Promise<T>} */
  const tried = (work, failure) =>
    work.catch((error) => {
      throw new Complaint(`${wordsOf(error)}\n${failure}`)
    })
  /** @type {Databases['ask']} */
  const ask = (number, sql) => {
    const database = ofNumber(number)
    return tried(askDatabase(account, database, sql), `${database.name} could not be asked. ${UNCHANGED}`)
  }
  return {
    numbers: databases.map((_, index) => index + 1),
    nameOf: (number) => ofNumber(number).name,
    ask,
    used: async () => (await askInUse((sql) => ask(1, sql))).used,
    migrate: async () => {
      for (const database of databases)
        await tried(
          applyMigrations(account, database),
          `The migrations of ${database.name} failed. Nothing else was changed.`,
        )
    },
    tell: async (number, statements) => {
      const database = ofNumber(number)
      const failure = `${database.name} was not changed. Run this again.`
      await tried(askDatabase(account, database, statements.join(';\n')), failure)
    },
    wayBack: `${databases.map(({ name }) => `  ${commandOf('wrangler', `d1 time-travel restore ${name} --timestamp=TIME`)}`).join('\n')}\nTIME is in UTC, such as 2026-11-22T10:00:00Z. If the times still differ, it is within the seconds in which Laurel writes the time to all databases: choose a moment one minute earlier.`,
  }
}

/** @returns {Databases} those of `npm start` */
function localDatabases(/** @type {LocalDatabases} */ local) {
  return {
    numbers: local.numbers,
    nameOf: () => undefined,
    used: async () => (await local.inUse()).used,
    migrate: () => local.migrate(),
    ask: async (number, sql) => (await local.run(number, sql))[0] ?? [],
    tell: async (number, statements) => {
      await local.run(number, statements.join(';\n'))
    },
    wayBack: '  Put a copy in the place of the whole folder .wrangler/state/v3/d1.',
  }
}

/** Tells the databases of the restore. */
async function tell(/** @type {Databases} */ databases, /** @type {boolean} */ undelete) {
  await databases.migrate()
  const [first = 1, ...others] = databases.numbers
  const used = await databases.used()
  demandNoneMissing(used, databases.numbers.length)
  if (others.length === 0) {
    await databases.tell(first, restoredStatements({ undelete }))
    return
  }
  const states = []
  for (const number of databases.numbers) states.push(await stateOf(databases, number))
  demandOneMoment(databases, states, used)
  const epoch = nextEpoch(states, Date.now())
  // The first one is the last: by its epoch the Worker sees the restore.
  for (const number of others) await databases.tell(number, restoredStatementsOfOthers(epoch))
  await databases.tell(first, restoredStatements({ undelete, epoch }))
}

/** Asks a database for its state. */
async function stateOf(/** @type {Databases} */ databases, /** @type {number} */ number) {
  const [row] = await databases.ask(number, stateQuestion)
  const state = /** @type {import('./lib/restored.mjs').State | undefined} */ (row)
  const database = { binding: bindingOf(number), name: databases.nameOf(number) }
  if (state === undefined)
    throw new Complaint(
      `${labelOf(database)} has no row in the table restores. Nothing was changed but the migrations.\nRestore ${labelOf(database)} to the moment of the others. If it was added after that moment, put a new, empty one in its place: ${SEVERAL} says how.`,
    )
  return { ...state, ...database }
}

/** Throws if a database is missing that held users at the restored moment. */
function demandNoneMissing(/** @type {string[]} */ used, /** @type {number} */ count) {
  const missing = missingOf(used, count)
  if (missing.length === 0) return
  throw new Complaint(
    `At the restored moment, ${listed(missing)} held users, but there ${missing.length === 1 ? 'is no such database' : 'are no such databases'} now. Bind ${missing.length === 1 ? 'it' : 'them'} again, bring all databases back to one moment, and run this again.`,
  )
}

/**
 * Throws a Complaint if the databases were not all brought back to one moment.
 *
 * @type {(databases: Databases, states: import('./lib/moments.mjs').Restored[], used: string[]) => void}
 */
function demandOneMoment(databases, states, used) {
  const moments = differingMoments(states, used)
  if (moments === undefined) return
  throw new Complaint(
    `The databases were not all brought back to one moment.
Laurel notes the time in all databases at once, every five minutes. The last noted times:
${moments}
Bring all of them back to one moment, one right after the other, and run this again:
${databases.wayBack}
A database that was added after that moment can't go back to it: ${SEVERAL} says what to do.`,
  )
}

async function main() {
  const flags = ['undelete', ...(isPackage ? [] : ['local'])]
  const { local: isLocal, undelete = false, name } = readOptions({ usage: USAGE, texts: ['name'], flags })
  if (isLocal) {
    await demandAlone()
    const file = inProject('.dev.vars')
    const given = existsSync(file) ? parseVariables(readFileSync(file, 'utf8')) : {}
    const local = new LocalDatabases((await readVariables(given, process.env)).databases)
    try {
      await local.demandBound()
      await tell(localDatabases(local), undelete)
    } finally {
      await local.close()
    }
  } else await tell(remoteDatabases(await findDeployment(name)), undelete)
  process.stdout.write('Laurel knows of the restore.\n')
}

runCommand(main, USAGE)
