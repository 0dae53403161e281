import * as z from 'zod'
import { optional, UuidResponse } from '../../http/fields'
import { EventRequest, IdempotencyKey, ReadableEvent } from '../../wire/event.schemas'

/** The most events of a batch. */
export const EVENTS_MAX = 1_000

/** An event of a batch: what a single one says in its path and headers too (E9). */
export const BatchMetricEvent = EventRequest.extend({
  key: z.string(),
  idempotencyKey: optional(
    IdempotencyKey
      // No header can hold one, and D1 gives it back as something else, so that a repeat would not be known.
      .refine((key) => key.isWellFormed(), 'must have no unpaired surrogates'),
  ),
}).meta({ id: 'BatchMetricEvent' })

/** Events to record in the background, in this order for each user (E9). */
export const BatchEventsRequest = z
  .array(BatchMetricEvent)
  .min(1)
  .max(EVENTS_MAX)
  .meta({ id: 'BatchEventsRequest' })

/** A batch of the wrong shape, as far as it can be read; without events if it is no list, or too long (G3). */
export const ReadableBatch = z.array(ReadableEvent).max(EVENTS_MAX).catch([])

/** How many events were accepted: all of them (E9). */
export const BatchEventsResponse = z.object({ accepted: z.int32() }).meta({ id: 'BatchEventsResponse' })

/**
 * What became of a batch (E9): `processed` events were recorded, `dropped` ones were repeats of an idempotency key, could no longer be
 * done, or were of a user who was erased, and `parked` ones were put aside after a fault of ours. It is `done` when they are all of them.
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
