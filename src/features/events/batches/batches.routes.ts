import * as z from 'zod'
import { accepted, endpointsOf, ok } from '../../../api/endpoint'
import { optional, Uuid, UuidResponse, withIssues } from '../../../api/fields'
import { EventRequest, IdempotencyKey, ReadableEvent } from '../../../api/shapes/events'
import { type AuditEntry, madeFields } from '../../../configuration/audit.rules'
import { auditEntries } from '../../../configuration/audit.sql.ts'
import { configurationOf } from '../../../configuration/configuration'
import { bulkStep } from '../../../leaderboards/updates'
import { errors, type FieldError, throwIfInvalid } from '../../../lib/errors'
import { MOST_BATCH_BYTES, MOST_BATCH_EVENTS } from '../../../lib/limits'
import { newId } from '../../../lib/new-id'
import { systemNow, wait } from '../../../lib/system-clock'
import type { Scope } from '../../../platform/context'
import type { Statement } from '../../../platform/database'
import { isConflict } from '../../../platform/guard'
import {
  dependsOnStored,
  type ProfileCheck,
  type StoredFields,
  storedErrors,
  unknownAttributes,
} from '../../../rules/profile.rules'
import { NO_PROFILE } from '../../../rules/state'
import { storedFields } from '../../../store/users/users.sql.ts'
import { defineJob } from '../../../time/job'
import { ensureAlarm } from '../../../time/timekeeper'
import { eventCommand, messageOf } from '../sent'
import { findBatch, receive } from './batches.sql.ts'
import { Interrupted, inboxStep } from './process'

/** An event of a batch. It also has the values that a single event has in its path and headers (E9). */
export const BatchMetricEvent = EventRequest.extend({
  key: z.string(),
  idempotencyKey: optional(IdempotencyKey),
}).meta({ id: 'BatchMetricEvent' })

/** Events to record in the background, in this order for each user (E9). */
export const BatchEventsRequest = z
  .array(BatchMetricEvent)
  .min(1)
  .max(MOST_BATCH_EVENTS)
  .meta({ id: 'BatchEventsRequest' })

/** The readable parts of a batch whose shape is wrong (G3). Empty if it is not an array, or too long. */
const ReadableBatch = z.array(ReadableEvent).max(MOST_BATCH_EVENTS).catch([])

const BatchEventsResponse = withIssues('BatchEventsResponse', z.object({ accepted: z.int32() }))

/** The progress of a batch (E9). It is `done` when the last three numbers add up to `accepted`. */
const EventBatch = z
  .object({
    id: UuidResponse,
    status: z.enum(['pending', 'done']),
    accepted: z.int32(),
    processed: z.int32(),
    dropped: z.int32(),
    parked: z.int32(),
  })
  .meta({ id: 'EventBatch' })

const TRIES = 3

type Events = z.output<typeof BatchEventsRequest>

/** The parts of an event that may be wrong although its shape is right. */
type EventCheck = {
  user: ProfileCheck & { id?: string | undefined }
  attributes?: ReadonlyMap<string, unknown> | undefined
}

const WithKey = z.object({ key: z.string() })

/** Throws 404 with the indexes, from 0, of the events whose metric does not exist (E7, E9). */
async function requireMetrics(scope: Scope, json: unknown): Promise<void> {
  // A batch that is too long fails later, because of its length.
  const events: unknown[] = Array.isArray(json) && json.length <= MOST_BATCH_EVENTS ? json : []
  const named = events.flatMap((event, index) => {
    const key = WithKey.safeParse(event).data?.key
    return key === undefined ? [] : [{ index, key }]
  })
  if (named.length === 0) return
  const { metrics } = await configurationOf(scope)
  const known = new Set(metrics.map(({ key }) => key))
  const unknown = named.filter(({ key }) => !known.has(key))
  if (unknown.length > 0) throw errors.noMetrics(unknown)
}

/** Accepts a batch of events, to be processed in the background (E9). Throws 422 with all field errors. */
export async function acceptBatch(scope: Scope, events: Events): Promise<{ id: string; accepted: number }> {
  const { db, now } = scope
  throwIfInvalid(await fieldErrorsOf(scope, events))
  const id = newId(now)
  const arrived = systemNow()
  const messages = events.map(({ key: metricKey, idempotencyKey = null, ...body }) => {
    const command = eventCommand(body, { eventId: newId(now), metricKey, idempotencyKey, by: 'admin' })
    return JSON.stringify(messageOf({ command, arrived, credential: null, tenantName: null, attempt: null }))
  })
  const audit: AuditEntry = {
    ...{ action: 'create', kind: 'event_batch', resourceId: id, key: null, user: null },
    fields: madeFields({ accepted: events.length }),
  }
  await stored(scope, id, [...receive(db, id, messages, now), ...auditEntries(scope, [audit])])
  scope.waitUntil(ensureAlarm(scope, db.tenantId))
  return { id, accepted: events.length }
}

/**
 * Stores a batch once. If the reply of D1 is lost, it reads whether the batch is stored, and tries again if
 * not, or if that is lost too. If the first write is stored, the id of the batch makes the second one fail. Throws
 * 404 if the tenant was archived meanwhile.
 */
async function stored({ db }: Scope, id: string, statements: readonly Statement[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await db.batch(statements)
      return
    } catch (error) {
      if (isConflict(error)) throw errors.tenantUnknown()
      if ((await findBatch(db, id).catch(() => null)) !== null) return
      if (tries === TRIES) throw error
      await wait(20 * tries)
    }
  }
}

async function fieldErrorsOf(scope: Scope, events: readonly EventCheck[]): Promise<FieldError[]> {
  const config = await configurationOf(scope)
  const ofAttributes = events.flatMap(({ attributes, user }, index) => {
    const ofEvent = unknownAttributes(config, 'event', attributes)
    const problems = [...ofEvent, ...unknownAttributes(config, 'user', user.attributes)]
    return problems.map(({ message }) => ({ path: String(index), message }))
  })
  return [...ofAttributes, ...(await profileErrorsOf(scope, events))]
}

/** The errors of users whose other fields are stored, or come with an earlier event of the batch (U4, U9). */
async function profileErrorsOf(
  { db, databases, now }: Scope,
  events: readonly EventCheck[],
): Promise<FieldError[]> {
  // An unreadable id counts as the id of an unknown user.
  const ids = events.flatMap(({ user }) => (dependsOnStored(user) ? [user.id ?? ''] : []))
  const found =
    ids.length === 0 ? [] : await databases.usersOf(db.tenantId).askAbout([...new Set(ids)], storedFields)
  const known = new Map<string, StoredFields>(found.flat().map((user) => [user.id, user]))
  return events.flatMap(({ user }, index) => {
    const stored = known.get(user.id ?? '') ?? NO_PROFILE
    const { email = stored.email, tz = stored.tz, signUpDate = stored.signUpDate } = user
    known.set(user.id ?? '', { email, tz, signUpDate })
    return storedErrors(stored, user, `${index}.user.`, now)
  })
}

async function readBatch({ db }: Scope, id: string): Promise<z.infer<typeof EventBatch>> {
  const found = await findBatch(db, id.toLowerCase())
  if (found === null) throw errors.notFound('This batch of events')
  const ended = found.processed + found.dropped + found.parked
  return { ...found, status: ended < found.accepted ? 'pending' : 'done' }
}

declare module '../../../time/due-work.sql.ts' {
  interface DueKinds {
    inbox: true
  }
}

/** Processes events that wait in the inbox (E9). */
export const batchJob = defineJob({
  kind: 'inbox',
  of: 'tenant',
  step: async (context, work, { until }) => {
    let failure: unknown = null
    await bulkStep(context, 'inbox', () =>
      inboxStep(context, work, until).catch((error: unknown) => {
        // Changes were stored in some databases. The leaderboards get them now.
        if (!(error instanceof Interrupted)) throw error
        failure = error.cause
        return error.step
      }),
    )
    if (failure !== null) throw failure
  },
})

const endpoint = endpointsOf('admin')

/** The endpoints of batches of events (E9). */
export const batchEndpoints = [
  endpoint(
    'POST /metrics/events',
    {
      id: 'admin_metrics_batch_events',
      summary: 'Record up to 1,000 events in the background, each exactly once and in order',
      body: BatchEventsRequest,
      bodyLimit: MOST_BATCH_BYTES,
      responses: {
        202: {
          description: 'All events were accepted.',
          body: BatchEventsResponse,
          headers: { 'X-Batch-Id': 'The id of the batch. Read its progress with it.' },
        },
      },
    },
    {
      find: (scope, _param, json) => requireMetrics(scope, json),
      check: (scope, { json }) => fieldErrorsOf(scope, ReadableBatch.parse(json)),
    },
    async (scope, { body }) => {
      const { id, accepted: count } = await acceptBatch(scope, body)
      return accepted({ accepted: count }, { 'X-Batch-Id': id })
    },
  ),
  endpoint(
    'GET /metrics/events/batches/{id}',
    {
      id: 'admin_metrics_batch_get',
      summary: 'Get the progress of a batch of events',
      params: z.object({ id: Uuid }),
      responses: { 200: { description: 'The batch.', body: EventBatch } },
    },
    { find: (scope, param) => readBatch(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  ),
]
