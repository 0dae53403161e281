import type { Core, QueryOf } from '../core/core.js'
import type { CallOptions } from '../core/options.js'
import type {
  PreviewDraftRequest,
  PreviewTemplateRequest,
  RedeliverRequest,
  TestTemplateRequest,
  TestWebhookRequest,
} from '../generated/types.js'
import { AdminCollection } from './collection.js'

/** Webhooks. */
export class AdminWebhooks extends AdminCollection<'/admin/v1/webhooks'> {
  readonly #core: Core
  /** The deliveries of a webhook. */
  readonly deliveries: AdminWebhookDeliveries

  constructor(core: Core) {
    super(core, '/admin/v1/webhooks')
    this.#core = core
    this.deliveries = new AdminWebhookDeliveries(core)
  }

  /**
   * Replaces the secret of a webhook. Only this answer shows the new one. The old one signs too for 24 hours,
   * unless `endPrevious` is true.
   */
  rotateSecret(
    id: string,
    query?: QueryOf<'POST /admin/v1/webhooks/{id}/rotate-secret'>,
    options?: CallOptions,
  ) {
    return this.#core.call('POST /admin/v1/webhooks/{id}/rotate-secret', { path: { id }, query }, options)
  }

  /** Sends all deliveries again that failed since a moment, or that have a status, in the background. */
  redeliver(id: string, which: RedeliverRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/webhooks/{id}/redeliver', { path: { id }, body: which }, options)
  }

  /** Gets how far the last `redeliver` is. */
  redelivery(id: string, options?: CallOptions) {
    return this.#core.call('GET /admin/v1/webhooks/{id}/redeliver', { path: { id } }, options)
  }

  /** Ends the rest of a webhook, and tries its next delivery at once. */
  tryNow(id: string, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/webhooks/{id}/try', { path: { id } }, options)
  }

  /** Sends a webhook a sample event of a type at once. The answer says what came back. */
  test(id: string, sample: TestWebhookRequest, options?: CallOptions) {
    return this.#core.call('POST /admin/v1/webhooks/{id}/test', { path: { id }, body: sample }, options)
  }
}

class AdminWebhookDeliveries {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the deliveries of a webhook, newest first. */
  list(id: string, query?: QueryOf<'GET /admin/v1/webhooks/{id}/deliveries'>, options?: CallOptions) {
    return this.#core.list(
      'cursor',
      'GET /admin/v1/webhooks/{id}/deliveries',
      { path: { id }, query },
      options,
    )
  }

  /** Gets a delivery of a webhook, with the body that it sends. */
  get(id: string, deliveryId: string, options?: CallOptions) {
    const path = { id, deliveryId }
    return this.#core.call('GET /admin/v1/webhooks/{id}/deliveries/{deliveryId}', { path }, options)
  }

  /** Sends a delivery once more, under the same id. */
  redeliver(id: string, deliveryId: string, options?: CallOptions) {
    const path = { id, deliveryId }
    return this.#core.call(
      'POST /admin/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver',
      { path },
      options,
    )
  }
}

/** Emails and push messages to users. */
export class AdminNotifications {
  /** The templates of messages. */
  readonly templates: AdminTemplates
  /** The messages that were sent. */
  readonly log: AdminNotificationLog

  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
    this.templates = new AdminTemplates(core)
    this.log = new AdminNotificationLog(core)
  }

  /** Gets the providers that are configured for email and push messages. */
  channels(options?: CallOptions) {
    return this.#core.call('GET /admin/v1/notifications/channels', {}, options)
  }
}

class AdminTemplates extends AdminCollection<'/admin/v1/notifications/templates'> {
  readonly #core: Core

  constructor(core: Core) {
    super(core, '/admin/v1/notifications/templates')
    this.#core = core
  }

  /** Renders a template for a user, without sending anything. */
  preview(id: string, fields: PreviewTemplateRequest, options?: CallOptions) {
    const request = { path: { id }, body: fields }
    return this.#core.call('POST /admin/v1/notifications/templates/{id}/preview', request, {
      ...options,
      isRepeatable: true,
    })
  }

  /** Renders a template that is not stored for a user, without sending anything. */
  previewDraft(fields: PreviewDraftRequest, options?: CallOptions) {
    const request = { body: fields }
    return this.#core.call('POST /admin/v1/notifications/templates/preview', request, {
      ...options,
      isRepeatable: true,
    })
  }

  /** Sends a message by a template to a user now, once. Says whether the provider took it. */
  test(id: string, fields: TestTemplateRequest, options?: CallOptions) {
    const request = { path: { id }, body: fields }
    return this.#core.call('POST /admin/v1/notifications/templates/{id}/test', request, options)
  }
}

class AdminNotificationLog {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /** Lists the messages to users, newest first. */
  list(query?: QueryOf<'GET /admin/v1/notifications/log'>, options?: CallOptions) {
    return this.#core.list('cursor', 'GET /admin/v1/notifications/log', { query }, options)
  }
}
