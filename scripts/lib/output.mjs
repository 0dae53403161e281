/**
 * What of wrangler's output reaches the terminal. The Worker's own lines always do; wrangler's progress is held until
 * the Worker is ready, to be shown only when it never gets there.
 */
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'

/** wrangler's own line for a request, beside the Worker's. */
const REQUEST_LINE = /^\[wrangler:\w+\] /

/** The Worker's log: one JSON object a line. */
const isLog = (/** @type {string} */ line) => line.startsWith('{')

/** Filters the output of wrangler, line by line. */
export class Output {
  #held = /** @type {{ stdout: string[]; stderr: string[] }} */ ({ stdout: [], stderr: [] })
  #mode = /** @type {'hold' | 'pass' | 'drop'} */ ('hold')

  /**
   * @param {import('node:child_process').ChildProcess} child whose output is piped
   */
  follow(child) {
    for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
      const input = child[name]
      if (input === null) continue
      createInterface({ input }).on('line', (line) => this.#take(name, line))
    }
  }

  /** The Worker is ready: from here on everything passes. */
  pass() {
    this.#mode = 'pass'
    this.#held = { stdout: [], stderr: [] }
  }

  /** The end has begun: only the Worker's own lines pass. */
  drop() {
    this.#mode = 'drop'
  }

  /**
   * What was held: the errors, or where there are none, all.
   *
   * @returns {string}
   */
  held() {
    const lines = this.#held.stderr.length > 0 ? this.#held.stderr : this.#held.stdout
    return lines.join('\n').trim()
  }

  #take(/** @type {'stdout' | 'stderr'} */ name, /** @type {string} */ line) {
    const plain = stripVTControlCharacters(line)
    if (REQUEST_LINE.test(plain)) return
    if (this.#mode === 'pass' || isLog(plain)) process[name].write(`${process[name].isTTY ? line : plain}\n`)
    else if (this.#mode === 'hold') this.#held[name].push(plain)
  }
}
