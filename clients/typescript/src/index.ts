/** The client library of Laurel: the application interface and the admin interface. */
import { Admin } from './admin/admin.js'
import { Laurel as ApplicationLaurel } from './app.js'
import { Core } from './core/core.js'
import type { CallOptions, LaurelOptions } from './core/options.js'
import { verifyWebhook } from './webhooks.js'

/** A client of Laurel. */
export class Laurel extends ApplicationLaurel {
  readonly #core: Core
  /** The admin interface. It needs an admin key. */
  readonly admin: Admin
  /** Receives webhooks. It needs their secret, which belongs on a server. */
  readonly webhooks = { verify: verifyWebhook }

  constructor(options: LaurelOptions | Core) {
    const core = options instanceof Core ? options : new Core(options)
    super(core)
    this.#core = core
    this.admin = new Admin(core)
  }

  /** The same client with other options, such as another tenant. */
  override with(options: Omit<CallOptions, 'signal'>): Laurel {
    return new Laurel(this.#core.with(options))
  }
}

export * from './app.js'
export { verifyWebhook, type WebhookEvent } from './webhooks.js'
