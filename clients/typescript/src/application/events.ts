import { Call } from '../core/call.js'
import type { Core } from '../core/core.js'
import { headerText } from '../core/header-text.js'
import { newId } from '../core/new-id.js'
import type { CallOptions } from '../core/options.js'
import { pathOf } from '../core/urls.js'
import type { EventRequest, EventResponse } from '../generated/types.js'

/** An event to send. */
export interface NewEvent extends EventRequest {
  /**
   * Makes the event count once, even if it is sent several times. If it is absent, the client makes one, so
   * that it can repeat the request. `null`: the event has none, and is not repeated if it may have been stored.
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
  const send = async () => {
    const [name, ofHeader] = keyHeaderIn(options?.headers)
    const given = event?.idempotencyKey ?? ofHeader ?? undefined
    checkEvent(metric, { ...event, idempotencyKey: given })
    const { idempotencyKey, ...body } = event
    const request = { path: { key: metric }, body }
    const key = given ?? (idempotencyKey === null ? null : newId())
    const settings =
      key === null
        ? options
        : {
            ...options,
            headers: { ...options?.headers, [name]: headerText(key) },
            isRepeatable: true,
          }
    return core.call('POST /v1/metrics/{key}/event', request, { ...settings, isAnswer }).withResponse()
  }
  return new Call(send())
}

const KEY_HEADER = 'idempotency-key'

/** The header of a call with the key, however its name is written. Programs without types may pass `undefined`. */
const keyHeaderIn = (headers: CallOptions['headers']): [name: string, key?: string] =>
  Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === KEY_HEADER) ?? [KEY_HEADER]

/** True for the answer to an event. After any other answer, the event must not be forgotten. */
const isAnswer = (data: unknown): boolean => typeof Object(data).eventId === 'string'

/** Throws a TypeError if no request can be made of an event. Programs without types may pass anything. */
export function checkEvent(metric: unknown, event: unknown): void {
  pathOf('{metric}', { metric })
  const { idempotencyKey }: { idempotencyKey?: unknown } = Object(event)
  if (userIdOf(event) === '') throw new TypeError('"user.id" must be a text that is not empty.')
  if (idempotencyKey !== undefined && idempotencyKey !== null && !isKey(idempotencyKey))
    throw new TypeError('"idempotencyKey" must be a text of 1 to 255 characters, without control characters.')
}

/** The id of an event's user, or an empty text if it has none. */
export function userIdOf(event: unknown): string {
  const { user }: { user?: unknown } = Object(event)
  const { id }: { id?: unknown } = Object(user)
  return typeof id === 'string' ? id : ''
}

/** True for an idempotency key (E4) that is valid as the value of a header. */
const isKey = (value: unknown): value is string =>
  typeof value === 'string' && /^(?!\s*$)[\t -~\u00a0-\ud7ff\ue000-\u{10ffff}]{1,255}$/u.test(value)
