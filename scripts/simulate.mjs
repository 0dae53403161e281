#!/usr/bin/env node
/**
 * The simulation with seeds (test/simulation). `npm run simulate -- --seeds 50` plays fifty worlds of full
 * size, one after another. `-- --seed 7` plays the world of that seed. `--small` plays the small worlds of
 * CI. `--databases 3` spreads the users over three databases.
 *
 * Prints a line for each world. Exits with 1 if an invariant of a world failed.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const USAGE =
  'usage: npm run simulate -- [--seeds COUNT] [--from SEED | --seed SEED] [--small] [--databases COUNT]'

/**
 * Prints the problem with the arguments and exits with 2.
 * @param {string} message
 * @returns {never}
 */
function refuse(message) {
  process.stderr.write(`${message}\n${USAGE}\n`)
  process.exit(2)
}

/**
 * A whole number from 1 to a million.
 * @param {string} name
 * @param {string} text
 */
function whole(name, text) {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > 1_000_000)
    refuse(`--${name} must be a whole number from 1 to 1000000`)
  return value
}

function asked() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string' },
        from: { type: 'string' },
        seed: { type: 'string' },
        small: { type: 'boolean', default: false },
        full: { type: 'boolean', default: false },
        databases: { type: 'string' },
      },
    })
    return values
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

const { seeds, from, seed, small, full, databases } = asked()
if (seed !== undefined && (seeds !== undefined || from !== undefined))
  refuse('Use --seed without --seeds and --from')
if (small && full) refuse('Use either --small or --full')
const first = whole('from', seed ?? from ?? '1')
const used = whole('databases', databases ?? '1')
if (used > 8) refuse('--databases must be at most 8')
const count = whole('seeds', seed === undefined ? (seeds ?? '1') : '1')

const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
const reporter = join(root, 'test', 'simulation', 'reporter.ts')
const child = spawn(process.execPath, [vitest, 'run', '--project', 'simulation', '--reporter', reporter], {
  cwd: root,
  env: {
    ...process.env,
    SIMULATE_FROM: String(first),
    SIMULATE_SEEDS: String(count),
    SIMULATE_DATABASES: String(used),
    SIMULATE_SIZE: small ? 'small' : 'full',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
