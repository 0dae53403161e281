import type * as z from 'zod'
import { ApiError, listed } from '../lib/errors'
import { unreachable } from '../lib/unreachable'
import type { UserPreferencesResponse } from '../wire/preferences.schemas'
import type { User } from '../wire/user.schemas'

import type { CommandResult } from './result.messages'

/** The header that names what was left out of an event or a completion (K7). */
export const WARNING_HEADER = {
  'X-Laurel-Warning': 'Names the attributes that were left out, since only an admin key may set them.',
} as const

/** A reply's headers: `X-Laurel-Warning` if something was left out (K7), else none. */
const warned = (leftOut: readonly string[]) =>
  leftOut.length === 0
    ? {}
    : {
        headers: {
          'X-Laurel-Warning': `Left out, since only an admin key may set them: ${listed(leftOut)}`,
        },
      }

const apiErrorOf = ({ status, message, retryAfter }: Extract<CommandResult, { kind: 'refused' }>) =>
  new ApiError(status, message, retryAfter ?? null)

/** The answer to an event's caller. Throws what refused it. */
export function eventReply(result: CommandResult) {
  if (result.kind !== 'event' && result.kind !== 'lost') return noReply(result)
  const more = warned(result.leftOut)
  if (result.kind === 'event') {
    return { status: result.status, body: result.body, ...more } as const
  }
  if (result.replay !== null) return { status: 202, body: result.replay, ...more } as const
  throw new Error('an event counted, but its answer is lost')
}

/** Throws what refused a command or made it fail; also if the result is that of another kind of command. */
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
      throw new Error(`another kind of command ended as ${result.kind}`)
    default:
      return unreachable(result)
  }
}

/** The user to answer to whoever changed it. Throws what refused it. */
export function userReply(result: CommandResult): z.infer<typeof User> {
  return result.kind === 'user' ? result.body : noReply(result)
}

/** What completing an achievement came to, to answer to its caller. Throws what refused it. */
export function completionReply(result: CommandResult) {
  if (result.kind !== 'completion') return noReply(result)
  return { status: 201, body: result.body, ...warned(result.leftOut) } as const
}

/** What a user has set, to answer to whoever set it. Throws what refused it. */
export function preferencesReply(result: CommandResult): z.infer<typeof UserPreferencesResponse> {
  return result.kind === 'preferences' ? result.body : noReply(result)
}
