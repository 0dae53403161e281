/**
 * Finds processes that a script started, directly or not. They have a mark in their environment. Children
 * inherit it, so processes are found even if their parent has ended.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The mark of this run: `NAME=value`. */
const NAME = 'LAUREL_STARTED_BY'
const VALUE = randomUUID()

/** The environment for a child, with the mark. */
export const marked = (/** @type {NodeJS.ProcessEnv} */ environment) => ({ ...environment, [NAME]: VALUE })

/**
 * The ids of the running processes with the mark. A zombie has no environment, so it is not found. Empty on
 * Windows, because the environment of another process can't be read there.
 */
export function markedProcesses() {
  const mark = `${NAME}=${VALUE}`
  if (process.platform === 'win32') return []
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(mark))
      .map(Number)
  }
  const listed = spawnSync('ps', ['axeww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 << 20 })
  return (listed.stdout ?? '')
    .split('\n')
    .filter((line) => line.includes(mark))
    .map((line) => Number.parseInt(line, 10))
}

/** The environment of a process on Linux; empty if it has ended or belongs to another user. */
function environmentOf(/** @type {string} */ id) {
  try {
    return readFileSync(`/proc/${id}/environ`, 'latin1')
  } catch {
    return ''
  }
}

/** Kills every process with the mark. Gives up after `patience` milliseconds. */
export async function endMarked(/** @type {number} */ patience) {
  const deadline = performance.now() + patience
  for (let left = markedProcesses(); left.length > 0; left = markedProcesses()) {
    for (const id of left)
      try {
        process.kill(id, 'SIGKILL')
      } catch {
        // It has already ended.
      }
    if (performance.now() > deadline) return
    await sleep(50)
  }
}
