import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach } from 'vitest'

await applyD1Migrations(env.DB, env.MIGRATIONS)

// The Worker logs a line a request; only those of a test that fails are worth reading. They are kept here, and not by vitest, which
// sends each to its main process and counts it as an error if one is still on its way when the file ends: objects' alarms log then too.
const LINES_KEPT = 1000
const lines: unknown[][] = []
const tell = console.error
for (const level of ['debug', 'log', 'info', 'warn', 'error'] as const) {
  console[level] = (...line: unknown[]) => {
    lines.push(line)
    if (lines.length > LINES_KEPT) lines.shift()
  }
}

beforeEach(({ onTestFailed, task }) => {
  lines.length = 0
  onTestFailed(() => {
    tell(`What was logged in "${task.name}", the last ${LINES_KEPT} lines at most:`)
    for (const line of lines) tell(...line)
  })
})
