/** The frame of all benches, and of the screenshots: a temporary folder that no run leaves behind, a table of figures. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOptions, wholeOf } from '../../scripts/lib/command.mjs'
import { newAdminKey } from '../../scripts/lib/dev-vars.mjs'
import { onEnding } from '../../scripts/lib/ending.mjs'
import { inProject, report } from '../../scripts/lib/project.mjs'
import { demandNewNode } from '../../scripts/lib/tools.mjs'

/** The folder with all files of the bench. */
export const folder = mkdtempSync(join(tmpdir(), 'laurel-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** The admin key of each Laurel of this run, and the variables with which each one starts. */
export const adminKey = newAdminKey()
export const VARIABLES = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }

/** Prints the current step. */
export const tell = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** Prints a result of the step. */
export const tellMore = (/** @type {string} */ text) => tell(`  ${text}`)

const endings = /** @type {Set<() => unknown>} */ (new Set())
let isEnding = false
const began = performance.now()

/** Adds work for the end of the run, also if it fails. */
export const atEnd = (/** @type {() => unknown} */ work) => endings.add(work)

/** A second call changes nothing. */
async function end(/** @type {number} */ code) {
  if (isEnding) return
  isEnding = true
  await Promise.all([...endings].map((work) => Promise.resolve(work()).catch(report)))
  process.exit(code)
}

/**
 * Runs a bench, then ends this process: with 0, or with 1 if the bench failed. A signal or the end of npm ends it too.
 *
 * @param {{ script: string; options?: Record<string, string | number | boolean>; takesNames?: boolean;
 *   run: (options: any) => Promise<void> }} bench `script` is its name for npm. `options` are those of the command
 *   line, with their defaults: a number takes a whole number from 1 on
 */
export async function runBench({ script, options = {}, takesNames = false, run }) {
  onEnding([script], () => end(130))
  try {
    await demandNewNode()
    const ofType = (/** @type {string[]} */ ...types) =>
      Object.keys(options).filter((name) => types.includes(typeof options[name]))
    const usage = `npm run ${script} has the options ${Object.keys(options).join(', ')}.`
    const known = { usage, texts: ofType('string', 'number'), flags: ofType('boolean'), takesNames }
    const given = readOptions(known)
    for (const name of ofType('number')) given[name] = wholeOf(name, given[name] ?? options[name])
    await run({ ...options, ...given })
    await end(0)
  } catch (error) {
    // Failures after the end has begun are expected.
    if (!isEnding) report(error)
    await end(1)
  }
}

/**
 * Prints a table as Markdown (its head and its lines), and writes the figures of the bench as JSON to a file,
 * whose path it prints.
 *
 * @type {(name: string, cells: readonly (readonly string[])[], figures: Record<string, unknown>) => void}
 */
export function save(name, cells, figures) {
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  )
  const lines = cells.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  lines.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`)
  process.stdout.write(`\n${lines.join('\n')}\n\n`)
  const seconds = Math.round((performance.now() - began) / 1000)
  const at = new Date().toISOString()
  const load = loadavg().map((one) => Number(one.toFixed(1)))
  const machine = { cpu: cpus()[0]?.model ?? '', cores: availableParallelism(), node: process.version, load }
  const results = inProject('bench', 'results')
  const file = join(results, `${name}-${at.replaceAll(':', '-')}.json`)
  mkdirSync(results, { recursive: true })
  writeFileSync(file, `${JSON.stringify({ at, seconds, machine, ...figures }, null, 2)}\n`)
  tell(`It took ${seconds} s, with a load of ${load.join(', ')}. The figures are in ${file}`)
}

/**
 * Does each work in turns, so that a busy moment of the machine meets all. Returns what each has found. A first turn,
 * after which caches are warm, does not count. `say` tells a result of the turn in words.
 *
 * @template T
 * @param {number} turns
 * @param {Record<string, () => Promise<T>>} works
 * @param {(found: T) => string} [say]
 * @returns {Promise<Record<string, T[]>>}
 */
export async function inTurns(turns, works, say) {
  const found = Object.fromEntries(Object.keys(works).map((name) => [name, /** @type {T[]} */ ([])]))
  for (let turn = 0; turn <= turns; turn += 1) {
    const said = []
    for (const [name, work] of Object.entries(works)) {
      const one = await work()
      if (turn > 0) found[name]?.push(one)
      said.push(`${name} ${say?.(one)}`)
    }
    if (say) tellMore(`${turn === 0 ? 'warming up' : `turn ${turn} of ${turns}`}: ${said.join('; ')}`)
  }
  return found
}

/** How long some work takes, in milliseconds. */
export async function timeOf(/** @type {() => Promise<unknown>} */ work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The figure below which this part of the figures lies. With 0.5, it is the median. */
export function quantile(/** @type {readonly number[]} */ figures, /** @type {number} */ part) {
  const sorted = figures.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export const median = (/** @type {readonly number[]} */ figures) => quantile(figures, 0.5)

/**
 * Adds up a figure of each thing.
 *
 * @type {<T>(things: readonly T[], figure?: (thing: T) => number) => number}
 */
export const sumOf = (things, figure = Number) => things.reduce((sum, thing) => sum + figure(thing), 0)

/** The first whole numbers from 0 on. */
export const numbersTo = (/** @type {number} */ count) => Array.from({ length: count }, (_, index) => index)

/** A figure as text, with `digits` decimals. */
export const fixed = (/** @type {number} */ figure, digits = 0) =>
  figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** The range of some figures as text, such as `3–5`. If all are the same, it is that number. */
export function spanOf(/** @type {readonly number[]} */ figures) {
  const [least, most] = [Math.min(...figures), Math.max(...figures)]
  return least === most ? `${most}` : `${least}–${most}`
}
