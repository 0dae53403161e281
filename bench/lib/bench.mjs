/**
 * The common parts of all benches: a run in a temporary folder, with a time limit. It leaves nothing behind,
 * however it ends.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Complaint, inProject, report } from '../../scripts/lib/project.mjs'

const OLDEST_NODE = 22

/** The folder with all files of the bench. It is deleted at the end. */
export const folder = mkdtempSync(join(tmpdir(), 'laurel-bench-'))

/** Prints the current step. */
export const tell = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** Prints a result of the step. */
export const tellMore = (/** @type {string} */ text) => tell(`  ${text}`)

/**
 * Runs a bench, then ends this process: with 0, or with 1 if the bench failed or took too long. A signal or
 * the end of npm ends it too.
 *
 * @param {() => Promise<void>} run
 * @param {{ script: string; minutes: number; stop: () => Promise<unknown>; beforeFailing?: () => void }} how
 *   `script` is its name for npm. `stop` stops everything that it started. `beforeFailing` prints the results
 *   so far before a failure or a timeout
 */
export function runBench(run, { script, minutes, stop, beforeFailing = () => undefined }) {
  let isEnding = false
  /** A second call changes nothing. */
  const end = async (/** @type {number} */ code) => {
    if (isEnding) return
    isEnding = true
    await stop().catch(report)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    process.exit(code)
  }
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => end(130))
  }
  setTimeout(() => {
    tell(`The bench has not ended after ${minutes} minutes, so it is stopped.`)
    beforeFailing()
    end(1)
  }, minutes * 60_000).unref()
  const parent = process.ppid
  // Under npm, this process ends when npm ends.
  setInterval(() => process.ppid === parent || end(130), 500).unref()

  const checked = async () => {
    if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
      throw new Complaint(
        `This Node is too old. Run \`npm run ${script}\`, which uses the Node of node_modules.`,
      )
    }
    await run()
  }
  checked().then(
    () => end(0),
    (error) => {
      // Failures after the end has begun are expected.
      if (!isEnding) {
        beforeFailing()
        report(error)
      }
      return end(1)
    },
  )
}

/**
 * Writes the figures as JSON, and prints the path.
 *
 * @param {string} prefix of the file's name
 * @param {number} began the start of the bench, by `performance.now()`
 * @param {Record<string, unknown>} figures
 * @param {Record<string, unknown>} [versions] of other programs that are measured
 */
export function save(prefix, began, figures, versions = {}) {
  const seconds = Math.round((performance.now() - began) / 1000)
  const at = new Date().toISOString()
  const machine = {
    cpu: cpus()[0]?.model ?? '',
    cores: availableParallelism(),
    node: process.version,
    ...versions,
  }
  const results = inProject('bench', 'results')
  const file = join(results, `${prefix}${at.replaceAll(':', '-')}.json`)
  mkdirSync(results, { recursive: true })
  writeFileSync(file, `${JSON.stringify({ at, seconds, machine, ...figures }, null, 2)}\n`)
  tell(`It took ${seconds} s. The figures are in ${file}`)
}
