import * as z from 'zod'
import { ERROR_STATUSES } from '../lib/errors'
import { AchievementCompletionResponse } from '../wire/achievement.schemas'
import { EventResponse } from '../wire/event.schemas'
import { UserPreferencesResponse } from '../wire/preferences.schemas'
import { User } from '../wire/user.schemas'

/** A value that a schema accepts, handed on as it is: z.record would drop a key such as `__proto__`. */
const accepted = <S extends z.ZodType>(schema: S) =>
  z.custom<z.infer<S>>((value) => schema.safeParse(value).success)

/** The keys of attributes that were left out, since only admins may set them (K7). */
const leftOut = z.array(z.string()).default([])

/** How a command ended, as it can be told to a caller or sent between isolates. */
export const CommandResult = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('event'),
    status: z.literal([201, 202]),
    body: accepted(EventResponse),
    leftOut,
  }),
  z.object({ kind: z.literal('user'), body: accepted(User) }),
  z.object({ kind: z.literal('completion'), body: accepted(AchievementCompletionResponse), leftOut }),
  z.object({ kind: z.literal('preferences'), body: accepted(UserPreferencesResponse) }),
  z.object({
    kind: z.literal('refused'),
    status: z.literal(ERROR_STATUSES),
    message: z.string(),
    /** In how many seconds to try again, if waiting helps. */
    retryAfter: z.number().optional(),
  }),
  /** An event that counted, at this place of the log, but whose answer is lost; with a key it can be told as a replay. */
  z.object({
    kind: z.literal('lost'),
    at: z.number(),
    seq: z.number(),
    replay: accepted(EventResponse).nullable(),
    leftOut,
  }),
  /** A fault of ours; the message is for the log, not for the caller. */
  z.object({ kind: z.literal('failed'), message: z.string() }),
])
export type CommandResult = z.infer<typeof CommandResult>

/** What the lane answers: how each command ended, in the order sent, and what that cost. */
export const LaneReply = z.object({
  results: z.array(CommandResult),
  cost: z.object({ roundTrips: z.number(), rowsRead: z.number(), rowsWritten: z.number() }),
})
