/**
 * What the Worker logs, a line a request, of which only those of a test that fails are worth reading. It is kept here, and not by vitest, which
 * sends each line to its main process and counts it as an error if one is still on its way when the file ends: objects' alarms log then too.
 */

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

/** Forgets what was logged until now. */
export function forgetLines(): void {
  lines.length = 0
}

/** Prints what was logged in a test. */
export function tellLines(test: string): void {
  error(`What was logged in "${test}", the last ${KEPT} lines at most:`)
  for (const line of lines) error(...line)
}
