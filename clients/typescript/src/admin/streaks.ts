import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type {
  CreateStreakFreezesRequest,
  CreateStreakPausesRequest,
  ResetStreaksRequest,
  RestoreStreaksRequest,
  UpdateStreakSettingsRequest,
} from '../generated/types.js'

/** Streaks: the settings, and help for single users. */
export class AdminStreaks {
  readonly #core: Core
  /** The settings of streaks. */
  readonly settings: AdminStreakSettings
  /** Freezes, which save a streak from a missed day. */
  readonly freezes: AdminStreakFreezes
  /** Pauses, in which a streak does not end. */
  readonly pauses: AdminStreakPauses

  constructor(core: Core) {
    this.#core = core
    this.settings = new AdminStreakSettings(core)
    this.freezes = new AdminStreakFreezes(core)
    this.pauses = new AdminStreakPauses(core)
  }

  /** Gives users back the streak that they lost. A user who has none to restore is an entry in `issues`. */
  restore(streaks: RestoreStreaksRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/streaks/restore', { body: streaks }, options)
  }

  /** Sets users' streaks to zero. A user without one is an entry in `issues`. */
  reset(streaks: ResetStreaksRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/streaks/reset', { body: streaks }, options)
  }
}

class AdminStreakSettings {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Gets the settings. */
  get(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/streaks/settings', {}, options)
  }

  /** Updates the passed settings. */
  update(settings: UpdateStreakSettingsRequest, options?: CallOptions) {
    return this.#core.call('PATCH /admin/v1/streaks/settings', { body: settings }, options)
  }
}

class AdminStreakFreezes {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Gives users freezes. */
  create(freezes: CreateStreakFreezesRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/streaks/freezes', { body: freezes }, options)
  }
}

class AdminStreakPauses {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the pauses of a user. */
  list(query: QueryOf<'GET /admin/v1/streaks/pauses'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/streaks/pauses', { query }, options)
  }

  /** Pauses the streaks of users. */
  create(pauses: CreateStreakPausesRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/streaks/pauses', { body: pauses }, options)
  }

  /** Deletes pauses by their ids. */
  delete(query: QueryOf<'DELETE /admin/v1/streaks/pauses'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/streaks/pauses', { query }, options)
  }
}
