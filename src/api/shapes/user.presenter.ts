import type * as z from 'zod'
import type { Configuration } from '../../configuration/configuration.types'
import { iso } from '../../lib/clock'
import type { UserState } from '../../rules/state.types'
import type { User } from './user.schemas'

/** A user as served, with the values of the attributes that are configured now. */
export function userResponse(config: Configuration, user: UserState): z.infer<typeof User> {
  const { id, profile, control, created, updated } = user
  return {
    id,
    email: profile.email,
    name: profile.name,
    tz: profile.tz,
    deviceTokens: profile.deviceTokens === null ? null : [...profile.deviceTokens],
    subscribeToEmails: profile.subscribeToEmails,
    attributes: Object.fromEntries(
      config.attributes.flatMap((attribute) => {
        const value = profile.attributes.get(attribute.id)
        return value === undefined ? [] : [[attribute.key, value]]
      }),
    ),
    control,
    created: iso(created),
    updated: iso(updated),
  }
}
