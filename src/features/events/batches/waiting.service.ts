import * as z from 'zod'
import { parseRequestSnapshot, requestSnapshotStatement } from '../../../access/tenants.repository'
import { configurationAt } from '../../../configuration/configuration.repository'
import { type Configuration, metricByKey } from '../../../configuration/configuration.types'
import { type Instant, instant } from '../../../lib/clock'
import { MOST_AT_ONCE } from '../../../lib/packed'
import { systemNow } from '../../../lib/system-clock'
import { MINUTE } from '../../../lib/units'
import type { Tenant, TenantContext } from '../../../platform/context'
import type { TenantDatabase } from '../../../platform/database'
import { isDatabaseAway } from '../../../platform/guard'
import type { UserState } from '../../../rules/state.types'
import { isStale } from '../../../rules/streaks/streaks.rules'
import { erasuresStatement, parseErasures } from '../../../store/counters.repository'
import {
  parseRecordedAmong,
  parseUsedKeys,
  type Recorded,
  recordedAmongStatement,
  type UsedKey,
  usedKeysStatement,
} from '../../../store/events.repository'
import { coveredBy, portionOf, portionStatement, shortAmong } from '../../../store/portions.repository'
import { recountStreaks } from '../../../store/streaks/streak-recount.service'
import { userOf } from '../../../store/users.repository'
import type { DueWork } from '../../../time/due-work.repository'
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
      isAt(parked, place) ? (parked?.reason ?? '') : jobOf(context, event, at),
    )
    const { unread, ...found } = await readUsers(context, config, byUser(asked))
    // If there was no room to read a user, the step ends before that user's first event. The next step takes
    // the rest.
    const end = asked.findIndex(({ job }) => isOf(job, unread))
    const items = end === -1 ? asked : asked.slice(0, end)
    const users = byUser(items)
    let isRecounted = false
    for (const { db: place, userIds } of found.groups) {
      const stale = userIds.flatMap((id) => {
        const state = found.states.get(id)
        return state !== undefined && isStale(state.streak, config.streaks) ? [state] : []
      })
      if (stale.length === 0) continue
      await recountStreaks(place, config, stale, at)
      isRecounted = true
    }
    if (!isRecounted) return { tenant, config, clock, at, rows, items, users, ...found }
  }
}

const isOf = (job: Item['job'], userIds: ReadonlySet<string>): boolean =>
  job !== null && typeof job !== 'string' && job.command.kind === 'event' && userIds.has(job.command.userId)

/** The rows before one sent after `at`. If the test clock moved, later ones get their own turn (C1). */
function sentBy(at: Instant, clock: Instant | null, rows: readonly InboxRow[]): readonly InboxRow[] {
  if (clock === null) return rows
  const later = rows.findIndex(({ sent }) => Math.min(sent, clock) > at)
  return later === -1 ? rows : rows.slice(0, later)
}

/** How much earlier than its request an event may be, in ms: the clocks of isolates differ by less. */
const SKEW = MINUTE

/**
 * The job of an event in the inbox. Null if its user was erased, the error as text if it cannot be read. With
 * several databases, an earlier step may have recorded it, so the log is searched (B6). Under a test clock,
 * it may be anywhere in the log.
 */
function jobOf({ databases, db }: TenantContext, event: unknown, at: Instant): Item['job'] {
  if (event === null) return null
  const { data, error } = Commands.safeParse([event])
  const [job] = data ?? []
  if (job === undefined) return String(error)
  const since = instant(db.testClock ? 0 : job.arrived - SKEW)
  return { ...job, arrived: at, attempt: databases.isSeveral ? { since, outcome: null } : null }
}

/** The users of a step in one database, in the order of their first events. */
export type Group = {
  db: TenantDatabase
  userIds: readonly string[]
  /** How many users were erased there; null if there is only one database. */
  erasures: number | null
}

/** The data that a step has read about users, by user id. */
type FoundUsers = {
  groups: readonly Group[]
  states: ReadonlyMap<string, UserState>
  /** The errors of users whose rows cannot be read. Only their events are parked. */
  spoilt: ReadonlyMap<string, unknown>
  usedKeys: ReadonlyMap<string, readonly UsedKey[]>
  /** The events that an earlier step has recorded, by id. */
  recorded: ReadonlyMap<string, Recorded>
}

/** The idempotency keys of events: user id, metric id and key. */
const keysOf = (config: Configuration, jobs: readonly UserJob[]): [string, string, string][] =>
  jobs.flatMap(({ userId, job: { command } }): [string, string, string][] => {
    if (command.kind !== 'event' || command.idempotencyKey === null) return []
    const metric = metricByKey(config, command.metricKey)
    return metric === undefined ? [] : [[userId, metric.id, command.idempotencyKey]]
  })

/** The events that an earlier step may have recorded. */
const soughtOf = (jobs: readonly UserJob[]) =>
  jobs.flatMap(({ userId, job: { command, attempt } }) =>
    command.kind === 'event' && attempt !== null
      ? [{ userId, since: attempt.since, id: command.eventId }]
      : [],
  )

/**
 * Reads the users of events, in their order and as many as there is room for, and the idempotency keys of the
 * events that they have used. The other users are `unread`. Each database is asked about its own users, in
 * one batch.
 */
async function readUsers(
  { db: { tenantId }, databases }: TenantContext,
  config: Configuration,
  users: ReadonlyMap<string, readonly UserJob[]>,
): Promise<FoundUsers & { unread: ReadonlySet<string> }> {
  const places = await databases.groupsOf(tenantId, [...users.keys()])
  const unread = new Set<string>()
  const answers = await Promise.allSettled(
    places.map(async ({ db, userIds }) => {
      const jobs = userIds.flatMap((id) => users.get(id) ?? [])
      const [triples, sought] = [keysOf(config, jobs), soughtOf(jobs)]
      const answer = await db.batchOf({
        found: portionStatement(db, { ids: userIds }, shortAmong(users.size)),
        used: triples.length === 0 ? [] : [usedKeysStatement(db, triples)],
        recorded: sought.length === 0 ? [] : [recordedAmongStatement(db, sought)],
        erasures: databases.isSeveral ? [erasuresStatement(db)] : [],
      })
      return { db, userIds, answer }
    }),
  )
  // If a database can't be reached, the step ends before the first event of its users.
  const asked = answers.flatMap((answer, index) => {
    if (answer.status === 'fulfilled') return [answer.value]
    if (index === 0 || !isDatabaseAway(answer.reason)) throw answer.reason
    for (const id of places[index]?.userIds ?? []) unread.add(id)
    return []
  })
  const states = new Map<string, UserState>()
  const spoilt = new Map<string, unknown>()
  let room = MOST_AT_ONCE
  for (const { db, userIds, answer } of asked) {
    if (room <= 0) {
      for (const id of userIds) unread.add(id)
      continue
    }
    const portion = await portionOf(db, answer.found.results, { short: shortAmong(users.size), room })
    const { rows, covered } = coveredBy(userIds, portion)
    room -= portion.bytes
    for (const id of userIds.slice(covered)) unread.add(id)
    for (const row of rows) {
      try {
        const state = userOf(row)
        states.set(state.id, state)
      } catch (error) {
        spoilt.set(WithId.parse(row).id, error)
      }
    }
  }
  return {
    groups: asked.map(({ db, userIds, answer: { erasures } }) => {
      const [count] = erasures
      return { db, userIds, erasures: count === undefined ? null : parseErasures(count) }
    }),
    states,
    spoilt,
    unread,
    usedKeys: Map.groupBy(
      asked.flatMap(({ answer }) => answer.used.flatMap(parseUsedKeys)),
      ({ userId }) => userId,
    ),
    recorded: new Map(
      asked.flatMap(({ answer }) => answer.recorded.flatMap((one) => [...parseRecordedAmong(one)])),
    ),
  }
}

const WithId = z.object({ id: z.string() })
