import type * as z from 'zod'
import {
  moveTestClock,
  moveTestClockFrom,
  readTestClock,
  removeTestClock,
} from '../../access/clock.repository'
import { auditEntriesIf } from '../../configuration/audit/audit.repository'
import type { AuditAction, AuditEntry } from '../../configuration/audit/audit.types'
import { type Instant, iso } from '../../lib/clock'
import { type Duration, later } from '../../lib/durations'
import { ApiError, errors } from '../../lib/errors'
import { MOST_CLOCK_DAYS } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import { DAY } from '../../lib/units'
import type { AccountScope } from '../../platform/context'
import type { AccountDatabase } from '../../platform/database'
import { changeClocks, doubtCopies } from '../../platform/databases/clock-changes'
import { forgetSums } from '../../store/day-sums/day-sums.service'
import { capDueTimes } from '../../time/due-work.repository'
import type { Jobs } from '../../time/job.types'
import { catchUpAll, wakeAll } from '../../time/timekeeper.service'
import { shortenQuiet } from '../../webhooks/outbox/points-notifications.repository'
import { requestNewPasses, requestPasses, restartPasses } from '../analytics/passes.service'
import { restartTriggers, restartTriggersElsewhere } from '../points/schedule.service'
import type { ClockResponse, MoveClockRequest } from './clock.schemas'

/** How often a move by a duration is attempted. Of parallel moves, at least one succeeds in each round. */
const MOST_ATTEMPTS = 100

type Clock = z.infer<typeof ClockResponse>

/** Throws 404 unless the test clock is on: without it, its paths don't exist (C1). */
export function requireTestClock({ variables }: AccountScope): void {
  if (variables.TEST_CLOCK !== 'on') throw errors.noSuchPath()
}

/** The service's time (C1). */
export function readClock({ now }: AccountScope): Clock {
  return { now: iso(now) }
}

/**
 * Moves the test clock forward, to a moment or by a duration. Returns when all work that becomes due is done
 * (C1). Throws 422 if the move is too far or backward, also if a parallel move makes it backward. Throws 429
 * if too many parallel moves get in first.
 */
export async function moveClock(
  scope: AccountScope,
  jobs: Jobs,
  { now: moment, advance }: z.output<typeof MoveClockRequest>,
): Promise<Clock> {
  const { from, to } =
    advance === undefined ? await moveTo(scope, moment ?? scope.now) : await moveBy(scope, advance)
  await inEach(scope, (db) => db.run(requestPasses(db, to)))
  await catchUpAll(scope, jobs, from, to)
  const results = await inEach(scope, (db) => db.run(requestNewPasses(db, to)))
  if (results.some(({ meta }) => meta.changes > 0)) await catchUpAll(scope, jobs, to, to)
  return { now: iso(to) }
}

const inEach = <T>({ databases }: AccountScope, work: (db: AccountDatabase) => Promise<T>): Promise<T[]> =>
  Promise.all(databases.names.map((name) => work(databases.named(name))))

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
export async function resetClock(scope: AccountScope, jobs: Jobs): Promise<Clock> {
  const { db, databases } = scope
  const now = systemNow()
  const entry = { subject: null, entry: clockEntry('reset', scope.now, now) }
  const beside = [
    capDueTimes(db, jobs.list, now),
    shortenQuiet(db, now),
    forgetSums(db),
    ...restartPasses(db, now),
    // Versions were raised in the first database only, so each copy is compared with the original.
    ...doubtCopies(),
  ]
  const audit = auditEntriesIf(scope, [entry], IS_SET)
  await changeClocks(
    databases,
    (guards, elsewhere) => {
      const triggers = restartTriggers(db, now, elsewhere)
      return db.batch([...guards, ...audit, ...triggers, ...beside, removeTestClock(db)])
    },
    [...restartTriggersElsewhere(db, now), ...beside],
  )
  await wakeAll(scope, jobs)
  return { now: iso(systemNow()) }
}

/** SQL: the test clock is before the time of the entry's subject, shows this time, or is set. */
const SUBJECT = 'CAST(value ->> 0 AS INTEGER)'
const IS_BEFORE = `coalesce((SELECT now FROM test_clock), 0) < ${SUBJECT}` as const
const IS_AT = `(SELECT now FROM test_clock) IS ${SUBJECT}` as const
const IS_SET = 'EXISTS (SELECT 1 FROM test_clock)'

/** The entry of the audit log about a change of the service's time (Z1). */
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
