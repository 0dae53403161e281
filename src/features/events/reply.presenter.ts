import type * as z from 'zod'
import type { UserPreferencesResponse } from '../../api/shapes/preferences.schemas'
import type { User } from '../../api/shapes/user.schemas'
import { ApiError, listed } from '../../lib/errors'
import { unreachable } from '../../lib/unreachable'

import type { CommandResult } from './result.messages'

/** The header that names the attributes that were left out of an event or a completion (K7). */
export const WARNING_HEADER = {
  'X-Laurel-Warning': 'Names the attributes that were left out, since only an admin key may set them.',
} as const

/** A reply's headers: `X-Laurel-Warning` if attributes were left out (K7), else none. */
const warned = (leftOut: readonly string[]) =>
  leftOut.length === 0
    ? {}
    : {
        headers: {
          'X-Laurel-Warning': `Left out, since only an admin key may set them: ${listed(leftOut)}`,
        },
      }

const apiErrorOf = (refused: Extract<CommandResult, { kind: 'refused' }>) =>
  new ApiError(refused.status, refused.message, refused.retryAfter ?? null, refused.issues)

/** The response to an event. Throws the API error that refused it. */
export function eventReply(result: CommandResult) {
  if (result.kind !== 'event' && result.kind !== 'lost') return noReply(result)
  const more = warned(result.leftOut)
  if (result.kind === 'event') {
    return { status: result.status, body: result.body, ...more } as const
  }
  if (result.replay !== null) return { status: 202, body: result.replay, ...more } as const
  throw new Error('the event is stored, but its response is lost')
}

/** Throws the error of a refused or failed command, also if the result is of another kind. */
function noReply(result: CommandResult): never {
  switch (result.kind) {
    case 'refused':
      throw apiErrorOf(result)
    case 'failed':
      throw new Error(result.message)
    case 'event':
    case 'lost':
    case 'user':
    case 'completion':
    case 'preferences':
      throw new Error(`a result of another kind of command: ${result.kind}`)
    default:
      return unreachable(result)
  }
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
