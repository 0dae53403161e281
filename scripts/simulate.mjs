#!/usr/bin/env node
/**
 * The simulation with seeds (test/simulation). `npm run simulate -- --seeds 50` plays fifty worlds of full
 * size, one after another. `-- --seed 7` plays the world of that seed. `--small` plays the small worlds of
 * CI. `--databases 3` spreads the users over three databases.
 *
 * Prints a line for each world. Exits with 1 if an invariant of a world failed.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Complaint, project, report, runCommand } from './lib/project.mjs'
import { flag, runVitest, text, wholeNumber } from './lib/vitest.mjs'

const USAGE =
  'usage: npm run simulate -- [--seeds COUNT] [--from SEED | --seed SEED] [--small] [--databases COUNT]'
/** What the command line asks for, as environment variables of the simulation. */
function environment() {
  const options = { seeds: text, from: text, seed: text, small: flag, databases: text }
  const { seeds, from, seed, small, databases } = parseArgs({ options }).values
  if (seed !== undefined && (seeds !== undefined || from !== undefined))
    throw new Complaint('Use --seed without --seeds and --from')
  return {
    SIMULATE_FROM: wholeNumber('from', seed ?? from),
    SIMULATE_SEEDS: wholeNumber('seeds', seeds),
    SIMULATE_DATABASES: wholeNumber('databases', databases, 8),
    SIMULATE_SIZE: small ? 'small' : 'full',
  }
}

/** Returns the exit code of this process: 2 for a command line that is not understood. */
async function run() {
  let told
  try {
    told = environment()
  } catch (error) {
    report(new Complaint(`${Object(error).message}\n${USAGE}`))
    return 2
  }
  const reporter = join(project, 'test', 'simulation', 'reporter.ts')
  return runVitest(['--project', 'long-simulation', '--reporter', reporter], told)
}

runCommand(async () => process.exit(await run()))
