/**
 * Finds processes that a script started, directly or not. They have a mark in their environment. Children
 * inherit it, so processes are found even if their parent has ended.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** A mark: `NAME=value`. */
const NAME = 'LAUREL_STARTED_BY'

/** The processes of one server. */
export class Processes {
  #value = randomUUID()

  /** The environment for a child, with the mark. */
  marked(/** @type {NodeJS.ProcessEnv} */ environment) {
    return { ...environment, [NAME]: this.#value }
  }

  /** The ids of those that run. A zombie has no environment, so it is not found. */
  ids() {
    const mark = `${NAME}=${this.#value}`
    if (process.platform === 'linux')
      return readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(mark))
        .map(Number)
    const listed = spawnSync('ps', ['axeww', '-o', 'pid=,command='], {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    })
    return (listed.stdout ?? '')
      .split('\n')
      .filter((line) => line.includes(mark))
      .map((line) => Number.parseInt(line, 10))
  }

  /** Kills each of them. Gives up after `patience` milliseconds. */
  async end(/** @type {number} */ patience) {
    const deadline = performance.now() + patience
    for (let left = this.ids(); left.length > 0; left = this.ids()) {
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
}

/** The environment of a process on Linux; empty if it has ended or belongs to another user. */
function environmentOf(/** @type {string} */ id) {
  try {
    return readFileSync(`/proc/${id}/environ`, 'latin1')
  } catch {
    return ''
  }
}
