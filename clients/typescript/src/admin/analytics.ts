import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'

/** The figures of all users, by day. Metrics and other resources have figures of their own. */
export class AdminAnalytics {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Gets the figures of all users between two dates, at most 400 days. They are made each hour. */
  overview(query?: QueryOf<'GET /admin/v1/analytics/overview'>, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/analytics/overview', { query }, options)
  }
}
