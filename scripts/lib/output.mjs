/**
 * Filters wrangler's output for the terminal: the Worker's log, without the requests of the start script
 * itself. Until the Worker is ready, only its warnings and errors are shown. Wrangler's own lines are held
 * until then, and shown only if the start fails.
 */
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'

/** Wrangler's own line for a request; the Worker logs one too. */
const REQUEST_LINE = /^\[wrangler:\w+\] /

/** A line of the Worker's log: one JSON object. */
const isLog = (/** @type {string} */ line) => line.startsWith('{')

/** A line of the log that only says that a request or other work has ended. */
const isInfo = (/** @type {string} */ line) => line.startsWith('{"level":"info"')

/** Filters the output of wrangler, line by line. */
export class Output {
  #held = /** @type {{ stdout: string[]; stderr: string[] }} */ ({ stdout: [], stderr: [] })
  #mode = /** @type {'hold' | 'pass' | 'drop'} */ ('hold')
  /** The ids of the start script's own requests. */
  #own = /** @type {string[]} */ ([])

  /** @param {import('node:child_process').ChildProcess} child its output is piped */
  follow(child) {
    for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
      const input = child[name]
      if (input === null) continue
      createInterface({ input }).on('line', (line) => this.#take(name, line))
    }
  }

  /**
   * Sends a request of the start script itself. Its log line is never shown.
   *
   * @type {typeof fetch}
   */
  fetch = async (input, init) => {
    const answer = await fetch(input, init)
    const id = answer.headers.get('x-request-id')
    if (id !== null) this.#own.push(id)
    return answer
  }

  /** The Worker is ready: from now on all lines are shown. */
  pass() {
    this.#mode = 'pass'
    this.#held = { stdout: [], stderr: [] }
  }

  /** The process is ending: only the Worker's own lines are shown. */
  drop() {
    this.#mode = 'drop'
  }

  /** The held lines: the errors, or all lines if there are no errors. */
  held() {
    const lines = this.#held.stderr.length > 0 ? this.#held.stderr : this.#held.stdout
    return lines.join('\n').trim()
  }

  #take(/** @type {'stdout' | 'stderr'} */ name, /** @type {string} */ line) {
    const plain = stripVTControlCharacters(line)
    if (REQUEST_LINE.test(plain)) return
    if (isInfo(plain) && (this.#mode === 'hold' || this.#own.some((id) => plain.includes(id)))) return
    if (this.#mode === 'pass' || isLog(plain)) process[name].write(`${process[name].isTTY ? line : plain}\n`)
    else if (this.#mode === 'hold') this.#held[name].push(plain)
  }
}
