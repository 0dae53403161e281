import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import { AdminCollection } from './collection.js'

/** Achievements. */
export class AdminAchievements extends AdminCollection<'/admin/v1/achievements'> {
  readonly #core: Core

  constructor(core: Core) {
    super(core, '/admin/v1/achievements')
    this.#core = core
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
export class AdminLeaderboards extends AdminCollection<'/admin/v1/leaderboards'> {
  readonly #core: Core

  constructor(core: Core) {
    super(core, '/admin/v1/leaderboards')
    this.#core = core
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
