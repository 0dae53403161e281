import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeEach, vi } from 'vitest'
import { forgetLines, tellLines } from './lines'

// Files share a Worker, so that its modules are read once. Each file has its own data and mocks.
vi.restoreAllMocks()
vi.unstubAllGlobals()
await reset()
await applyD1Migrations(env.DB, env.MIGRATIONS)
// A failure during an upgrade is a 503. The tests begin long after it.
await env.DB.prepare("UPDATE d1_migrations SET applied_at = '2026-01-01'").run()

beforeEach(({ onTestFailed, task }) => {
  forgetLines()
  onTestFailed(() => tellLines(task.name))
})

// Without this, alarms go on after the last file. They load modules, which fails when the tests are over.
afterAll(() => reset())
