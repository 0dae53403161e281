import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type { UpdatedUser, UpdateUserPreferencesRequest, UpsertedUser } from '../generated/types.js'

/** Users, and what they have. */
export class Users {
  readonly #core: Core
  /** The totals of metrics of a user. */
  readonly metrics: UserMetrics
  /** The points of a user. */
  readonly points: UserPoints
  /** The achievements of a user. */
  readonly achievements: UserAchievements
  /** The places of a user on leaderboards. */
  readonly leaderboards: UserLeaderboards
  /** The preferences of a user. */
  readonly preferences: UserPreferences

  constructor(core: Core) {
    this.#core = core
    this.metrics = new UserMetrics(core)
    this.points = new UserPoints(core)
    this.achievements = new UserAchievements(core)
    this.leaderboards = new UserLeaderboards(core)
    this.preferences = new UserPreferences(core)
  }

  /** Creates a user, or updates the passed fields if there is one with this id. */
  create(user: UpsertedUser, options?: CallOptions) {
    return this.#core.call('POST /v1/users', { body: user }, { ...options, isRepeatable: true })
  }

  /** Gets a user. */
  get(id: string, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}', { path: { id } }, options)
  }

  /** Creates a user, or updates the passed fields. */
  identify(id: string, fields: UpdatedUser, options?: CallOptions) {
    return this.#core.call('PUT /v1/users/{id}', { path: { id }, body: fields }, options)
  }

  /** Updates the passed fields of a user. */
  update(id: string, fields: UpdatedUser, options?: CallOptions) {
    return this.#core.call('PATCH /v1/users/{id}', { path: { id }, body: fields }, options)
  }

  /** Gets everything that a user has, in one call. */
  overview(id: string, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}/overview', { path: { id } }, options)
  }

  /** Gets the streak of a user, with as many past periods as wanted. */
  streak(id: string, query?: QueryOf<'GET /v1/users/{id}/streak'>, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}/streak', { path: { id }, query }, options)
  }

  /** Gets a user's year. */
  wrapped(id: string, query?: QueryOf<'GET /v1/users/{id}/wrapped'>, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}/wrapped', { path: { id }, query }, options)
  }
}

class UserMetrics {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the user's totals of all metrics. */
  list(id: string, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/users/{id}/metrics', { path: { id } }, options)
  }

  /** Gets the user's total of a metric. */
  get(id: string, key: string, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}/metrics/{key}', { path: { id, key } }, options)
  }

  /** Sums the user's events of a metric by day, week or month. */
  eventSummary(
    id: string,
    key: string,
    query: QueryOf<'GET /v1/users/{id}/metrics/{key}/event-summary'>,
    options?: CallOptions,
  ) {
    const path = { id, key }
    return this.#core.call('GET /v1/users/{id}/metrics/{key}/event-summary', { path, query }, options)
  }
}

class UserPoints {
  readonly #core: Core
  /** The boosts of a user's points. */
  readonly boosts: UserPointsBoosts

  constructor(core: Core) {
    this.#core = core
    this.boosts = new UserPointsBoosts(core)
  }

  /** Lists the user's points in all systems. */
  list(id: string, query?: QueryOf<'GET /v1/users/{id}/points'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/users/{id}/points', { path: { id }, query }, options)
  }

  /** Gets the user's points in a system, with the newest awards. */
  get(id: string, key: string, query?: QueryOf<'GET /v1/users/{id}/points/{key}'>, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}/points/{key}', { path: { id, key }, query }, options)
  }

  /** Sums the user's points by day, week or month. */
  eventSummary(
    id: string,
    key: string,
    query: QueryOf<'GET /v1/users/{id}/points/{key}/event-summary'>,
    options?: CallOptions,
  ) {
    const path = { id, key }
    return this.#core.call('GET /v1/users/{id}/points/{key}/event-summary', { path, query }, options)
  }
}

class UserPointsBoosts {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the boosts that apply to the user now. */
  list(id: string, key: string, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/users/{id}/points/{key}/boosts', { path: { id, key } }, options)
  }
}

class UserAchievements {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the achievements that the user has completed, and the others too with `includeIncomplete`. */
  list(id: string, query: { includeIncomplete?: boolean | undefined } = {}, options?: CallOptions) {
    const includeIncomplete = query.includeIncomplete ? ('true' as const) : undefined
    const request = { path: { id }, query: { includeIncomplete } }
    return this.#core.list('whole', 'GET /v1/users/{id}/achievements', request, options)
  }
}

class UserLeaderboards {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the user's places on all leaderboards. */
  list(id: string, query?: QueryOf<'GET /v1/users/{id}/leaderboards'>, options?: CallOptions) {
    return this.#core.list('whole', 'GET /v1/users/{id}/leaderboards', { path: { id }, query }, options)
  }

  /** Gets the user's place on a leaderboard. */
  get(
    id: string,
    key: string,
    query?: QueryOf<'GET /v1/users/{id}/leaderboards/{key}'>,
    options?: CallOptions,
  ) {
    return this.#core.call('GET /v1/users/{id}/leaderboards/{key}', { path: { id, key }, query }, options)
  }
}

class UserPreferences {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Gets the preferences that the user has set. */
  get(id: string, options?: CallOptions) {
    return this.#core.call('GET /v1/users/{id}/preferences', { path: { id } }, options)
  }

  /** Updates the passed preferences. */
  update(id: string, preferences: UpdateUserPreferencesRequest, options?: CallOptions) {
    return this.#core.call('PATCH /v1/users/{id}/preferences', { path: { id }, body: preferences }, options)
  }
}
