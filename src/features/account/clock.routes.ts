import type { App } from '../../api/hono'
import { mountForAccount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import type { Jobs } from '../../time/job.types'
import { ClockResponse, MoveClockRequest, MovedClock } from './clock.schemas'
import { moveClock, readClock, requireTestClock, resetClock } from './clock.service'

/** An instance without a test clock has none of these paths (C1). */
const furtherErrors = [404] as const

export const adminTestClockGet = operation({
  id: 'admin_test_clock_get',
  surface: 'admin',
  account: true,
  method: 'get',
  path: '/test-clock',
  summary: "Get the service's time (development only)",
  responses: { 200: { description: 'The time.', body: ClockResponse } },
  furtherErrors,
})

export const adminTestClockSet = operation({
  id: 'admin_test_clock_set',
  surface: 'admin',
  account: true,
  method: 'put',
  path: '/test-clock',
  summary:
    'Move the clock forward, to a moment or by a duration, and run all work that becomes due (development only)',
  body: MoveClockRequest,
  responses: { 200: { description: 'The new time. All due work is done.', body: MovedClock } },
  furtherErrors,
})

export const adminTestClockReset = operation({
  id: 'admin_test_clock_reset',
  surface: 'admin',
  account: true,
  method: 'delete',
  path: '/test-clock',
  summary: 'Return to real time (development only)',
  responses: { 200: { description: 'The real time.', body: ClockResponse } },
  furtherErrors,
})

/** Serves the test clock (C1). `jobs` are all kinds of work that can become due while it moves. */
export const clockRoutes =
  (jobs: Jobs) =>
  (app: App): void => {
    const stage = { find: requireTestClock }
    mountForAccount(app, adminTestClockGet, stage, async (scope) => ok(readClock(scope)))
    mountForAccount(app, adminTestClockSet, stage, async (scope, { body }) =>
      ok(await moveClock(scope, jobs, body)),
    )
    mountForAccount(app, adminTestClockReset, stage, async (scope) => ok(await resetClock(scope, jobs)))
  }
