/**
 * `npm run deploy`: builds, applies the migrations to the remote database, deploys. Stops at the first failure.
 */
import { readFileSync } from 'node:fs'
import { Complaint, inProject, report } from './lib/project.mjs'
import { BUILD, runWrangler } from './lib/wrangler.mjs'

/** An id of zeros in quotes, as wrangler.toml has it until the resource exists. */
const PLACEHOLDER = /^[^#]*["'][0-]{16,}["']/

/** Refuses to go on while a resource in wrangler.toml is only a placeholder. */
function demandResources() {
  const lines = readFileSync(inProject('wrangler.toml'), 'utf8').split('\n')
  const placeholders = lines.flatMap((line, index) =>
    PLACEHOLDER.test(line) ? `  line ${index + 1}: ${line.trim()}` : [],
  )
  if (placeholders.length === 0) return
  throw new Complaint(
    `wrangler.toml still has placeholder ids: create the resources first and put their ids there.\n${placeholders.join('\n')}`,
  )
}

/** Whether wrangler.toml names an address for the Worker, which has none of its own. */
const hasRoute = () => /^(\[\[)?routes?\b/m.test(readFileSync(inProject('wrangler.toml'), 'utf8'))

/** Says what comes next, then does it. */
function step(/** @type {string} */ title, /** @type {string[]} */ args, /** @type {string} */ failure) {
  process.stdout.write(`\n${title}\n`)
  return runWrangler(args, failure)
}

async function deploy() {
  demandResources()
  await step(
    'Building the Worker…',
    ['deploy', ...BUILD, '--dry-run', '--outdir', 'dist'],
    'The build failed: nothing was changed.',
  )
  await step(
    'Applying the migrations to the remote database…',
    ['d1', 'migrations', 'apply', 'laurel', '--remote'],
    'The migrations failed: the Worker was not deployed. Those listed as applied above stay applied.',
  )
  await step(
    'Deploying…',
    ['deploy', ...BUILD],
    'The deployment failed. The migrations are applied already: try again.',
  )
  process.stdout.write('\nLaurel is deployed.\n')
  if (!hasRoute())
    process.stdout.write(
      'wrangler.toml names no domain for it (`routes`). Unless you have given it one elsewhere, nobody can reach it.\n',
    )
}

deploy().catch((error) => {
  report(error)
  process.exitCode = 1
})
