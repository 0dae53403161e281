/**
 * Keeps the lines that the Worker logs, one for each request, since only the lines of failed tests matter.
 * vitest must not keep them: it sends each line to its main process, and reports an error if a line is still
 * on its way when the file ends. Alarms of objects log at that time too.
 */
import { SEED } from '../seed'

/** The most lines that are kept. */
const KEPT = 1000
const lines: unknown[][] = []
const { error } = console
for (const level of ['debug', 'log', 'info', 'warn', 'error'] as const) {
  console[level] = (...line: unknown[]) => {
    lines.push(line)
    if (lines.length > KEPT) lines.shift()
  }
}

/** The lines so far, the last 1,000 at most. Each is one text, unless a test itself has written it. */
export const linesSoFar = (): readonly string[] => lines.map((line) => line.join(' '))

/** Deletes the lines so far. */
export function forgetLines(): void {
  lines.length = 0
}

export function tellLines(test: string): void {
  error(`Log of "${test}" with TEST_SEED=${SEED}, the last ${KEPT} lines at most:`)
  for (const line of lines) error(...line)
}
