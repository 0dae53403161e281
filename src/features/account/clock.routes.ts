import * as z from 'zod'
import {
  beginMove,
  changeClocks,
  doubtCopies,
  type Going,
  moveTestClock,
  moveTestClockFrom,
  noteMove,
  readMove,
  readTestClock,
  removeTestClock,
} from '../../access/clock.sql.ts'
import { accepted, type Endpoint, endpointsOf, ok } from '../../api/endpoint'
import { MomentField, optional, rule, Timestamp, withIssues } from '../../api/fields'
import type { AuditAction, AuditEntry } from '../../configuration/audit.rules'
import { auditEntriesIf } from '../../configuration/audit.sql.ts'
import {
  DAY,
  type Duration,
  type Instant,
  iso,
  later,
  parseDuration,
  SECOND,
  signOfOversized,
} from '../../lib/clock'
import { ApiError, errors } from '../../lib/errors'
import { MOST_CLOCK_DAYS } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import type { AccountScope, Context } from '../../platform/context'
import type { AccountDatabase, Statement } from '../../platform/database'
import { logProblem } from '../../platform/log'
import { forgetSums } from '../../store/day-sums/day-sums.sql.ts'
import type { Jobs } from '../../time/job'
import { catchUpAll, dueTenants, wakeAll } from '../../time/timekeeper'
import { capDueTimes, countAhead, scheduleEverywhere } from '../../time/timekeeper.sql.ts'
import { capPendingNotifications } from '../../webhooks/outbox/pending.sql.ts'
import { shortenQuiet } from '../../webhooks/outbox/points-changed.sql.ts'
import { requestNewPasses, requestPasses, restartPasses } from '../analytics/counting'
import { restartTicks, restartTicksElsewhere } from '../points/ticks'
import { capSettings } from '../streaks/admin.routes'

const MOST_DURATION_CHARACTERS = 100

const Advance = z
  .string()
  .max(MOST_DURATION_CHARACTERS)
  .meta({ format: 'duration' })
  .transform((text, context): Duration => {
    const duration = parseDuration(text)
    if (duration !== null && duration.sign >= 0) return duration
    const sign = duration?.sign ?? signOfOversized(text)
    if (sign === null) context.addIssue('must be an ISO 8601 duration, such as P1D or PT1H30M')
    else if (sign < 0) context.addIssue('must not be negative, since the clock only moves forward')
    else context.addIssue(`must be at most ${MOST_CLOCK_DAYS} days. Move in smaller steps`)
    return z.NEVER
  })

const isGiven = (field: unknown) => field !== undefined && field !== null

/** How to move the test clock: to a moment, or by a duration (C1). */
export const MoveClockRequest = z
  .object({
    now: optional(MomentField),
    advance: optional(Advance),
  })
  .refine(
    ({ now, advance }) => isGiven(now) || isGiven(advance),
    rule('now', 'must be an ISO 8601 timestamp, and is missing. Pass it, or advance instead'),
  )
  .refine(
    ({ now, advance }) => !isGiven(now) || !isGiven(advance),
    rule('advance', 'must not be passed together with now. Pass one of the two'),
  )
  .meta({ id: 'MoveClockRequest' })

/** The service's time (C1). */
export const ClockResponse = z.object({ now: Timestamp }).meta({ id: 'ClockResponse' })

const Moving = z.object({ tenants: z.int().min(0), progress: z.number().min(0).max(1) })

/** The time, and what is left of a move whose work goes on (C1). */
export const ClockState = ClockResponse.extend({ moving: Moving.optional() }).meta({ id: 'ClockState' })

/** The time after a move. */
export const MovedClock = withIssues('MovedClock', ClockResponse)

/** How often a move by a duration is attempted. Of parallel moves, at least one succeeds in each round. */
const MOST_ATTEMPTS = 100

type Clock = z.infer<typeof ClockResponse>

/** Throws 404 unless the test clock is on: without it, its paths don't exist (C1). */
function requireTestClock({ variables }: AccountScope): void {
  if (variables.TEST_CLOCK !== 'on') throw errors.noSuchPath()
}

/**
 * Moves the test clock forward, to a moment or by a duration. Returns when all work that becomes due is done,
 * or with `isAsync` at once (C1). Throws 422 if the move is too far or backward, also if a parallel move makes
 * it backward. Throws 429 if too many parallel moves get in first.
 */
async function moveClock(
  scope: AccountScope,
  jobs: Jobs,
  { now: moment, advance }: z.output<typeof MoveClockRequest>,
  isAsync: boolean,
): Promise<Clock> {
  const move = await (advance === undefined ? moveTo(scope, moment ?? scope.now) : moveBy(scope, advance))
  await (isAsync ? workOffLater(scope, jobs, move) : workOff(scope, jobs, move))
  return { now: iso(move.to) }
}

async function workOff(scope: AccountScope, jobs: Jobs, { from, to }: Move): Promise<void> {
  await inEach(scope, (db) => db.run(requestPasses(db, to)))
  await catchUpAll(scope, jobs, from, to)
  const results = await inEach(scope, (db) => db.run(requestNewPasses(db, to)))
  if (results.some(({ meta }) => meta.changes > 0)) await catchUpAll(scope, jobs, to, to)
  await noteMove(scope.db, to, null)
}

/** For how long a move without due work counts as under way after it was seen at work: its request may have ended. */
const SEEN_FOR = 5 * SECOND

/**
 * The same after the answer. If it fails, the work is left to the Timekeepers, as after a crash (C2). If
 * they can't be woken then, the cron trigger wakes them.
 */
async function workOffLater(scope: AccountScope, jobs: Jobs, move: Move): Promise<void> {
  const { size: tenants } = await dueTenants(scope, jobs.list, move.to)
  await beginMove(scope.db, move.to, { from: move.from, tenants, progress: 0, seen: systemNow() })
  const log = (error: unknown) =>
    logProblem('error', { work: 'clock', error: `a move of the test clock stopped: ${String(error)}` })
  const work = workOff(scope, jobs, move).catch((error: unknown) => {
    log(error)
    return wakeAll(scope, jobs)
  })
  scope.waitUntil(work.catch(log))
}

/** The time, and how far a move has come that is not done (C1). */
async function readClock(scope: AccountScope, jobs: Jobs): Promise<z.infer<typeof ClockState>> {
  const { db, now } = scope
  const move = await readMove(db)
  // Other work that is due, such as that of an event, may wait for as long as the clock stands still.
  if (move === null) return { now: iso(now) }
  const due = await dueTenants(scope, jobs.list, now)
  const seen = due.size > 0 ? systemNow() : move.seen
  const isGoing = systemNow() - seen < SEEN_FOR
  const progress = progressOf(move, now, due)
  await noteMove(db, now, isGoing ? { ...move, progress, seen } : null)
  return { now: iso(now), ...(isGoing && { moving: { tenants: due.size, progress } }) }
}

/** The share of a move that is done: whole tenants, and of each other one the time that its work has come. */
function progressOf(
  { from, tenants, progress }: Going,
  to: Instant,
  due: ReadonlyMap<string, Instant>,
): number {
  const shareOf = (dueAt: Instant) => (dueAt - from) / Math.max(1, to - from)
  const left = [...due.values()].reduce((sum, dueAt) => sum + 1 - Math.max(0, Math.min(1, shareOf(dueAt))), 0)
  return Math.max(progress, Math.min(0.99, 1 - left / Math.max(1, tenants, due.size)))
}

const inEach = <T>(
  { databases }: Pick<Context, 'databases'>,
  work: (db: AccountDatabase) => Promise<T>,
): Promise<T[]> => Promise.all(databases.names.map((name) => work(databases.named(name))))

type Move = { from: Instant; to: Instant }

async function moveTo(scope: AccountScope, to: Instant): Promise<Move> {
  const { databases, now } = scope
  if (isTooFar(now, to)) throw tooFar('now', now)
  if (to < now) throw backward(now)
  const entry = { subject: String(to), entry: clockEntry('update', now, to) }
  const present = await moveTestClock(databases, to, auditEntriesIf(scope, [entry], IS_BEFORE))
  if (present > to) throw backward(present)
  return { from: now, to }
}

/** Each parallel move begins at the time that the move before it has set, so that no move is lost. */
async function moveBy(scope: AccountScope, duration: Duration): Promise<Move> {
  const { db, databases } = scope
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const present = await readTestClock(db)
    const from = present ?? systemNow()
    const to = later(from, duration)
    if (to === null || isTooFar(from, to)) throw tooFar('advance', from)
    const subject = present === null ? null : String(present)
    const entry = { subject, entry: clockEntry('update', from, to) }
    const audit = present === to ? [] : auditEntriesIf(scope, [entry], IS_AT)
    if (await moveTestClockFrom(databases, present, to, audit)) return { from, to }
  }
  throw new ApiError(429, 'Too many requests move the clock at the same time. Try again in a second.', 1)
}

/** Returns to real time. Time triggers start again from that time (C1, P4). */
async function resetClock(scope: AccountScope, jobs: Jobs): Promise<Clock> {
  const now = systemNow()
  const entry = { subject: null, entry: clockEntry('reset', scope.now, now) }
  await goBack(scope, jobs, now, auditEntriesIf(scope, [entry], IS_SET))
  await wakeAll(scope, jobs)
  return { now: iso(systemNow()) }
}

const ALL_WEBHOOKS = "SELECT tenant_id, 'webhook:' || id AS subject FROM webhooks WHERE deleted IS NULL"
const ALL_CHANNELS = `
  SELECT id AS tenant_id, channel || ':' || id AS subject
  FROM tenants, (SELECT 'email' AS channel UNION ALL SELECT 'push')`

/**
 * If the clock of the machine was ahead and was set right, work is due further ahead than it can be. Then all
 * work is due now, as after a test clock (C3). Delivery queues are called too: their alarms may be as late.
 */
export async function noticeClock(context: Context, jobs: Jobs): Promise<void> {
  const { db, databases } = context
  if ((await readTestClock(db)) !== null) return
  const now = systemNow()
  const counts = await inEach(context, (one) => countAhead(one, jobs.list, now))
  const ahead = counts.reduce((sum, count) => sum + count, 0)
  if (ahead === 0) return
  logProblem('warn', {
    work: 'clock',
    error: `the clock was ahead: ${ahead} due times were further ahead than they can be, and are now`,
  })
  await goBack(context, jobs, now, [])
  const all = [ALL_WEBHOOKS, ALL_CHANNELS] as const
  await databases.first.batch(all.map((query) => scheduleEverywhere(db, 'delivery', now, query)))
}

/** Brings everything that is due back to the time `now`, because the clock went back. */
async function goBack(
  { db, databases }: Pick<Context, 'db' | 'databases'>,
  jobs: Jobs,
  now: Instant,
  audit: readonly Statement[],
): Promise<void> {
  const beside = [
    capDueTimes(db, jobs.list, now),
    shortenQuiet(db, now),
    capPendingNotifications(db, now),
    forgetSums(db),
    ...restartPasses(db, now),
    // Versions were raised in the first database only, so each copy is compared with the original.
    ...doubtCopies(),
  ]
  await changeClocks(
    databases,
    (guards, elsewhere) => {
      const triggers = restartTicks(db, now, elsewhere)
      const here = [...triggers, capSettings(db, now), ...beside]
      return db.batch([...guards, ...audit, ...here, removeTestClock(db)])
    },
    [...restartTicksElsewhere(db, now), ...beside],
  )
}

/** SQL: the test clock is before the time of the entry's subject, shows this time, or is set. */
const SUBJECT = 'CAST(value ->> 0 AS INTEGER)'
const IS_BEFORE = `coalesce((SELECT now FROM test_clock), 0) < ${SUBJECT}` as const
const IS_AT = `(SELECT now FROM test_clock) IS ${SUBJECT}` as const
const IS_SET = 'EXISTS (SELECT 1 FROM test_clock)'

const clockEntry = (action: AuditAction, from: Instant, to: Instant): AuditEntry => ({
  ...{ action, kind: 'test_clock', resourceId: null, key: null, user: null },
  fields: { now: { before: iso(from), after: iso(to) } },
})

const isTooFar = (now: Instant, to: Instant) => to - now > MOST_CLOCK_DAYS * DAY

const tooFar = (field: string, now: Instant) =>
  errors.unprocessable(
    `${field}: must be at most ${MOST_CLOCK_DAYS} days ahead of the present ${iso(now)}. Move in smaller steps.`,
  )

const backward = (present: Instant) =>
  errors.unprocessable(
    `now: must not be before the present, ${iso(present)}. The clock only moves forward; DELETE returns to real time.`,
  )

/** The preference of a client that does not wait (RFC 7240). */
const ASYNC = /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i

/** An instance without a test clock has none of these paths (C1). */
const furtherErrors = [404] as const

const endpoint = endpointsOf('admin')

const stage = { find: requireTestClock }

/** The endpoints of the test clock (C1). `jobs` are all kinds of work that can become due while it moves. */
export const clockEndpoints = (jobs: Jobs): Endpoint[] => [
  endpoint(
    'GET /test-clock',
    {
      id: 'admin_test_clock_get',
      account: true,
      summary: "Get the service's time (development only)",
      responses: { 200: { description: 'The time, and the progress of a move.', body: ClockState } },
      furtherErrors,
    },
    stage,
    async (scope) => ok(await readClock(scope, jobs)),
  ),
  endpoint(
    'PUT /test-clock',
    {
      id: 'admin_test_clock_set',
      account: true,
      summary:
        'Move the clock forward, to a moment or by a duration, and run all work that becomes due (development only)',
      headers: z.object({ prefer: z.string().optional() }),
      body: MoveClockRequest,
      responses: {
        200: { description: 'The new time. All due work is done.', body: MovedClock },
        202: {
          description: 'The new time, with `Prefer: respond-async`. The work goes on.',
          body: MovedClock,
          headers: { 'Preference-Applied': '`respond-async`.' },
        },
      },
      furtherErrors,
    },
    stage,
    async (scope, { headers, body }) => {
      const isAsync = ASYNC.test(headers.prefer ?? '')
      const clock = await moveClock(scope, jobs, body, isAsync)
      return isAsync ? accepted(clock, { 'Preference-Applied': 'respond-async' }) : ok(clock)
    },
  ),
  endpoint(
    'DELETE /test-clock',
    {
      id: 'admin_test_clock_reset',
      account: true,
      summary: 'Return to real time (development only)',
      responses: { 200: { description: 'The real time.', body: ClockResponse } },
      furtherErrors,
    },
    stage,
    async (scope) => ok(await resetClock(scope, jobs)),
  ),
]
