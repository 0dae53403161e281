import { reset } from 'cloudflare:test'
import { afterAll, beforeEach, vi } from 'vitest'
import { seedTests } from '../seed'
import { beginTime } from '../time'
import { deleteData } from './delete-data'
import { forgetLines, tellLines } from './lines'
import './time'

// Files share a Worker, so that its modules are read once. Each file has its own data, mocks, time and random
// numbers.
seedTests()
beginTime()
vi.restoreAllMocks()
vi.unstubAllGlobals()
await deleteData()

beforeEach(({ onTestFailed, task }) => {
  forgetLines()
  onTestFailed(() => tellLines(task.name))
})

// Without this, alarms go on after the last file. They load modules, which fails when the tests are over.
afterAll(() => reset())
