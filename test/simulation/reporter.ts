import type { Reporter, TestCase } from 'vitest/node'

/** The outcome of a seed. */
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
    process.stdout.write(`${row(String(outcome.seed), outcome)}\n`)
    for (const one of outcome.broken) process.stdout.write(`      ${one}\n`)
  }

  onTestRunEnd(): void {
    if (this.#unplayed > 0)
      process.stdout.write(`\n${this.#unplayed} seeds could not be played to their end\n`)
    if (this.#outcomes.length === 0) return
    const kinds = new Set(this.#outcomes.flatMap(({ faults }) => Object.keys(faults)))
    const sum = (of: (outcome: Outcome) => number) => this.#outcomes.reduce((all, one) => all + of(one), 0)
    const faults = Object.fromEntries(
      [...kinds].sort().map((kind) => [kind, sum((one) => one.faults[kind] ?? 0)]),
    )
    const total: Outcome = {
      ...{ seed: 0, faults, broken: this.#outcomes.flatMap(({ broken }) => broken) },
      ...{ users: sum(({ users }) => users), events: sum(({ events }) => events) },
      ...{ awards: sum(({ awards }) => awards), retries: sum(({ retries }) => retries) },
      ...{ conflicts: sum(({ conflicts }) => conflicts), lanes: sum(({ lanes }) => lanes) },
      ...{ delivered: sum(({ delivered }) => delivered), dead: sum(({ dead }) => dead) },
      seconds: sum(({ seconds }) => seconds),
    }
    process.stdout.write(`${row('all', total)}\n\nfaults:\n`)
    for (const [kind, count] of Object.entries(faults)) {
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

const HEAD = '  seed  users   events   awards   faults  retries conflicts  lanes delivered   dead  seconds'

function row(name: string, outcome: Outcome): string {
  const faults = Object.values(outcome.faults).reduce((sum, count) => sum + count, 0)
  const { users, events, awards, retries, conflicts, lanes, delivered, dead, seconds, broken } = outcome
  const cells: [number | string, number][] = [
    ...([
      [name, 6],
      [users, 7],
      [events, 9],
      [awards, 9],
      [faults, 9],
    ] as const),
    ...([
      [retries, 9],
      [conflicts, 10],
      [lanes, 7],
      [delivered, 10],
      [dead, 7],
    ] as const),
    [seconds.toFixed(1), 9],
  ].map(([value, width]) => [value ?? '', Number(width)])
  const line = cells.map(([value, width]) => String(value).padStart(width)).join('')
  return `${line}  ${broken.length === 0 ? 'OK' : `${broken.length} BROKEN`}`
}
