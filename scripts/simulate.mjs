#!/usr/bin/env node
/**
 * The simulation with seeds (test/simulation). `npm run simulate -- --seeds 50` plays fifty worlds of full
 * size, one after another. `-- --seed 7` plays the world of that seed. `--small` plays the small worlds of
 * CI. `--databases 3` spreads the users over three databases.
 *
 * Prints a line for each world. Exits with 1 if an invariant of a world failed.
 */
import { readOptions, runCommand, wholeOf } from './lib/command.mjs'
import { Complaint, inProject } from './lib/project.mjs'
import { runVitest } from './lib/vitest.mjs'

const USAGE = 'npm run simulate -- [--seeds COUNT] [--from SEED | --seed SEED] [--small] [--databases COUNT]'

runCommand(async () => {
  const known = { usage: USAGE, texts: ['seeds', 'from', 'seed', 'databases'], flags: ['small'] }
  const { seeds, from, seed, small, databases = '1' } = readOptions(known)
  if (seed !== undefined && (seeds !== undefined || from !== undefined))
    throw new Complaint(`Use --seed without --seeds and --from.\n${USAGE}`)
  const reporter = inProject('test', 'simulation', 'reporter.ts')
  process.exitCode = await runVitest(['--project', 'long-simulation', '--reporter', reporter], {
    SIMULATE_FROM: `${wholeOf('from', seed ?? from ?? '1')}`,
    SIMULATE_SEEDS: `${wholeOf('seeds', seeds ?? '1')}`,
    SIMULATE_DATABASES: `${wholeOf('databases', databases, 1, 8)}`,
    SIMULATE_SIZE: small ? 'small' : 'full',
  })
}, USAGE)
