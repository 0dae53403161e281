import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import { type LiveOptions, watch } from './live.js'

/** Leaderboards and their rankings. */
export class Leaderboards {
  readonly #core: Core
  /** The groups of a leaderboard with a breakdown. */
  readonly groups: LeaderboardGroups

  constructor(core: Core) {
    this.#core = core
    this.groups = new LeaderboardGroups(core)
  }

  /** Lists the leaderboards, without rankings. */
  list(query?: QueryOf<'GET /v1/leaderboards'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/leaderboards', { query }, options)
  }

  /** Gets a leaderboard with rankings. */
  get(key: string, query?: QueryOf<'GET /v1/leaderboards/{key}'>, options?: CallOptions) {
    return this.#core.call('GET /v1/leaderboards/{key}', { path: { key }, query }, options)
  }

  /**
   * Watches the rankings of a leaderboard. Connects again whenever the connection ends.
   *
   * @returns a function that stops it
   */
  live(key: string, options: LiveOptions): () => void {
    return watch(this.#core, key, options)
  }
}

/** Tickets that open the streams of live leaderboards. `leaderboards.live` needs none. */
export class LiveTickets {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Makes a ticket for an `EventSource`, which cannot send a key. It is valid for 60 seconds. */
  create(options?: CallOptions) {
    return this.#core.call('POST /v1/live-tickets', {}, { ...options, isRepeatable: true })
  }
}

class LeaderboardGroups {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the groups of a run, largest first. */
  list(key: string, query?: QueryOf<'GET /v1/leaderboards/{key}/groups'>, options?: CallOptions) {
    return this.#core.list('cursor', 'GET /v1/leaderboards/{key}/groups', { path: { key }, query }, options)
  }
}
