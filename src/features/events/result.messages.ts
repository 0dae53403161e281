import * as z from 'zod'
import { AchievementCompletionResponse } from '../../api/shapes/achievement.schemas'
import { EventResponse } from '../../api/shapes/event.schemas'
import { UserPreferencesResponse } from '../../api/shapes/preferences.schemas'
import { User } from '../../api/shapes/user.schemas'
import { ERROR_STATUSES } from '../../lib/errors'

/** Keeps a fitting value as it is: z.record would drop a key such as `__proto__`. */
const accepted = <S extends z.ZodType>(schema: S) =>
  z.custom<z.infer<S>>((value) => schema.safeParse(value).success)

/** The keys of attributes that were left out, since only admins may set them (K7). */
const leftOut = z.array(z.string()).default([])

/** How a command ended, as JSON for a caller or another isolate. */
export const CommandResult = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('event'),
    status: z.literal([201, 202]),
    body: accepted(EventResponse),
    leftOut,
    /** The moment of the response. A lane of an earlier version does not say it. */
    at: z.number().optional(),
  }),
  z.object({ kind: z.literal('user'), body: accepted(User) }),
  z.object({ kind: z.literal('completion'), body: accepted(AchievementCompletionResponse), leftOut }),
  z.object({ kind: z.literal('preferences'), body: accepted(UserPreferencesResponse) }),
  z.object({
    kind: z.literal('refused'),
    status: z.literal(ERROR_STATUSES),
    message: z.string(),
    /** The problems one by one, if the error has them. */
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    /** Seconds after which to try again, if waiting helps. */
    retryAfter: z.number().optional(),
  }),
  /** An event stored at this place whose response is lost. With an idempotency key it is replayed. */
  z.object({
    kind: z.literal('lost'),
    at: z.number(),
    seq: z.number(),
    replay: accepted(EventResponse).nullable(),
    leftOut,
  }),
  /** An error in Laurel. The message is for the log, not for the caller. */
  z.object({ kind: z.literal('failed'), message: z.string() }),
])
export type CommandResult = z.infer<typeof CommandResult>

/** The lane's reply: how each command ended, in the order sent, and the cost. */
export const LaneReply = z.object({
  results: z.array(CommandResult),
  cost: z.object({ roundTrips: z.number(), rowsRead: z.number(), rowsWritten: z.number() }),
})
