import * as z from 'zod'
import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.repository'
import { configurationAt } from '../../config/configuration.repository'
import { type Configuration, metricByKey } from '../../config/configuration.types'
import type { TenantDatabase } from '../../db/database'
import type { UserState } from '../../engine/state.types'
import { isStale } from '../../engine/streaks/streaks.rules'
import type { DueWork } from '../../jobs/due-work.repository'
import { type Instant, instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import type { Tenant, TenantContext } from '../../runtime/context'
import { parseUsedKeys, type UsedKey, usedKeysStatement } from '../../store/events.repository'
import { coveredBy, portionOf, portionStatement, shortAmong } from '../../store/portions.repository'
import { recountStreaks } from '../../store/streaks/streak-recount.service'
import { userOf } from '../../store/users.repository'
import { Commands } from '../command.messages'
import { inboxStatement, parseInbox } from './inbox.repository'
import { byUser, type Item, isAt, itemsOf, type ParkedEvent, type UserJob } from './inbox.rules'
import type { InboxRow } from './inbox.types'

/** The data that a step of the inbox has read: the tenant, its next events, and their users. */
export type StepSnapshot = {
  tenant: Tenant
  config: Configuration
  clock: Instant | null
  /** When its events happen. */
  at: Instant
  rows: readonly InboxRow[]
  items: readonly Item[]
  users: ReadonlyMap<string, readonly UserJob[]>
} & FoundUsers

/**
 * Reads the next events of the inbox and their users. Streaks of these users are first recounted with the
 * current settings.
 */
export async function readWaiting(
  context: TenantContext,
  work: DueWork,
  take: number,
  parked: ParkedEvent | null,
): Promise<StepSnapshot> {
  const { db } = context
  for (;;) {
    const { snapshot, waiting } = await db.batchOf({
      snapshot: requestSnapshotStatement(db, db.tenantId, []),
      waiting: inboxStatement(db),
    })
    const { tenant, clock } = parseRequestSnapshot(snapshot)
    if (tenant === null) throw new Error('the tenant is gone')
    const config = await configurationAt(context, tenant.configVersion)
    // Under a test clock an event happens when it was sent, even if the clock was moved before the event's
    // turn (C1).
    const at = clock === null ? systemNow() : instant(Math.min(work.dueAt, clock))
    const rows = sentBy(at, clock, parseInbox(waiting))
    const asked = itemsOf(rows, take, (event, place) =>
      isAt(parked, place) ? (parked?.reason ?? '') : jobOf(event, at),
    )
    const { unread, ...found } = await readUsers(db, config, byUser(asked))
    // If there was no room to read a user, the step ends before that user's first event. The next step takes
    // the rest.
    const end = asked.findIndex(({ job }) => isOf(job, unread))
    const items = end === -1 ? asked : asked.slice(0, end)
    const users = byUser(items)
    const stale = [...found.states.values()].filter(({ streak }) => isStale(streak, config.streaks))
    if (stale.length === 0) return { tenant, config, clock, at, rows, items, users, ...found }
    await recountStreaks(db, config, stale, at)
  }
}

/** Whether a job belongs to one of these users. */
const isOf = (job: Item['job'], userIds: ReadonlySet<string>): boolean =>
  job !== null && typeof job !== 'string' && job.command.kind === 'event' && userIds.has(job.command.userId)

/**
 * The rows before the first one that was sent later than `at`. There are later ones if the test clock has
 * moved since. They get a turn of their own (C1).
 */
function sentBy(at: Instant, clock: Instant | null, rows: readonly InboxRow[]): readonly InboxRow[] {
  if (clock === null) return rows
  const later = rows.findIndex(({ sent }) => Math.min(sent, clock) > at)
  return later === -1 ? rows : rows.slice(0, later)
}

/** The job of an event in the inbox. Null if its user was erased, the error as text if it cannot be read. */
function jobOf(event: unknown, at: Instant): Item['job'] {
  if (event === null) return null
  const { data, error } = Commands.safeParse([event])
  const [job] = data ?? []
  return job === undefined ? String(error) : { ...job, arrived: at }
}

/** The data that a step has read about users, by user id. */
type FoundUsers = {
  states: ReadonlyMap<string, UserState>
  /**
   * Users whose rows cannot be read, and the errors. Their events are parked, and do not affect other users.
   */
  spoilt: ReadonlyMap<string, unknown>
  usedKeys: ReadonlyMap<string, readonly UsedKey[]>
}

/**
 * Reads the users of events, in their order and as many as there is room for, and the idempotency keys of the
 * events that they have used. The other users are `unread`.
 */
async function readUsers(
  db: TenantDatabase,
  config: Configuration,
  users: ReadonlyMap<string, readonly UserJob[]>,
): Promise<FoundUsers & { unread: ReadonlySet<string> }> {
  const triples = [...users].flatMap(([userId, jobs]) =>
    jobs.flatMap(({ job: { command } }): [string, string, string][] => {
      if (command.kind !== 'event' || command.idempotencyKey === null) return []
      const metric = metricByKey(config, command.metricKey)
      return metric === undefined ? [] : [[userId, metric.id, command.idempotencyKey]]
    }),
  )
  const ids = [...users.keys()]
  const { found, used } = await db.batchOf({
    found: portionStatement(db, { ids }),
    used: triples.length === 0 ? [] : [usedKeysStatement(db, triples)],
  })
  const portion = await portionOf(db, found.results, { short: shortAmong(ids.length) })
  const { rows, covered } = coveredBy(ids, portion)
  const states = new Map<string, UserState>()
  const spoilt = new Map<string, unknown>()
  for (const row of rows) {
    try {
      const state = userOf(row)
      states.set(state.id, state)
    } catch (error) {
      spoilt.set(WithId.parse(row).id, error)
    }
  }
  const unread = new Set(ids.slice(covered))
  return {
    states,
    spoilt,
    unread,
    usedKeys: Map.groupBy(used.flatMap(parseUsedKeys), ({ userId }) => userId),
  }
}

const WithId = z.object({ id: z.string() })
