/**
 * `npm run restored`: run it after the database was brought back to an earlier moment (M1). With `-- --local`
 * it works on the state of `npm start`, which must be stopped. With `-- --undelete` the deletions since then
 * are not done again. docs/operations.md says more.
 */
import { readFileSync } from 'node:fs'
import { demandAlone } from './lib/alone.mjs'
import { Complaint, inProject, report } from './lib/project.mjs'
import { restoredStatements } from './lib/restored.mjs'
import { applyLocalMigrations, runWrangler, STATE } from './lib/wrangler.mjs'

const USAGE = `npm run restored                  after a restore of the deployed database
npm run restored -- --local       after a restore of the state of npm start, which must be stopped
Option: --undelete                does not do the deletions since then again`

async function main(/** @type {string[]} */ args) {
  const unknown = args.filter((arg) => !['--local', '--undelete'].includes(arg))
  if (unknown.length > 0) throw new Complaint(USAGE)
  const sql = restoredStatements({ undelete: args.includes('--undelete') }).join(';\n')
  const where = args.includes('--local') ? ['--local', '--persist-to', STATE] : ['--remote']
  if (args.includes('--local')) {
    await demandAlone()
    await applyLocalMigrations(databaseName()).done
  } else {
    const migrate = ['d1', 'migrations', 'apply', databaseName(), '--remote']
    await runWrangler(migrate, 'The migrations failed. Nothing else was changed.')
  }
  await runWrangler(
    ['d1', 'execute', databaseName(), ...where, '--yes', '--command', sql],
    'The database was not changed. Run this again.',
  )
  process.stdout.write('Laurel knows of the restore.\n')
}

/** The name of the database in wrangler.toml. */
function databaseName() {
  const text = readFileSync(inProject('wrangler.toml'), 'utf8')
  return /^database_name = "([^"]+)"/m.exec(text)?.[1] ?? 'laurel'
}

main(process.argv.slice(2)).catch((error) => {
  report(error)
  process.exitCode = 1
})
