import type { Core, QueryOf } from '../core/core.js'
import { newId } from '../core/new-id.js'
import type { CallOptions } from '../core/options.js'
import type {
  CreatePointsAdjustmentsRequest,
  CreatePointsBoostsRequest,
  CreatePointsLevelsRequest,
  CreatePointsTriggersRequest,
  PatchPointsBoostsRequest,
  PatchPointsLevelsRequest,
  PatchPointsTriggersRequest,
} from '../generated/types.js'
import { AdminCollection } from './collection.js'

/** Points systems. Everywhere a system is named by its id or key. */
export class AdminPoints extends AdminCollection<'/admin/v1/points'> {
  readonly #core: Core
  /** The levels of a system. */
  readonly levels: AdminPointsLevels
  /** The triggers of a system: what gives how many points. */
  readonly triggers: AdminPointsTriggers
  /** The boosts of a system: times in which points count more. */
  readonly boosts: AdminPointsBoosts
  /** Points that are given or taken by hand. */
  readonly adjustments: AdminPointsAdjustments

  constructor(core: Core) {
    super(core, '/admin/v1/points')
    this.#core = core
    this.levels = new AdminPointsLevels(core)
    this.triggers = new AdminPointsTriggers(core)
    this.boosts = new AdminPointsBoosts(core)
    this.adjustments = new AdminPointsAdjustments(core)
  }

  /** Gets the figures of a points system between two dates, by day. */
  analytics(key: string, query?: QueryOf<'GET /admin/v1/points/{key}/analytics'>, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/points/{key}/analytics', { path: { key }, query }, options)
  }
}

class AdminPointsLevels {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the levels, oldest first. */
  list(system: string, query?: QueryOf<'GET /admin/v1/points/{systemId}/levels'>, options?: CallOptions) {
    return this.#core.list(
      'skip',
      'GET /admin/v1/points/{systemId}/levels',
      { path: { systemId: system }, query },
      options,
    )
  }

  /** Creates levels. An item that cannot be created is an entry in `issues`. */
  create(system: string, items: CreatePointsLevelsRequest, options?: CallOptions) {
    return this.#core.call(
      'POST /admin/v1/points/{systemId}/levels',
      { path: { systemId: system }, body: items },
      options,
    )
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(system: string, items: PatchPointsLevelsRequest, options?: CallOptions) {
    return this.#core.call(
      'PATCH /admin/v1/points/{systemId}/levels',
      { path: { systemId: system }, body: items },
      options,
    )
  }

  /** Deletes levels by their ids or keys. */
  delete(system: string, query: QueryOf<'DELETE /admin/v1/points/{systemId}/levels'>, options?: CallOptions) {
    return this.#core.call(
      'DELETE /admin/v1/points/{systemId}/levels',
      { path: { systemId: system }, query },
      options,
    )
  }

  /** Gets a level by its id or key. */
  get(system: string, id: string, options?: CallOptions) {
    return this.#core.call(
      'GET /admin/v1/points/{systemId}/levels/{id}',
      { path: { systemId: system, id } },
      options,
    )
  }
}

class AdminPointsTriggers {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the triggers, oldest first. */
  list(system: string, query?: QueryOf<'GET /admin/v1/points/{systemId}/triggers'>, options?: CallOptions) {
    return this.#core.list(
      'skip',
      'GET /admin/v1/points/{systemId}/triggers',
      { path: { systemId: system }, query },
      options,
    )
  }

  /** Creates triggers. An item that cannot be created is an entry in `issues`. */
  create(system: string, items: CreatePointsTriggersRequest, options?: CallOptions) {
    return this.#core.call(
      'POST /admin/v1/points/{systemId}/triggers',
      { path: { systemId: system }, body: items },
      options,
    )
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(system: string, items: PatchPointsTriggersRequest, options?: CallOptions) {
    return this.#core.call(
      'PATCH /admin/v1/points/{systemId}/triggers',
      { path: { systemId: system }, body: items },
      options,
    )
  }

  /** Deletes triggers by their ids or keys. */
  delete(
    system: string,
    query: QueryOf<'DELETE /admin/v1/points/{systemId}/triggers'>,
    options?: CallOptions,
  ) {
    return this.#core.call(
      'DELETE /admin/v1/points/{systemId}/triggers',
      { path: { systemId: system }, query },
      options,
    )
  }

  /** Gets a trigger by its id or key. */
  get(system: string, id: string, options?: CallOptions) {
    return this.#core.call(
      'GET /admin/v1/points/{systemId}/triggers/{id}',
      { path: { systemId: system, id } },
      options,
    )
  }
}

class AdminPointsBoosts {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the boosts, oldest first. */
  list(system: string, query?: QueryOf<'GET /admin/v1/points/{systemId}/boosts'>, options?: CallOptions) {
    return this.#core.list(
      'skip',
      'GET /admin/v1/points/{systemId}/boosts',
      { path: { systemId: system }, query },
      options,
    )
  }

  /** Creates boosts. An item that cannot be created is an entry in `issues`. */
  create(system: string, items: CreatePointsBoostsRequest, options?: CallOptions) {
    return this.#core.call(
      'POST /admin/v1/points/{systemId}/boosts',
      { path: { systemId: system }, body: items },
      options,
    )
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(system: string, items: PatchPointsBoostsRequest, options?: CallOptions) {
    return this.#core.call(
      'PATCH /admin/v1/points/{systemId}/boosts',
      { path: { systemId: system }, body: items },
      options,
    )
  }

  /** Deletes boosts by their ids or keys. */
  delete(system: string, query: QueryOf<'DELETE /admin/v1/points/{systemId}/boosts'>, options?: CallOptions) {
    return this.#core.call(
      'DELETE /admin/v1/points/{systemId}/boosts',
      { path: { systemId: system }, query },
      options,
    )
  }

  /** Gets a boost by its id or key. */
  get(system: string, id: string, options?: CallOptions) {
    return this.#core.call(
      'GET /admin/v1/points/{systemId}/boosts/{id}',
      { path: { systemId: system, id } },
      options,
    )
  }
}

class AdminPointsAdjustments {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /**
   * Gives points to users, or takes them away. An item without `idempotencyKey` gets one, so that the request
   * can be repeated. `null`: the item has none, and a request that may have been stored is not repeated.
   */
  create(system: string, items: CreatePointsAdjustmentsRequest, options?: CallOptions) {
    const body = items.map((item) =>
      item.idempotencyKey === undefined ? { ...item, idempotencyKey: newId() } : item,
    )
    const isRepeatable = body.every(({ idempotencyKey }) => idempotencyKey !== null)
    const request = { path: { systemId: system }, body }
    return this.#core.call('POST /admin/v1/points/{systemId}/adjustments', request, {
      ...options,
      isRepeatable,
    })
  }
}
