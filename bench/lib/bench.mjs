/**
 * What every bench is: a run in a temporary folder that is bounded in time, and of which nothing is left, however it ends.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Complaint, inProject, report } from '../../scripts/lib/project.mjs'

const OLDEST_NODE = 22

/** All that the bench needs; it goes with the bench. */
export const folder = mkdtempSync(join(tmpdir(), 'laurel-bench-'))

/** Says what is being done. */
export const tell = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** Says what has come of it. */
export const tellMore = (/** @type {string} */ text) => tell(`  ${text}`)

/**
 * Runs a bench, and then ends this process: with 0, or with 1 if it failed or took too long. A signal, and the end of npm, end it too.
 *
 * @param {() => Promise<void>} run
 * @param {{ script: string; minutes: number; stop: () => Promise<unknown>; beforeFailing?: () => void }} how `script` is its name for
 *   npm, `stop` stops all that it has started, and `beforeFailing` tells what is known although it failed or took too long
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
    tell(`It has not ended after ${minutes} minutes, so it is ended.`)
    beforeFailing()
    end(1)
  }, minutes * 60_000).unref()
  const parent = process.ppid
  // Under npm, the end of npm is the end of this too.
  setInterval(() => process.ppid === parent || end(130), 500).unref()

  const checked = async () => {
    if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
      throw new Complaint(`Run it by \`npm run ${script}\`, which uses the Node of node_modules.`)
    }
    await run()
  }
  checked().then(
    () => end(0),
    (error) => {
      // What fails because the end has begun is no news.
      if (!isEnding) {
        beforeFailing()
        report(error)
      }
      return end(1)
    },
  )
}

/**
 * Writes figures as JSON, and says where.
 *
 * @param {string} prefix how the file's name begins
 * @param {number} began when the bench did, by `performance.now()`
 * @param {Record<string, unknown>} figures
 * @param {Record<string, unknown>} [versions] of what is measured besides
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
