import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type {
  CreateAdminKeysRequest,
  CreateApplicationKeysRequest,
  CreateTenantsRequest,
  CreateUserTokenRequest,
  MoveClockRequest,
  RebalanceRequest,
  UpdateSettingsRequest,
  UpdateTenantsRequest,
} from '../generated/types.js'

/** Tenants, if multi-tenancy is on. */
export class AdminTenants {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the tenants, oldest first. */
  list(query?: QueryOf<'GET /admin/v1/tenants'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/tenants', { query }, options)
  }

  /** Creates tenants. An item that cannot be created is an entry in `issues`. */
  create(items: CreateTenantsRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/tenants', { body: items }, options)
  }

  /** Updates the passed fields. An item that cannot be updated is an entry in `issues`. */
  update(items: UpdateTenantsRequest, options?: CallOptions) {
    return this.#core.call('PATCH /admin/v1/tenants', { body: items }, options)
  }

  /** Deletes tenants by their ids. */
  delete(query: QueryOf<'DELETE /admin/v1/tenants'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/tenants', { query }, options)
  }

  /** Gets a tenant by its id. */
  get(id: string, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/tenants/{id}', { path: { id } }, options)
  }

  /** Erases an archived tenant with everything in it. */
  purge(id: string, options?: CallOptions) {
    const request = { path: { id }, query: { purge: true as const } }
    return this.#core.call('DELETE /admin/v1/tenants/{id}', request, options)
  }
}

/** The settings of the tenant. */
export class AdminSettings {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Gets the settings. */
  get(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/settings', {}, options)
  }

  /** Updates the passed settings. */
  update(settings: UpdateSettingsRequest, options?: CallOptions) {
    return this.#core.call('PATCH /admin/v1/settings', { body: settings }, options)
  }
}

/** Keys of single users for browsers. */
export class AdminApplicationKeys {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the application keys, oldest first. */
  list(query?: QueryOf<'GET /admin/v1/application-api-keys'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/application-api-keys', { query }, options)
  }

  /** Creates application keys. An item that cannot be created is an entry in `issues`. */
  create(items: CreateApplicationKeysRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/application-api-keys', { body: items }, options)
  }

  /** Deletes application keys by their ids. */
  delete(query: QueryOf<'DELETE /admin/v1/application-api-keys'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/application-api-keys', { query }, options)
  }
}

/** Tokens of single users for browsers, which end by themselves. */
export class AdminUserTokens {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Makes a token for a user, who must exist. Nothing is stored. */
  create(fields: CreateUserTokenRequest, options?: CallOptions) {
    const request = { body: fields }
    return this.#core.call('POST /admin/v1/user-tokens', request, { ...options, isRepeatable: true })
  }
}

/** Admin keys. */
export class AdminAdminKeys {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the admin keys, oldest first. */
  list(query?: QueryOf<'GET /admin/v1/admin-api-keys'>, options?: CallOptions) {
    return this.#core.list('skip', 'GET /admin/v1/admin-api-keys', { query }, options)
  }

  /** Creates admin keys. An item that cannot be created is an entry in `issues`. */
  create(items: CreateAdminKeysRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/admin-api-keys', { body: items }, options)
  }

  /** Deletes admin keys by their ids. */
  delete(query: QueryOf<'DELETE /admin/v1/admin-api-keys'>, options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/admin-api-keys', { query }, options)
  }

  /** Replaces an admin key. Only this answer shows the new one, and the old one ends at once. */
  rotate(id: string, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/admin-api-keys/{id}/rotate', { path: { id } }, options)
  }
}

/** The timeout of moving the clock, in milliseconds: the work of all the time on the way is done first. */
const CLOCK_TIMEOUT = 10 * 60_000

/** The service's time, in development. */
export class AdminTestClock {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Gets the service's time. */
  get(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/test-clock', {}, options)
  }

  /**
   * Moves the clock forward, to a moment or by a duration, and runs all work that becomes due. With the header
   * `prefer: 'respond-async'`, it does not wait for that work, and `get` shows its progress.
   */
  set(clock: MoveClockRequest, options?: CallOptions) {
    // Moving it twice by a duration moves it too far.
    const isRepeatable = clock.advance === undefined || clock.advance === null
    const settings = { ...options, timeout: options?.timeout ?? CLOCK_TIMEOUT, isRepeatable }
    return this.#core.call('PUT /admin/v1/test-clock', { body: clock }, settings)
  }

  /** Returns to real time. */
  reset(options?: CallOptions) {
    return this.#core.call('DELETE /admin/v1/test-clock', {}, options)
  }
}

/** The databases over which the users are spread. */
export class AdminDatabases {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the databases, the first one first. */
  list(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/databases', {}, options)
  }

  /** Spreads the users by weight. Databases that are not named count 1. */
  rebalance(fields: RebalanceRequest = {}, options?: CallOptions) {
    // The weights replace all earlier ones.
    const settings = { ...options, isRepeatable: true }
    return this.#core.call('POST /admin/v1/databases/rebalance', { body: fields }, settings)
  }
}

/** The log of all changes that admins made. */
export class AdminAuditLog {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the changes that admins made, newest first. */
  list(query?: QueryOf<'GET /admin/v1/audit-log'>, options?: CallOptions) {
    return this.#core.list('cursor', 'GET /admin/v1/audit-log', { query }, options)
  }
}
