import * as z from 'zod'
import { parseRequestSnapshot, requestSnapshotStatement } from '../../../access/tenants.sql.ts'
import { configurationAt } from '../../../configuration/configuration'
import { type Configuration, metricByKey } from '../../../configuration/model'
import { type Instant, instant, MINUTE } from '../../../lib/clock'
import { unreachable } from '../../../lib/errors'
import { MOST_AT_ONCE } from '../../../lib/packed'
import { systemNow } from '../../../lib/system-clock'
import type { TenantContext } from '../../../platform/context'
import type { TenantDatabase } from '../../../platform/database'
import { FIRST } from '../../../platform/databases/directory'
import type { Group, Users } from '../../../platform/databases/users'
import { isDatabaseAway } from '../../../platform/guard'
import type { EventCommand } from '../../../rules/evaluate.rules'
import type { UserState } from '../../../rules/state'
import { isStale } from '../../../rules/streaks/streaks.rules'
import type { Job, Outcome } from '../../../store/commit/decide'
import { recountStreaks } from '../../../store/commit/recount'
import {
  parseRecorded,
  parseUsedKeys,
  type Recorded,
  recordedAmongStatement,
  type UsedKey,
  usedKeysStatement,
} from '../../../store/events.sql.ts'
import { erasuresStatement, parseErasures } from '../../../store/users/counters.sql.ts'
import { coveredBy, portionOf, portionStatement, shortAmong } from '../../../store/users/portions.sql.ts'
import { userOf } from '../../../store/users/users.sql.ts'
import { Commands } from '../sent'
import { type InboxRow, inboxStatement, type Progress, parseInbox } from './batches.sql.ts'

/** A waiting event. */
export type Item = {
  row: InboxRow
  /** Its place in the batch, from 0. */
  position: number
  /** Null if the user was erased, a text with the reason if the event cannot be read. */
  job: Job | string | null
}

/** An event that has to be parked, because the database rejects it even alone (E9). */
export type ParkedEvent = { no: number; position: number; reason: string }

/** Whether an event is the one that has to be parked. */
export const isAt = (
  parked: ParkedEvent | null,
  { row, position }: Pick<Item, 'row' | 'position'>,
): boolean => parked !== null && parked.no === row.no && parked.position === position

/** The next events, at most `most`, in the order sent. */
function itemsOf(
  rows: readonly InboxRow[],
  most: number,
  read: (event: unknown, place: Pick<Item, 'row' | 'position'>) => Item['job'],
): Item[] {
  const places = rows.flatMap((row) =>
    Array.from({ length: row.count - row.done }, (_, nth) => ({ row, index: row.done + nth })),
  )
  return places.slice(0, most).map(({ row, index }) => {
    const place = { row, position: row.offset + index }
    return { ...place, job: read(row.events[index], place) }
  })
}

/** An event that can be read, with its user. */
export type UserJob = { userId: string; job: Job; command: EventCommand; item: Item }

function userJobOf(item: Item): UserJob | null {
  const { job } = item
  if (job === null || typeof job === 'string' || job.command.kind !== 'event') return null
  return { userId: job.command.userId, job, command: job.command, item }
}

/** Each user's jobs are in the order sent (E9). */
const byUser = (items: readonly Item[]): ReadonlyMap<string, UserJob[]> =>
  Map.groupBy(
    items.flatMap((item) => userJobOf(item) ?? []),
    ({ userId }) => userId,
  )

/** How an event ended: recorded, left out or parked. `reason` is for the log; null for nothing to log. */
export type End = { kind: 'processed' } | { kind: 'dropped' | 'parked'; reason: string | null }

/** How an item ends, by the outcome of its job. */
export function endOf({ job }: Item, outcome: Outcome | undefined): End {
  if (job === null) return { kind: 'dropped', reason: null }
  if (typeof job === 'string') return { kind: 'parked', reason: job }
  const decision = outcome?.decision
  switch (decision?.kind) {
    case 'changed':
    // An earlier step has recorded it in another database, and broke off before it noted that (B6).
    case 'lost':
      return { kind: 'processed' }
    // A repeated idempotency key (E9).
    case 'replayed':
      return { kind: 'dropped', reason: null }
    case 'refused':
      return { kind: 'dropped', reason: decision.apiError.message }
    case 'failed':
      return { kind: 'parked', reason: String(decision.error) }
    // No event has such an outcome.
    case 'completed':
    case 'unchanged':
    case undefined:
      return { kind: 'parked', reason: 'It is not an event.' }
    default:
      return unreachable(decision)
  }
}

/** The progress to store once these items have ended (E9). */
export function progressOf(ends: ReadonlyMap<Item, End>): Progress {
  const done = new Map<InboxRow, number>()
  const counts = new Map<string, { processed: number; dropped: number; parked: number }>()
  const parked: Progress['parked'][number][] = []
  for (const [item, end] of ends) {
    const { row, position } = item
    done.set(row, (done.get(row) ?? row.done) + 1)
    const count = counts.get(row.batchId) ?? { processed: 0, dropped: 0, parked: 0 }
    count[end.kind] += 1
    counts.set(row.batchId, count)
    if (end.kind === 'parked') {
      const event = JSON.stringify(row.events[position - row.offset] ?? null)
      parked.push({ batchId: row.batchId, position, event, reason: end.reason ?? '' })
    }
  }
  const rows = [...done].map(([{ no, count }, reached]) => ({ no, count, done: reached }))
  const open = rows.find((row) => row.done < row.count)
  return {
    finished: rows.filter((row) => row.done === row.count).map(({ no }) => no),
    advanced: open === undefined ? null : { no: open.no, done: open.done },
    counts,
    parked,
  }
}

/** Reads the next events and their users, whose streaks are first recounted with the current settings. */
export async function readWaiting(
  context: TenantContext,
  work: { dueAt: Instant },
  take: number,
  parked: ParkedEvent | null,
) {
  const { db, databases } = context
  const everyone = databases.usersOf(db.tenantId)
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
    const neverLeft = await everyone.neverLeft()
    const asked = itemsOf(rows, take, (event, place) =>
      isAt(parked, place) ? (parked?.reason ?? '') : jobOf(db, event, { at, neverLeft }),
    )
    const { unread, ...found } = await readUsers(everyone, config, byUser(asked))
    // The first users have left meanwhile.
    if (neverLeft && !(await everyone.neverLeft())) continue
    // If there was no room to read a user, the step ends before that user's first event. The next step takes
    // the rest.
    const end = asked.findIndex((item) => unread.has(userJobOf(item)?.userId ?? ''))
    const items = end === -1 ? asked : asked.slice(0, end)
    const users = byUser(items)
    let isRecounted = false
    for (const { db: place, items: userIds } of found.groups) {
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

/** The rows before one sent after `at`. If the test clock moved, later ones get their own turn (C1). */
function sentBy(at: Instant, clock: Instant | null, rows: readonly InboxRow[]): readonly InboxRow[] {
  if (clock === null) return rows
  const later = rows.findIndex(({ sent }) => Math.min(sent, clock) > at)
  return later === -1 ? rows : rows.slice(0, later)
}

/** How much earlier than its request an event may be, in ms: the clocks of isolates differ by less. */
const SKEW = MINUTE

/**
 * The job of an event in the inbox. Null if its user was erased, the error as text if it cannot be read. An
 * earlier step may have recorded it in another database, so the log is searched if users ever were in one
 * (B6). Under a test clock, it may be anywhere in the log.
 */
function jobOf(
  db: TenantDatabase,
  event: unknown,
  { at, neverLeft }: { at: Instant; neverLeft: boolean },
): Item['job'] {
  if (event === null) return null
  const { data, error } = Commands.safeParse([event])
  const [job] = data ?? []
  if (job === undefined) return String(error)
  const since = instant(db.testClock ? 0 : job.arrived - SKEW)
  return { ...job, arrived: at, attempt: neverLeft ? null : { since, outcome: null } }
}

/** Whether all of these users are in the first database, as the inbox is. */
export const areHome = (groups: readonly { name: string }[]): boolean =>
  groups.every(({ name }) => name === FIRST)

/** Users of a step in a database, and how many were erased there; null if all are in the first one. */
type UsersOfStep = Group<string> & { erasures: number | null }

type FoundUsers = {
  groups: readonly UsersOfStep[]
  states: ReadonlyMap<string, UserState>
  /** The errors of users whose rows cannot be read. Only their events are parked. */
  spoilt: ReadonlyMap<string, unknown>
  usedKeys: ReadonlyMap<string, readonly UsedKey[]>
  /** The events that an earlier step has recorded, by id. */
  recorded: ReadonlyMap<string, Recorded>
}

const keysOf = (config: Configuration, jobs: readonly UserJob[]): [string, string, string][] =>
  jobs.flatMap(({ userId, command: { metricKey, idempotencyKey } }): [string, string, string][] => {
    const metric = metricByKey(config, metricKey)
    return idempotencyKey === null || metric === undefined ? [] : [[userId, metric.id, idempotencyKey]]
  })

const soughtOf = (jobs: readonly UserJob[]) =>
  jobs.flatMap(({ userId, job: { attempt }, command: { eventId: id } }) =>
    attempt === null ? [] : [{ userId, since: attempt.since, id }],
  )

/**
 * Reads the users of events, in their order and as many as there is room for, and the idempotency keys that
 * they have used. The other users are `unread`. Each database is asked about its own users, in one batch.
 */
async function readUsers(
  everyone: Users,
  config: Configuration,
  users: ReadonlyMap<string, readonly UserJob[]>,
): Promise<FoundUsers & { unread: ReadonlySet<string> }> {
  const places = await everyone.groups([...users.keys()], (id) => id)
  const isApart = !areHome(places)
  const unread = new Set<string>()
  const answers = await Promise.allSettled(
    places.map(async ({ name, db, items: userIds }) => {
      const jobs = userIds.flatMap((id) => users.get(id) ?? [])
      const [triples, sought] = [keysOf(config, jobs), soughtOf(jobs)]
      const answer = await db.batchOf({
        found: portionStatement(db, { ids: userIds }, shortAmong(users.size)),
        used: triples.length === 0 ? [] : [usedKeysStatement(db, triples)],
        recorded: sought.length === 0 ? [] : [recordedAmongStatement(db, sought)],
        erasures: isApart ? [erasuresStatement(db)] : [],
      })
      return { name, db, userIds, answer }
    }),
  )
  // If a database can't be reached, the step ends before the first event of its users.
  const asked = answers.flatMap((answer, index) => {
    if (answer.status === 'fulfilled') return [answer.value]
    if (index === 0 || !isDatabaseAway(answer.reason)) throw answer.reason
    for (const id of places[index]?.items ?? []) unread.add(id)
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
    groups: asked.map(({ name, db, userIds, answer }) => {
      const [count] = answer.erasures
      return { name, db, items: userIds, erasures: count === undefined ? null : parseErasures(count) }
    }),
    states,
    spoilt,
    unread,
    usedKeys: Map.groupBy(
      asked.flatMap(({ answer }) => answer.used.flatMap(parseUsedKeys)),
      ({ userId }) => userId,
    ),
    recorded: new Map(
      asked.flatMap(({ answer }) => answer.recorded.flatMap((one) => [...parseRecorded(one)])),
    ),
  }
}

const WithId = z.object({ id: z.string() })
