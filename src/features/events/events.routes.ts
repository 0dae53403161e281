import type { Context as HonoContext, MiddlewareHandler } from 'hono'
import * as z from 'zod'
import { byPresentName, enter, permits, readClaim } from '../../access/access'
import {
  type Endpoint,
  type OperationSpec,
  paramOf,
  routeOf,
  stages,
  undecodable,
  validated,
} from '../../api/endpoint'
import { type AppEnv, answer } from '../../api/hono'
import { EventHeaders, EventRequest, EventResponse, ReadableEvent } from '../../api/shapes/events'
import type { User, UserPreferencesResponse } from '../../api/shapes/users'
import { configurationOf } from '../../configuration/configuration'
import { metricByKey } from '../../configuration/model'
import { instant } from '../../lib/clock'
import { ApiError, errors, type FieldError, listed } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { unknownAttributes } from '../../rules/profile.rules'
import { furtherUserErrors } from '../../store/users/users.sql.ts'
import { recordEvent, senderOf } from './commands'
import type { CommandResult } from './sent'

/** The header that names the attributes that were left out of an event or a completion (K7). */
export const WARNING_HEADER = {
  'X-Laurel-Warning': 'Names the fields that were left out, since only an admin key may set them.',
} as const

function warned(leftOut: readonly string[]) {
  if (leftOut.length === 0) return {}
  const warning = `Left out, since only an admin key may set them: ${listed(leftOut)}`
  return { headers: { 'X-Laurel-Warning': warning } }
}

function eventReply(result: CommandResult) {
  if (result.kind !== 'event' && result.kind !== 'lost') return noReply(result)
  const more = warned(result.leftOut)
  if (result.kind === 'event') return { status: result.status, body: result.body, ...more } as const
  if (result.replay === null) throw errors.notFound('The metric or the user of this event')
  return { status: 202, body: result.replay, ...more } as const
}

/** Throws the error of a refused or failed command, also if the result is of another kind. */
function noReply(result: CommandResult): never {
  if (result.kind === 'refused')
    throw new ApiError(result.status, result.message, result.retryAfter ?? null, result.issues)
  if (result.kind === 'failed') throw new Error(result.message)
  throw new Error(`a result of another kind of command: ${result.kind}`)
}

/** The user, as the response to a change. Throws the API error that refused it. */
export function userReply(result: CommandResult): z.infer<typeof User> {
  return result.kind === 'user' ? result.body : noReply(result)
}

/** The response to the completion of an achievement. Throws the API error that refused it. */
export function completionReply(result: CommandResult) {
  if (result.kind !== 'completion') return noReply(result)
  return { status: 201, body: result.body, ...warned(result.leftOut) } as const
}

/** The user's preferences, as the response to a change. Throws the API error that refused it. */
export function preferencesReply(result: CommandResult): z.infer<typeof UserPreferencesResponse> {
  return result.kind === 'preferences' ? result.body : noReply(result)
}

const metricsEvent = {
  id: 'metrics_event',
  surface: 'application',
  method: 'post',
  path: '/metrics/{key}/event',
  summary: 'Record an event of a user, and get everything that it changed',
  params: z.object({ key: z.string() }),
  headers: EventHeaders,
  body: EventRequest,
  responses: {
    201: { description: 'The event was recorded.', body: EventResponse, optionalHeaders: WARNING_HEADER },
    202: {
      description:
        'The idempotency key was used before; nothing changed. Or, rarely: the event has counted once, but its changes are not known any more. Do not send it again.',
      body: EventResponse,
      optionalHeaders: WARNING_HEADER,
    },
  },
} as const satisfies OperationSpec

const handle = async (c: HonoContext<AppEnv>) => {
  const { params, headers, body } = await validated(metricsEvent, c, ({ json }) => check(c, json))
  const ctx = c.get('ctx')
  const input = { metricKey: params.key, idempotencyKey: headers['idempotency-key'] ?? null, body }
  const reply = await byPresentName(ctx, c.get('claim'), async (claim) => {
    const result = await recordEvent(ctx, senderOf(claim, body.user.id), input)
    c.set('confirmed', true)
    if ('at' in result) c.set('now', instant(result.at))
    return eventReply(result)
  })
  return answer(c, reply.status, reply.body, reply.headers)
}

/** First confirms the API key of a refused event, and that its metric exists (E7, G2). */
async function enterRefused(c: HonoContext<AppEnv>): Promise<Scope> {
  c.set('confirmed', true)
  const scope = await enter(c.get('ctx'), metricsEvent.surface, c.get('claim'))
  c.set('scope', scope)
  const key = paramOf(c)('key')
  if (metricByKey(await configurationOf(scope), key) === undefined) {
    throw errors.notFound(`The metric ${JSON.stringify(key)}`)
  }
  return scope
}

async function check(c: HonoContext<AppEnv>, json: unknown): Promise<FieldError[]> {
  const scope = await enterRefused(c)
  const { user, attributes } = ReadableEvent.parse(json)
  return [
    ...unknownAttributes(await configurationOf(scope), 'event', attributes),
    ...(await furtherUserErrors(scope, user, 'user.')),
  ]
}

/**
 * The read that an event makes anyway also confirms its API key (K2), so that an event costs two round trips.
 * A request that is refused before that read confirms the key by a read of its own, so that 401, 403 and 404
 * come before 422 (G2).
 */
const claimed: MiddlewareHandler<AppEnv> = async (c, next) => {
  const ctx = c.get('ctx')
  const claim = await readClaim(ctx, c.req.raw.headers, { needs: 'write' })
  c.set('claim', claim)
  // It throws 401 or 403.
  if (!permits(claim.access, claim.needs)) await enter(ctx, metricsEvent.surface, claim)
  await next()
  const apiError = c.error
  if (!(apiError instanceof ApiError) || c.get('confirmed')) return
  if (apiError.status === 422 && undecodable(c) === null) await enterRefused(c)
  else await enter(ctx, metricsEvent.surface, claim)
}

const EventSubject = z.object({ user: z.object({ id: z.unknown() }) })
const subject = (json: unknown) => EventSubject.safeParse(json).data?.user.id

/** It has stages of its own, since the read that an event makes anyway confirms the key. */
export const eventEndpoint: Endpoint = {
  spec: metricsEvent,
  serve: (app) => {
    const rest = stages(metricsEvent, { subject }, (c) => c.get('scope'))
    app.on(['POST'], [routeOf(metricsEvent)], claimed, ...rest, handle)
  },
}
