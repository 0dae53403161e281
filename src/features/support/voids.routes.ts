import * as z from 'zod'
import { requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { endpointsOf, ok } from '../../api/endpoint'
import { IdOrKey, Timestamp, UserId, Uuid, UuidResponse, withIssues } from '../../api/fields'
import { byIdOrKey } from '../../api/resources/drafts.rules'
import { goneFields, madeFields, userEntry } from '../../configuration/audit.rules'
import { auditEntries, isNoted } from '../../configuration/audit.sql.ts'
import { configurationOf } from '../../configuration/configuration'
import type { Configuration, Filter, Metric } from '../../configuration/model'
import { type InputChange, updateBoards } from '../../leaderboards/updates'
import { type Instant, iso } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { ApiError, errors } from '../../lib/errors'
import { timeOf } from '../../lib/ids'
import { newId } from '../../lib/new-id'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import { mayBeStored } from '../../platform/guard'
import { judged } from '../../rules/change.rules'
import {
  type CorrectionChange,
  type CountersOfEvent,
  countersOf,
  type Occasion,
  revoked,
  voided,
} from '../../rules/corrections.rules'
import { type Counter, NEW_COUNTER, totalOfLog, type UserState } from '../../rules/state'
import { writeUsers } from '../../store/commit/writer'
import { lowerTenantCounter } from '../../store/users/counters.sql.ts'
import { parseUser, userStatement } from '../../store/users/users.sql.ts'
import { basisOf, MetricLog, Reason, restarts, store, untilStored } from './corrections'
import { LoggedEvent, momentOf } from './timeline-entries'
import {
  awardsOfCompletion,
  awardsOfEvent,
  eventStatement,
  findMoment,
  type LogEvent,
  moveEvent,
  type OwnCounter,
  parseAwards,
  parseEvent,
  parseVoided,
  voidedStatement,
} from './voids.sql.ts'

const VoidEventRequest = z.object({ reason: Reason }).meta({ id: 'VoidEventRequest' })

const Totals = z.object({ before: z.number(), after: z.number() })
const PointsTotals = z.record(z.string(), z.object({ before: z.int32(), after: z.int32() }))

/** A voided event, and what the void changed. It is stored, so that each further void answers it (V2). */
const VoidedEvent = z.object({
  event: LoggedEvent.extend({ metricKey: z.string(), voided: Timestamp, reason: z.string().nullable() }),
  metric: Totals,
  points: PointsTotals,
})

const VoidEventResponse = withIssues('VoidEventResponse', VoidedEvent)

const RevokeAchievementQuery = z.object({
  points: z.literal('revoke', 'must be revoke, or be left out').optional(),
})

/** A completion that was taken back (V4). `points` has the systems whose awards were reversed. */
const RevokeAchievementResponse = z
  .object({
    id: UuidResponse,
    key: z.string(),
    completionId: UuidResponse,
    achievedAt: Timestamp,
    points: PointsTotals,
  })
  .meta({ id: 'RevokeAchievementResponse' })

type Awards = ReturnType<typeof parseAwards>

/** The totals of points before and after a correction, by the key of each system of these awards. */
function pointsTotals(config: Configuration, { before, after }: CorrectionChange, awards: Awards) {
  const affected = config.systems.filter(({ id }) => awards.some(({ systemId }) => systemId === id))
  return Object.fromEntries(
    affected.map(({ id, key }) => [
      key,
      { before: before.points.get(id) ?? 0, after: after.points.get(id) ?? 0 },
    ]),
  )
}

/** A voided event as the response shows it (V2). `awards` are those that were given for it. */
function voidResponse(
  config: Configuration,
  metric: Metric,
  event: LogEvent,
  change: CorrectionChange,
  { at, reason, awards }: Occasion & { awards: Awards },
): z.infer<typeof VoidedEvent> {
  const totalOf = ({ metrics }: CorrectionChange['after']) =>
    fromMicros((metrics.get(metric.id) ?? NEW_COUNTER).total)
  const keys = new Map(config.attributes.map(({ id, key }) => [id, key]))
  const attributes = [...event.attributes].flatMap(([id, value]) => {
    const key = keys.get(id)
    return key === undefined ? [] : [[key, value] as const]
  })
  return {
    event: {
      id: event.id,
      metricId: metric.id,
      metricKey: metric.key,
      value: fromMicros(event.value),
      attributes: Object.fromEntries(attributes),
      ...momentOf(event),
      voided: iso(at),
      reason,
    },
    metric: { before: totalOf(change.before), after: totalOf(change.after) },
    points: pointsTotals(config, change, awards),
  }
}

type VoidResponse = z.infer<typeof VoidedEvent>

/** An event to void: voided before, with the response of that void, or in the log at a moment. */
type FoundEvent = { response: VoidResponse } | { eventId: string; at: Instant }

const unknownEvent = () => errors.notFound('This event of this user')

/** Finds an event of a user, to void it (V2). Throws 404 if the user has no such event. */
async function findEvent({ db }: Scope, userId: string, id: string): Promise<FoundEvent> {
  const eventId = id.toLowerCase()
  const stored = parseVoided(await db.run(voidedStatement(db, userId, eventId)))
  if (stored !== null) return { response: VoidedEvent.parse(stored.response) }
  const at = await findMoment(db, userId, eventId)
  if (at === null) throw unknownEvent()
  return { eventId, at }
}

/**
 * Voids an event (V2). An event that is voided already gets the response of the first void, and nothing
 * changes. Throws 404 if the event is gone, and 422 if a total would leave its limits without it (E1).
 */
async function voidEvent(
  scope: Scope,
  userId: string,
  found: FoundEvent,
  reason: string | null,
): Promise<VoidResponse> {
  if ('response' in found) return found.response
  const id = newId(scope.now)
  const logs = new Map<string, MetricLog>()
  let tried: { seq: number; changes: readonly InputChange[] } | null = null
  return untilStored(async () => {
    const { db, tenant } = scope
    const { eventId, at } = found
    const read = await db.batchOf({
      snapshot: requestSnapshotStatement(db, tenant.id, []),
      user: userStatement(db, userId, systemNow()),
      voided: voidedStatement(db, userId, eventId),
      event: eventStatement(db, userId, eventId, [at, at]),
      awards: awardsOfEvent(db, userId, { at, id: eventId }),
    })
    const basis = await basisOf(scope, read.snapshot)
    const stored = parseVoided(read.voided)
    if (stored !== null) {
      // An attempt was stored although its response was lost.
      if (stored.seq === tried?.seq) await updateBoards(scope, basis.config, tried.changes, basis.now)
      return VoidedEvent.parse(stored.response)
    }
    const [user, event] = [parseUser(read.user), parseEvent(read.event)]
    const metric = basis.config.metrics.find((one) => one.id === event?.metricId)
    if (user === null || event === null || metric === undefined) throw unknownEvent()
    const log = logs.get(metric.id) ?? new MetricLog(metric.id)
    logs.set(metric.id, log)
    const occasion = { at: basis.now, id, reason }
    const counters = ownCounters(basis.config, user, event)
    if (!(await log.read(db, user, counters.asked, basis.clock))) return null
    const awards = parseAwards(read.awards)
    // The sums of a period may meet the goal without the event (S2). Periods that are over stay as they were.
    const earlier = judged(basis.config, user, occasion.at, newId)
    const before = earlier.at(-1)?.after ?? user
    const change = changeOf(basis.config, before, { event, awards, counters, log }, occasion)
    const later = judged(basis.config, change.after, occasion.at, newId)
    const response = voidResponse(basis.config, metric, event, change, {
      ...occasion,
      at: change.after.changed,
      awards,
    })
    const users = [{ was: user, changes: [...earlier, change, ...later], newlyUsed: [] }]
    const writing = writeUsers(db, basis.config, users, { kind: 'alone', clock: basis.clock })
    const changes = [...earlier, { ...change, voided: event }, ...later]
    tried = { seq: change.after.seq, changes }
    const { value, at: happened } = event
    const gone = { id: event.id, metricId: metric.id, value: fromMicros(value), at: iso(happened) }
    const fields = { ...goneFields(gone), ...madeFields({ reason }) }
    await store(scope, writing, [
      ...moveEvent(db, user, event, {
        voidedAt: change.after.changed,
        voidedSeq: change.after.seq,
        reason,
        response,
      }),
      ...restarts(db, change, metric.id),
      ...auditEntries(scope, [userEntry('event', 'void', { iid: user.iid }, fields)]),
    ])
    await updateBoards(scope, basis.config, changes, basis.now)
    return response
  })
}

/** The own counters that count an event, and how to ask the log for them, in the same order. */
type AskedCounters = { ids: readonly string[]; asked: readonly OwnCounter[] }

function ownCounters(config: Configuration, user: UserState, event: LogEvent): AskedCounters {
  const { counterIds, at } = event
  const counted = ({ counterId }: { counterId: string }) =>
    counterIds === null ? at >= timeOf(counterId) : counterIds.includes(counterId)
  const counters: CountersOfEvent = countersOf(config, user, event, counted)
  const filtersOf = (filters: readonly Filter[]) =>
    filters.map(({ attributeId, attributeValue }) => [attributeId, attributeValue] as const)
  const ofTriggers = counters.triggers.map(({ counterId, eventAttributes }) => {
    return { id: counterId, born: timeOf(counterId), filters: filtersOf(eventAttributes) }
  })
  // An achievement counts the whole log (A2).
  const ofAchievements = counters.achievements.map(({ eventAttributes }) => {
    return { id: null, born: 0, filters: filtersOf(eventAttributes) }
  })
  return {
    ids: [...counters.triggers, ...counters.achievements].map(({ counterId }) => counterId),
    asked: [...ofTriggers, ...ofAchievements],
  }
}

/** An event without which a user is counted, and what else depends on it. */
type Undone = { event: LogEvent; awards: Awards; counters: AskedCounters; log: MetricLog }

function changeOf(
  config: Configuration,
  user: UserState,
  { event, awards, counters, log }: Undone,
  occasion: Occasion,
): CorrectionChange {
  const metric = totalOfLog(log.valuesWithout(event.seq))
  if (metric === null) {
    throw errors.unprocessable(
      "Without this event, the user's total in this metric would leave its limits, now or at an earlier moment. Void the other events of that time first.",
    )
  }
  const own = new Map<string, Counter>(
    counters.ids.map((id, nth) => [id, log.counterWithout(event.seq, nth)] as const),
  )
  return voided(config, user, { event, awards, metric, counters: own }, occasion)
}

type RevokeResponse = z.infer<typeof RevokeAchievementResponse>

const notCompleted = () =>
  new ApiError(404, 'The user has not completed this achievement. Check the user and the achievement.')

/**
 * Takes the completion of an achievement back from a user, and with `withPoints` the points that it gave
 * (V4). Throws 404 if the user does not exist or does not have the achievement.
 */
async function revokeCompletion(
  scope: Scope,
  userId: string,
  achievementId: string,
  withPoints: boolean,
): Promise<RevokeResponse> {
  const id = newId(scope.now)
  /** The last attempt that may have been stored. After a conflict, another call may have taken it back. */
  let tried: { response: RevokeResponse; change: CorrectionChange } | null = null
  return untilStored(async () => {
    const { db, tenant } = scope
    const read = await db.batchOf({
      snapshot: requestSnapshotStatement(db, tenant.id, []),
      user: userStatement(db, userId, systemNow()),
      awards: awardsOfCompletion(db, userId, achievementId),
    })
    const basis = await basisOf(scope, read.snapshot)
    const { config } = basis
    const user = parseUser(read.user)
    const achievement = config.achievements.find((one) => one.id === achievementId)
    if (user === null) throw errors.notFound('This user')
    const completion = user.achievements.get(achievementId)
    // The completion is gone after an attempt whose response was lost. The log says whether it was that attempt.
    const isGone = tried !== null && completion?.id !== tried.response.completionId
    if (tried !== null && isGone && (await isNoted(scope, db))) {
      await updateBoards(scope, config, [tried.change], basis.now)
      return tried.response
    }
    if (completion === undefined || achievement === undefined) throw notCompleted()
    const awards = parseAwards(read.awards)
    const given = withPoints ? { reversed: awards, kept: [] } : { reversed: [], kept: awards }
    const change = revoked(config, user, achievement, given, { at: basis.now, id, reason: null })
    const achievedAt = iso(completion.at)
    const fields = goneFields({ id: completion.id, achievementId, achievedAt })
    const response = {
      id: achievementId,
      key: achievement.key,
      completionId: completion.id,
      achievedAt,
      points: pointsTotals(config, change, given.reversed),
    }
    const users = [{ was: user, changes: [change], newlyUsed: [] }]
    const writing = writeUsers(db, config, users, { kind: 'alone', clock: basis.clock })
    await store(scope, writing, [
      lowerTenantCounter(db, achievementId),
      ...restarts(db, change, null),
      ...auditEntries(scope, [userEntry('achievement_completion', 'delete', { iid: user.iid }, fields)]),
    ]).catch((error: unknown) => {
      if (mayBeStored(error)) tried = { response, change }
      throw error
    })
    await updateBoards(scope, config, [change], basis.now)
    return response
  })
}

const endpoint = endpointsOf('admin')

/** The endpoints of voided events and revoked completions (V2, V4). */
export const voidEndpoints = [
  endpoint(
    'POST /users/{id}/events/{eventId}/void',
    {
      id: 'admin_users_void_event',
      summary: 'Void an event of a user, so that it no longer counts',
      params: z.object({ id: UserId, eventId: Uuid }),
      body: VoidEventRequest,
      responses: {
        200: { description: 'The voided event, and what changed.', body: VoidEventResponse },
      },
    },
    { find: (scope, param) => findEvent(scope, param('id'), param('eventId')) },
    async (scope, { params, body }, found) =>
      ok(await voidEvent(scope, params.id, found, body.reason ?? null)),
  ),
  endpoint(
    'DELETE /users/{id}/achievements/{key}',
    {
      id: 'admin_users_revoke_achievement',
      summary: 'Take a completed achievement back from a user',
      params: z.object({ id: UserId, key: IdOrKey }),
      query: RevokeAchievementQuery,
      responses: {
        200: { description: 'The completion that was taken back.', body: RevokeAchievementResponse },
      },
    },
    {
      find: async (scope, param) =>
        byIdOrKey((await configurationOf(scope)).achievements, param('key'), 'This achievement'),
    },
    async (scope, { params, query }, { id }) =>
      ok(await revokeCompletion(scope, params.id, id, query.points === 'revoke')),
  ),
]
