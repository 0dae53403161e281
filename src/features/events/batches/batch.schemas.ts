import * as z from 'zod'
import { optional, UuidResponse, withIssues } from '../../../api/fields'
import { EventRequest, IdempotencyKey, ReadableEvent } from '../../../api/shapes/event.schemas'
import { MOST_BATCH_EVENTS } from '../../../lib/limits'

/** An event of a batch. It also has the values that a single event has in its path and headers (E9). */
export const BatchMetricEvent = EventRequest.extend({
  key: z.string(),
  idempotencyKey: optional(
    IdempotencyKey
      // A header can't hold unpaired surrogates. D1 returns them changed, so a repeated key would not be
      // recognized.
      .refine((key) => key.isWellFormed(), 'must have no unpaired surrogates'),
  ),
}).meta({ id: 'BatchMetricEvent' })

/** Events to record in the background, in this order for each user (E9). */
export const BatchEventsRequest = z
  .array(BatchMetricEvent)
  .min(1)
  .max(MOST_BATCH_EVENTS)
  .meta({ id: 'BatchEventsRequest' })

/** The readable parts of a batch whose shape is wrong (G3). Empty if it is not an array, or too long. */
export const ReadableBatch = z.array(ReadableEvent).max(MOST_BATCH_EVENTS).catch([])

/** The number of accepted events, which are all events of the request (E9). */
export const BatchEventsResponse = withIssues('BatchEventsResponse', z.object({ accepted: z.int32() }))

/**
 * The progress of a batch (E9). `processed` events were recorded. `dropped` events repeated an idempotency
 * key, could no longer be recorded, or were of an erased user. `parked` events were put aside after an
 * internal error. The batch is `done` when the three numbers add up to `accepted`.
 */
export const EventBatch = z
  .object({
    id: UuidResponse,
    status: z.enum(['pending', 'done']),
    accepted: z.int32(),
    processed: z.int32(),
    dropped: z.int32(),
    parked: z.int32(),
  })
  .meta({ id: 'EventBatch' })
