/**
 * `npm run deploy`: builds, applies the migrations to the remote database and deploys. Stops at the first
 * failure.
 */
import { readFileSync } from 'node:fs'
import { Complaint, inProject, report } from './lib/project.mjs'
import { BUILD, runWrangler } from './lib/wrangler.mjs'

/** An id of zeros in quotes: the placeholder in wrangler.toml for a resource that does not exist yet. */
const PLACEHOLDER = /^[^#]*["'][0-]{16,}["']/

/** Throws if wrangler.toml still has the placeholder of a resource. */
function demandResources() {
  const lines = readFileSync(inProject('wrangler.toml'), 'utf8').split('\n')
  const placeholders = lines.flatMap((line, index) =>
    PLACEHOLDER.test(line) ? `  line ${index + 1}: ${line.trim()}` : [],
  )
  if (placeholders.length === 0) return
  throw new Complaint(
    `wrangler.toml still has placeholder ids. Create the resources first and put their ids there.\n${placeholders.join('\n')}`,
  )
}

/** Whether wrangler.toml names a domain for the Worker. It has none by default. */
const hasRoute = () => /^(\[\[)?routes?\b/m.test(readFileSync(inProject('wrangler.toml'), 'utf8'))

/** Prints the title of a step, then does it. */
function step(/** @type {string} */ title, /** @type {string[]} */ args, /** @type {string} */ failure) {
  process.stdout.write(`\n${title}\n`)
  return runWrangler(args, failure)
}

async function deploy() {
  demandResources()
  await step(
    'Building the Worker…',
    ['deploy', ...BUILD, '--dry-run', '--outdir', 'dist'],
    'The build failed. Nothing was changed.',
  )
  await step(
    'Applying the migrations to the remote database…',
    ['d1', 'migrations', 'apply', 'laurel', '--remote'],
    'The migrations failed. The Worker was not deployed. Migrations that are listed as applied above stay applied.',
  )
  await step(
    'Deploying…',
    ['deploy', ...BUILD],
    'The deployment failed. The migrations are already applied. Try again.',
  )
  process.stdout.write('\nLaurel is deployed.\n')
  if (!hasRoute())
    process.stdout.write(
      'wrangler.toml names no domain for it (`routes`). Without a domain from elsewhere, nobody can reach it.\n',
    )
}

deploy().catch((error) => {
  report(error)
  process.exitCode = 1
})
