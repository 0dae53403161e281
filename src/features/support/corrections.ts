import { parseRequestSnapshot } from '../../access/tenants.sql.ts'
import { optional, text } from '../../api/fields'
import { configurationAt } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { HOUR, type Instant } from '../../lib/clock'
import { type Micros, micros } from '../../lib/decimal'
import { errors } from '../../lib/errors'
import { MOST_REASON_CHARACTERS } from '../../lib/limits'
import { systemNow, wait } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { isConflict, isDatabaseAway } from '../../platform/guard'
import type { CorrectionChange } from '../../rules/corrections.rules'
import { type Counter, count, NEW_COUNTER, type UserState } from '../../rules/state'
import { IN_LANE, isOver, pauseAfter } from '../../store/commit/commit'
import type { writeUsers } from '../../store/commit/writer'
import { restartSums } from '../../store/day-sums/day-sums.sql.ts'
import { ensureAlarm } from '../../time/timekeeper'
import { requestDrain } from '../../webhooks/delivery/drain'
import { type LogRow, type OwnCounter, readLog, voidedSince } from './voids.sql.ts'

/** Why an admin corrects something, in the body of a request. */
export const Reason = optional(text(MOST_REASON_CHARACTERS))

/**
 * A user's log of one metric, while a void is tried. After a conflict, `read` only reads what has changed.
 */
export class MetricLog {
  readonly #metricId: string
  /** By the user's `seq` of the event. */
  #rows = new Map<number, LogRow>()
  #counters = ''
  #seq = 0
  /** No event that was stored later is before this moment, unless the clock was set back. */
  #from = 0

  constructor(metricId: string) {
    this.#metricId = metricId
  }

  /**
   * Reads the log as of the user's last change. False if another correction came in between; then try again.
   * `clock` is the test clock. Under it, the log is always read whole, because it may have gone back.
   */
  async read(
    db: TenantDatabase,
    user: UserState,
    counters: readonly OwnCounter[],
    clock: Instant | null,
  ): Promise<boolean> {
    const asked = JSON.stringify(counters)
    if (clock !== null || asked !== this.#counters) this.#forget()
    this.#counters = asked
    const { iid, seq } = user
    if (this.#rows.size > 0) {
      for (const gone of await voidedSince(db, { iid, seq: this.#seq }, this.#metricId))
        this.#rows.delete(gone)
    }
    const since = { from: this.#from, known: this.#seq }
    for await (const rows of readLog(db, user, this.#metricId, counters, since)) {
      for (const row of rows) this.#rows.set(row.seq, row)
    }
    this.#seq = seq
    this.#from = Math.max(0, user.changed - HOUR)
    const isWhole = this.#total() === (user.metrics.get(this.#metricId) ?? NEW_COUNTER).total
    if (!isWhole) this.#forget()
    return isWhole
  }

  #forget(): void {
    this.#rows = new Map()
    this.#seq = 0
    this.#from = 0
  }

  #total(): number {
    let total = 0
    for (const { value } of this.#rows.values()) total += value
    return total
  }

  /** The values of the metric in order, without the event of this `seq`. In millionths. */
  valuesWithout(seq: number): Micros[] {
    return this.#inOrder()
      .filter((row) => row.seq !== seq)
      .map(({ value }) => micros(value))
  }

  /** The n-th of the own counters, without the event of this `seq`. */
  counterWithout(seq: number, nth: number): Counter {
    let counter = NEW_COUNTER
    for (const row of this.#inOrder()) {
      if (row.seq !== seq && row.counters.includes(nth)) counter = count(counter, micros(row.value))
    }
    return counter
  }

  /** In the order in which the events were stored. It differs from that of time if a clock went back. */
  #inOrder(): LogRow[] {
    return [...this.#rows.values()].sort((a, b) => a.seq - b.seq)
  }
}

/** How often a correction is tried if the database fails in another way than by a conflict. */
const TRIES = 3

/** The basis of an attempt: the configuration, the test clock (null if not set), and the moment. */
export type Basis = { config: Configuration; clock: Instant | null; now: Instant }

/** The basis of an attempt from the result of `requestSnapshotStatement`. Throws 404 without the tenant. */
export async function basisOf(scope: Scope, snapshot: D1Result): Promise<Basis> {
  const { tenant, clock } = parseRequestSnapshot(snapshot)
  if (tenant === null) throw errors.tenantUnknown()
  return { config: await configurationAt(scope, tenant.configVersion), clock, now: clock ?? systemNow() }
}

/**
 * Repeats an attempt until it returns a result. An attempt that returns null, or throws a conflict, is
 * repeated as in the user's lane, and ends with 429 (E3). If the database fails in another way,
 * the attempt may have been stored. So each attempt first looks for the result of the one before.
 */
export async function untilStored<T>(attempt: () => Promise<T | null>): Promise<T> {
  const began = systemNow()
  let failures = 0
  let isDoubtful = false
  for (let conflicts = 1; ; conflicts += 1) {
    try {
      const result = await attempt()
      if (result !== null) return result
    } catch (error) {
      if (!isConflict(error)) {
        failures += 1
        if (!isDatabaseAway(error) || failures >= TRIES) throw error
        // It may be stored late, and then the next attempt has a conflict. Only the one after that knows.
        isDoubtful = true
        await wait(pauseAfter(IN_LANE, failures, 1))
        continue
      }
    }
    if (!isDoubtful && isOver(IN_LANE, { conflicts, ms: systemNow() - began })) throw errors.contended()
    isDoubtful = false
    await wait(pauseAfter(IN_LANE, conflicts, Math.random()))
  }
}

/** Stores a correction in one batch, and wakes the code that sends messages. Returns the stored iids. */
export async function store(
  scope: Scope,
  { statements, outcome }: ReturnType<typeof writeUsers>,
  further: readonly Statement[],
  last: readonly Statement[] = [],
): Promise<ReadonlySet<string>> {
  const { user, ...others } = statements
  const results = await scope.db.batchOf({ user, further, ...others, last })
  const { stored, hasOutboxEntries, changesDueWork } = outcome(results)
  if (hasOutboxEntries) requestDrain(scope, scope.tenant.id)
  if (changesDueWork) scope.waitUntil(ensureAlarm(scope, scope.tenant.id))
  return stored
}

/** Statements that empty the kept sums of days that a change alters: of its points, and of `metricId`. */
export function restarts(
  db: TenantDatabase,
  { after, awards }: CorrectionChange,
  metricId: string | null,
): Statement[] {
  const systems = [...new Set(awards.map(({ systemId }) => systemId))]
  return [
    ...(metricId === null ? [] : [restartSums(db, after, { log: 'events', id: metricId })]),
    ...systems.map((id) => restartSums(db, after, { log: 'awards', id })),
  ]
}
