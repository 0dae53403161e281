import type { Core, QueryOf } from '../core/core.js'
import { newId } from '../core/new-id.js'
import type { CallOptions } from '../core/options.js'
import type {
  BatchEventsRequest,
  CreateAttributesRequest,
  UpdateAttributesRequest,
} from '../generated/types.js'
import { AdminCollection } from './collection.js'

/** Attributes of users and events. */
export class AdminAttributes {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the attributes, oldest first. */
  list(query?: QueryOf<'GET /admin/v1/attributes'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/attributes', { query }, options)
  }

  /** Creates attributes. An item that cannot be created is an entry in `issues`. */
  create(items: CreateAttributesRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/attributes', { body: items }, options)
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(items: UpdateAttributesRequest, options?: CallOptions) {
    return this.#core.call('PATCH /admin/v1/attributes', { body: items }, options)
  }

  /** Deletes attributes by their ids or keys. */
  delete(query: QueryOf<'DELETE /admin/v1/attributes'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/attributes', { query }, options)
  }

  /** Gets an attribute by its id or key. */
  get(id: string, query?: QueryOf<'GET /admin/v1/attributes/{id}'>, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/attributes/{id}', { path: { id }, query }, options)
  }
}

/** Metrics. */
export class AdminMetrics extends AdminCollection<'/admin/v1/metrics'> {
  readonly #core: Core

  constructor(core: Core) {
    super(core, '/admin/v1/metrics')
    this.#core = core
  }

  /** Gets the figures of a metric between two dates, by day. */
  analytics(key: string, query?: QueryOf<'GET /admin/v1/metrics/{key}/analytics'>, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/metrics/{key}/analytics', { path: { key }, query }, options)
  }
}

/** Batches of events. */
export class AdminEventBatches {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /**
   * Sends up to 1,000 events at once. They are processed in the background. The header `X-Batch-Id`
   * (`withResponse()`) names the batch. An event without `idempotencyKey` gets one, so that the client can
   * repeat the request. `null`: the event has none, and a batch that may have been stored is not repeated.
   */
  create(events: BatchEventsRequest, options?: CallOptions) {
    const body = events.map((event) =>
      event.idempotencyKey === undefined ? { ...event, idempotencyKey: newId() } : event,
    )
    const isRepeatable = body.every(({ idempotencyKey }) => idempotencyKey !== null)
    return this.#core.call('POST /admin/v1/metrics/events', { body }, { ...options, isRepeatable })
  }

  /** Gets the progress of a batch. */
  get(id: string, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/metrics/events/batches/{id}', { path: { id } }, options)
  }
}
