import * as z from 'zod'
import type { Configuration } from '../../configuration/model'
import { iso } from '../../lib/clock'
import { MOST_DEVICE_TOKEN_CHARACTERS, MOST_DEVICE_TOKENS, MOST_NAME_CHARACTERS } from '../../lib/limits'
import type { UserState } from '../../rules/state'
import {
  Email,
  NullableAttributeMap,
  optional,
  ReadableAttributes,
  readable,
  Timestamp,
  TimeZone,
  text,
  UserId,
} from '../fields'

/**
 * The fields of a user that identify and update pass. src/api/fields.ts has the shapes of single fields
 * (U1). Absent fields stay, and null clears `tz` and `deviceTokens` (U2). Empty form fields send `""` for
 * `email` and `tz`, which counts as absent (U1).
 */
export const UpdatedUser = z
  .object({
    email: optional(Email).transform((email) => email || undefined),
    name: optional(text(MOST_NAME_CHARACTERS)),
    tz: TimeZone.nullish().transform((tz) => (tz === '' ? undefined : tz)),
    deviceTokens: z.array(text(MOST_DEVICE_TOKEN_CHARACTERS)).max(MOST_DEVICE_TOKENS).nullish(),
    subscribeToEmails: optional(z.boolean()),
    attributes: optional(NullableAttributeMap),
  })
  .meta({ id: 'UpdatedUser' })

/** The user of an event or of a create. An unknown user is created (U2). */
export const UpsertedUser = UpdatedUser.extend({ id: UserId }).meta({ id: 'UpsertedUser' })

/** A user as served. */
export const User = z
  .object({
    id: z.string(),
    email: z.string().nullable(),
    name: z.string().nullable(),
    tz: z.string().nullable(),
    deviceTokens: z.array(z.string()).nullable().optional(),
    subscribeToEmails: z.boolean(),
    attributes: z.record(z.string(), z.string()),
    control: z.boolean(),
    created: Timestamp,
    updated: Timestamp,
  })
  .meta({ id: 'User' })

/**
 * The readable fields of a user whose shape is wrong, so that one 422 can name their errors too (G3). A field
 * that cannot be read is undefined. It is never stored.
 */
export const ReadableUser = readable({
  id: UserId.optional().catch(undefined),
  email: z
    .string()
    .optional()
    .catch(undefined)
    .transform((email) => email || undefined),
  subscribeToEmails: z.boolean().optional().catch(undefined),
  attributes: ReadableAttributes,
})

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
