import type { Reporter, TestCase } from 'vitest/node'

export type Outcome = {
  seed: number
  users: number
  events: number
  awards: number
  /** Faults by boundary and kind, and faults from outside. */
  faults: Record<string, number>
  /** Requests that were sent again after a failure. */
  retries: number
  conflicts: number
  /** Calls of users' lanes. */
  lanes: number
  /** Messages that arrived, and messages that were given up. */
  delivered: number
  dead: number
  seconds: number
  /** Violated invariants. */
  broken: string[]
}

declare module 'vitest' {
  interface TaskMeta {
    simulation?: Outcome
  }
}

/** Prints a line for each seed as soon as it is played, and the sums at the end. */
export default class SimulationReporter implements Reporter {
  readonly #outcomes: Outcome[] = []
  /** Worlds without an outcome: they could not be played to their end. */
  #unplayed = 0

  onTestCaseResult(test: TestCase): void {
    const outcome = test.meta().simulation
    if (outcome === undefined) {
      this.#unplayed += 1
      const errors = test.result().errors ?? []
      process.stdout.write(
        `${test.fullName}: ${errors.map(({ stack, message }) => stack ?? message).join()}\n`,
      )
      return
    }
    if (this.#outcomes.length === 0) process.stdout.write(`${HEAD}\n`)
    this.#outcomes.push(outcome)
    process.stdout.write(`${row(String(outcome.seed), [outcome])}\n`)
    for (const one of outcome.broken) process.stdout.write(`      ${one}\n`)
  }

  onTestRunEnd(): void {
    if (this.#unplayed > 0)
      process.stdout.write(`\n${this.#unplayed} seeds could not be played to their end\n`)
    if (this.#outcomes.length === 0) return
    process.stdout.write(`${row('all', this.#outcomes)}\n\nfaults:\n`)
    const kinds = new Set(this.#outcomes.flatMap(({ faults }) => Object.keys(faults)))
    for (const kind of [...kinds].sort()) {
      const count = sum(this.#outcomes.map(({ faults }) => faults[kind] ?? 0))
      process.stdout.write(`  ${kind.padEnd(20)}${String(count).padStart(8)}\n`)
    }
    const bad = this.#outcomes.filter(({ broken }) => broken.length > 0).map(({ seed }) => seed)
    const all = this.#outcomes.length
    process.stdout.write(
      bad.length === 0
        ? `\nall of the ${all} seeds that were played hold\n`
        : `\n${bad.length} of ${all} seeds are broken: ${bad.join(', ')}. To repeat one: npm run simulate -- --seed ${bad[0]}\n`,
    )
  }
}

const COLUMNS = [
  ...(['users', 'events', 'awards', 'faults', 'retries'] as const),
  ...(['conflicts', 'lanes', 'delivered', 'dead', 'seconds'] as const),
]

const WIDTH = 10

const HEAD = ['seed', ...COLUMNS].map((name) => name.padStart(WIDTH)).join('')

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0)

/** A line of the table: the sums of some outcomes. */
function row(name: string, outcomes: readonly Outcome[]): string {
  const totals = COLUMNS.map((column) => {
    const of = (one: Outcome) => (column === 'faults' ? sum(Object.values(one.faults)) : one[column])
    const total = sum(outcomes.map(of))
    return column === 'seconds' ? total.toFixed(1) : String(total)
  })
  const broken = sum(outcomes.map((one) => one.broken.length))
  const cells = [name, ...totals].map((cell) => cell.padStart(WIDTH))
  return `${cells.join('')}  ${broken === 0 ? 'OK' : `${broken} BROKEN`}`
}
