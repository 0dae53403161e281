/**
 * The processes of one side of the comparison, in a folder of their own. They can be stopped or killed, and
 * started again on the same state.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Complaint, inProject, nodeExecutable } from '../../scripts/lib/project.mjs'
import { freePort } from '../lib/project.mjs'

/** Timeouts in milliseconds: to become ready, to end by themselves, to be killed. */
const READY = 20_000
const GRACE = 5000
const KILL = 1000

/** How much output is stored for a failure, in characters. */
const KEPT = 8000

/** All of this run, so that all can be stopped. */
const started = /** @type {Set<Runs>} */ (new Set())

let isOver = false

/** Stops the processes of all sides for good. Nothing starts after that. */
export function stopRuns() {
  isOver = true
  return Promise.all([...started].map((runs) => runs.stop()))
}

/** @typedef {Awaited<ReturnType<typeof newRuns>>} NewRuns */

/**
 * A free port, and a copy of the module that finds processes: each side has its own, and so a mark of its
 * own.
 */
export async function newRuns() {
  const port = await freePort()
  const marks = /** @type {typeof import('../../scripts/lib/processes.mjs')} */ (
    await import(`../../scripts/lib/processes.mjs?of=${port}`)
  )
  return { port, marks }
}

/** The processes of one side. */
export class Runs {
  /** Gets the output while it is set. */
  listener = /** @type {((part: string) => void) | null} */ (null)
  #children = /** @type {import('node:child_process').ChildProcess[]} */ ([])
  #said = ''

  /** @param {NewRuns & { folder: string }} how */
  constructor({ folder, port, marks }) {
    this.folder = folder
    this.port = port
    this.marks = marks
    started.add(this)
  }

  /** Waits until `/health` answers 200. Throws a Complaint with the output if a process ends before. */
  async ready() {
    for (const deadline = performance.now() + READY; ; await sleep(50)) {
      const isOut = this.#children.some(
        ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null,
      )
      if (isOver || isOut || performance.now() > deadline)
        throw new Complaint(`${this.#said.trim()}\n\nThe side in ${this.folder} does not start.`)
      const url = `http://127.0.0.1:${this.port}/health`
      const answer = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => null)
      await answer?.arrayBuffer()
      if (answer?.status === 200) return
    }
  }

  /** Ends all. Their state stays. */
  async stop() {
    const ended = this.#children
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .map((child) => {
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        return exit
      })
    this.#children = []
    if (ended.length > 0) await Promise.race([Promise.all(ended), sleep(GRACE, undefined, { ref: false })])
    await this.marks.endMarked(KILL)
  }

  /** Kills all at once. Their state stays. */
  async kill() {
    this.#children = []
    await this.marks.endMarked(KILL)
  }

  /** The ids of the processes. @returns {number[]} */
  processes() {
    return this.marks.markedProcesses()
  }

  /**
   * Runs a script with the Node of the project. It ends with this process.
   *
   * @param {string} script
   * @param {{ args: string[]; variables: Record<string, string> }} what
   */
  runNode(script, { args, variables }) {
    const tether = inProject('scripts', 'lib', 'tether.mjs')
    return this.run(nodeExecutable(), ['--import', tether, script, ...args], variables)
  }

  /**
   * Runs a program, and stores the first part of its output.
   *
   * @param {string} command
   * @param {string[]} args
   * @param {Record<string, string>} [variables]
   */
  run(command, args, variables = {}) {
    if (isOver) throw new Complaint('The bench is ending, so nothing is started.')
    const child = spawn(command, args, {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: this.marks.marked({ ...process.env, ...variables }),
    })
    const hear = (/** @type {string} */ part) => {
      this.listener?.(part)
      if (this.#said.length < KEPT) this.#said += part
    }
    child.stdout?.setEncoding('utf8').on('data', hear)
    child.stderr?.setEncoding('utf8').on('data', hear)
    child.on('error', (error) => hear(error.message))
    this.#children.push(child)
    return child
  }
}
