import type { Call } from '../core/call.js'
import type { Core } from '../core/core.js'
import { newId } from '../core/new-id.js'
import type { CallOptions } from '../core/options.js'
import type { EventRequest, EventResponse } from '../generated/types.js'

/** An event to send. */
export interface NewEvent extends EventRequest {
  /**
   * Makes the event count once, even if it is sent several times. If it is absent, the client makes one, so
   * that it can repeat the request. `null`: the event has none, and is sent once.
   */
  idempotencyKey?: string | null | undefined
}

/** Sends one event of a metric. */
export function sendEvent(
  core: Core,
  metric: string,
  event: NewEvent,
  options?: CallOptions,
): Call<EventResponse> {
  const { idempotencyKey = newId(), ...body } = event
  const request = { path: { key: metric }, body }
  if (idempotencyKey === null) return core.call('POST /v1/metrics/{key}/event', request, options)
  return core.call('POST /v1/metrics/{key}/event', request, {
    ...options,
    headers: { ...options?.headers, 'idempotency-key': headerText(idempotencyKey) },
    isRepeatable: true,
  })
}

/** A text as the value of a header, so that its bytes are sent in UTF-8. */
function headerText(text: string): string {
  if (encodesHeaders()) return text
  // Elsewhere, each character of a header is one byte.
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('')
}

/** Whether this runtime sends headers in UTF-8 by itself, as Workers do. Others refuse such characters. */
function encodesHeaders(): boolean {
  try {
    new Headers({ test: '✓' })
    return true
  } catch {
    return false
  }
}
