import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type { VoidEventRequest } from '../generated/types.js'

/** Users, as support people need them. `laurel.users` has the rest. */
export class AdminUsers {
  readonly #core: Core
  /** Everything that happened to a user. */
  readonly timeline: AdminTimeline

  constructor(core: Core) {
    this.#core = core
    this.timeline = new AdminTimeline(core)
  }

  /** Lists the users, oldest first, or those that a search finds. */
  list(query?: QueryOf<'GET /admin/v1/users'>, options?: CallOptions) {
    return this.#core.list('cursor', 'GET /admin/v1/users', { query }, options)
  }

  /** Exports everything that is stored about a user. */
  export(id: string, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/users/{id}/export', { path: { id } }, options)
  }

  /** Erases a user and everything that is stored about them. */
  delete(id: string, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/users/{id}', { path: { id } }, options)
  }

  /** Voids an event: it no longer counts. Voiding it again changes nothing. */
  voidEvent(id: string, eventId: string, fields: VoidEventRequest = {}, options?: CallOptions) {
    const request = { path: { id, eventId }, body: fields }
    return this.#core.call('POST /admin/v1/users/{id}/events/{eventId}/void', request, {
      ...options,
      isRepeatable: true,
    })
  }

  /** Takes back the completion of an achievement, and its points too with `points: 'revoke'`. */
  revokeAchievement(
    id: string,
    key: string,
    query?: QueryOf<'DELETE /admin/v1/users/{id}/achievements/{key}'>,
    options?: CallOptions,
  ) {
    const request = { path: { id, key }, query }
    return this.#core.call('DELETE /admin/v1/users/{id}/achievements/{key}', request, options)
  }

  /** Explains an award of points: the event, the trigger, the boosts, and the limits. */
  explainAward(id: string, key: string, awardId: string, options?: CallOptions) {
    const path = { id, key, awardId }
    return this.#core.call('GET /admin/v1/users/{id}/points/{key}/awards/{awardId}', { path }, options)
  }
}

class AdminTimeline {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists everything that happened to a user, newest first. */
  list(id: string, query?: QueryOf<'GET /admin/v1/users/{id}/timeline'>, options?: CallOptions) {
    return this.#core.list('cursor', 'GET /admin/v1/users/{id}/timeline', { path: { id }, query }, options)
  }
}
