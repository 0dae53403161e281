import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type { AchievementCompletionRequest } from '../generated/types.js'

/** Achievements, and how many users have completed them. */
export class Achievements {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the active achievements. */
  list(query?: QueryOf<'GET /v1/achievements'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/achievements', { query }, options)
  }

  /** Completes an achievement of the trigger "api" for a user. */
  complete(key: string, completion: AchievementCompletionRequest, options?: CallOptions) {
    const request = { path: { key }, body: completion }
    return this.#core.call('POST /v1/achievements/{key}/complete', request, {
      ...options,
      isRepeatable: true,
    })
  }
}

/** Points systems. */
export class Points {
  readonly #core: Core
  /** The levels of a points system. */
  readonly levels: PointsLevels
  /** The boosts of a points system. */
  readonly boosts: PointsBoosts

  constructor(core: Core) {
    this.#core = core
    this.levels = new PointsLevels(core)
    this.boosts = new PointsBoosts(core)
  }

  /** Lists the points systems. */
  list(options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/points', {}, options)
  }

  /** Gets a points system, with its triggers. */
  get(key: string, options?: CallOptions) {
    return this.#core.call('GET /v1/points/{key}', { path: { key } }, options)
  }

  /** Counts users by ranges of points. */
  summary(key: string, query?: QueryOf<'GET /v1/points/{key}/summary'>, options?: CallOptions) {
    return this.#core.call('GET /v1/points/{key}/summary', { path: { key }, query }, options)
  }

  /** Counts users by level. */
  levelSummary(key: string, query?: QueryOf<'GET /v1/points/{key}/level-summary'>, options?: CallOptions) {
    return this.#core.call('GET /v1/points/{key}/level-summary', { path: { key }, query }, options)
  }
}

class PointsLevels {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the levels, lowest first. */
  list(key: string, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/points/{key}/levels', { path: { key } }, options)
  }
}

class PointsBoosts {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the boosts of all users. */
  list(key: string, query?: QueryOf<'GET /v1/points/{key}/boosts'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/points/{key}/boosts', { path: { key }, query }, options)
  }
}

/** Streaks of several users. The streak of one user is `laurel.users.streak(id)`. */
export class Streaks {
  readonly #core: Core
  /** Users by the length of their streaks. */
  readonly rankings: StreakRankings

  constructor(core: Core) {
    this.#core = core
    this.rankings = new StreakRankings(core)
  }

  /** Lists the streaks of the named users. */
  list(query: QueryOf<'GET /v1/streaks'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/streaks', { query }, options)
  }
}

class StreakRankings {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the users with the longest streaks. */
  list(query?: QueryOf<'GET /v1/streaks/rankings'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/streaks/rankings', { query }, options)
  }
}
