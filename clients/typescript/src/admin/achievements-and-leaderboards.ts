import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type {
  CreateAchievementsRequest,
  CreateLeaderboardsRequest,
  UpdateAchievementsRequest,
  UpdateLeaderboardsRequest,
} from '../generated/types.js'

/** Achievements. */
export class AdminAchievements {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the achievements, oldest first. */
  list(query?: QueryOf<'GET /admin/v1/achievements'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/achievements', { query }, options)
  }

  /** Creates achievements. An item that cannot be created is an entry in `issues`. */
  create(items: CreateAchievementsRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/achievements', { body: items }, options)
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(items: UpdateAchievementsRequest, options?: CallOptions) {
    return this.#core.call('PATCH /admin/v1/achievements', { body: items }, options)
  }

  /** Deletes achievements by their ids or keys. */
  delete(query: QueryOf<'DELETE /admin/v1/achievements'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/achievements', { query }, options)
  }

  /** Gets an achievement by its id or key. */
  get(id: string, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/achievements/{id}', { path: { id } }, options)
  }

  /** Gets the figures of an achievement between two dates, by day. */
  analytics(
    key: string,
    query?: QueryOf<'GET /admin/v1/achievements/{key}/analytics'>,
    options?: CallOptions,
  ) {
    return this.#core.call('GET /admin/v1/achievements/{key}/analytics', { path: { key }, query }, options)
  }
}

/** Leaderboards. */
export class AdminLeaderboards {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the leaderboards, oldest first. */
  list(query?: QueryOf<'GET /admin/v1/leaderboards'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/leaderboards', { query }, options)
  }

  /** Creates leaderboards. An item that cannot be created is an entry in `issues`. */
  create(items: CreateLeaderboardsRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/leaderboards', { body: items }, options)
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(items: UpdateLeaderboardsRequest, options?: CallOptions) {
    return this.#core.call('PATCH /admin/v1/leaderboards', { body: items }, options)
  }

  /** Deletes leaderboards by their ids or keys. */
  delete(query: QueryOf<'DELETE /admin/v1/leaderboards'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/leaderboards', { query }, options)
  }

  /** Gets a leaderboard by its id or key. */
  get(id: string, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/leaderboards/{id}', { path: { id } }, options)
  }

  /** Gets the figures of a leaderboard between two dates, by day. */
  analytics(
    key: string,
    query?: QueryOf<'GET /admin/v1/leaderboards/{key}/analytics'>,
    options?: CallOptions,
  ) {
    return this.#core.call('GET /admin/v1/leaderboards/{key}/analytics', { path: { key }, query }, options)
  }
}
