import * as z from 'zod'
import type { Credential } from '../../access/credentials'
import { AchievementCompletionResponse } from '../../api/shapes/achievements'
import { EventRequest, EventResponse } from '../../api/shapes/events'
import {
  PreferencesChangeMessage,
  UpdatedUser,
  UpsertedUser,
  User,
  UserPreferencesResponse,
} from '../../api/shapes/users'
import { fromMicros, toMicros } from '../../lib/decimal'
import { ERROR_STATUSES, unreachable } from '../../lib/errors'
import { Moment } from '../../platform/columns'
import type { Command, EventCommand } from '../../rules/evaluate.rules'
import type { ProfileChange } from '../../rules/profile.rules'
import type { Job } from '../../store/commit/decide'

/** Messages wait in the inbox while another version is deployed. So a new field needs a default. */
const Common = z.object({
  arrived: Moment,
  prefix: z.string().nullable(),
  tokenUser: z.object({ tenantId: z.string(), id: z.string(), iid: z.string() }).nullable(),
  expires: Moment.nullable(),
  tenantName: z.string().nullable(),
  since: Moment.nullable(),
})

const by = z.enum(['admin', 'user'])

/** Parses the jobs that another isolate has sent. */
export const Commands = z.array(
  z.discriminatedUnion('kind', [
    z
      .object({
        kind: z.literal('event'),
        ...Common.shape,
        by,
        eventId: z.string(),
        metricKey: z.string(),
        idempotencyKey: z.string().nullable(),
        body: EventRequest,
      })
      .transform(({ body, ...rest }) => jobOf(eventCommand(body, rest), rest)),
    z
      .object({ kind: z.enum(['upsert', 'update']), ...Common.shape, by, body: UpdatedUser })
      .transform(({ kind, body, by, ...rest }) => jobOf({ kind, user: body, by }, rest)),
    z
      .object({
        kind: z.literal('completion'),
        ...Common.shape,
        by,
        completionId: z.string(),
        achievementKey: z.string(),
        body: UpsertedUser,
      })
      .transform(({ kind, body: { id, ...user }, by, completionId, achievementKey, ...rest }) =>
        jobOf({ kind, completionId, achievementKey, userId: id, user, by }, rest),
      ),
    z
      .object({ kind: z.literal('preferences'), ...Common.shape, body: PreferencesChangeMessage })
      .transform(({ kind, body, ...rest }) => jobOf({ kind, preferences: body }, rest)),
  ]),
)

function jobOf(command: Command, sent: z.output<typeof Common>): Job {
  const { arrived, prefix, tokenUser: user, expires, tenantName, since } = sent
  const credential = prefix === null && user === null ? null : { prefix, user, expires }
  const attempt = since === null ? null : { since, outcome: null }
  return { command, arrived, credential, tenantName, attempt }
}

const CONFIRMED: Credential = { prefix: null, user: null, expires: null }

/** A job as JSON, in the form that `Commands` parses. */
export function messageOf({ command, arrived, credential, tenantName, attempt }: Job) {
  const { prefix, user: tokenUser, expires } = credential ?? CONFIRMED
  const common = { arrived, prefix, tokenUser, expires, tenantName, since: attempt?.since ?? null }
  switch (command.kind) {
    case 'event': {
      const { kind, eventId, metricKey, idempotencyKey, user, by, value, attributes } = command
      const body = {
        user: { id: command.userId, ...profileJson(user) },
        value: fromMicros(value),
        attributes: Object.fromEntries(attributes),
      }
      return { ...common, kind, by, eventId, metricKey, idempotencyKey, body }
    }
    case 'upsert':
    case 'update':
      return { ...common, kind: command.kind, by: command.by, body: profileJson(command.user) }
    case 'completion': {
      const { kind, completionId, achievementKey, userId, user, by } = command
      return { ...common, kind, by, completionId, achievementKey, body: { id: userId, ...profileJson(user) } }
    }
    case 'preferences':
      return { ...common, kind: command.kind, body: command.preferences }
    default:
      return unreachable(command)
  }
}

function profileJson({ attributes, ...rest }: ProfileChange) {
  return attributes === undefined ? rest : { ...rest, attributes: Object.fromEntries(attributes) }
}

/** The command for a valid event request. */
export function eventCommand(
  { user: { id: userId, ...user }, value, attributes = new Map() }: z.output<typeof EventRequest>,
  about: Pick<EventCommand, 'eventId' | 'metricKey' | 'idempotencyKey' | 'by'>,
): Command {
  const { eventId, metricKey, idempotencyKey, by } = about
  const common = { eventId, metricKey, idempotencyKey, userId, user, by }
  return { kind: 'event', ...common, value: toMicros(value), attributes }
}

/** Keeps a fitting value as it is: z.record would drop a key such as `__proto__`. */
const accepted = <S extends z.ZodType>(schema: S) =>
  z.custom<z.infer<S>>((value) => schema.safeParse(value).success)

const leftOut = z.array(z.string()).default([])

/** How a command ended, as JSON for a caller or another isolate. */
export const CommandResult = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('event'),
    status: z.literal([201, 202]),
    body: accepted(EventResponse),
    leftOut,
    at: z.number(),
  }),
  z.object({ kind: z.literal('user'), body: accepted(User) }),
  z.object({
    kind: z.literal('completion'),
    body: accepted(AchievementCompletionResponse),
    leftOut,
    /**
     * Whether it was stored before. Then `body` has no points. Around a deploy, the lane may be of the version
     * before, which does not say it.
     */
    isEarlier: z.boolean().default(false),
  }),
  z.object({ kind: z.literal('preferences'), body: accepted(UserPreferencesResponse) }),
  z.object({
    kind: z.literal('refused'),
    status: z.literal(ERROR_STATUSES),
    message: z.string(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    /** Seconds after which to try again, if waiting helps. */
    retryAfter: z.number().optional(),
  }),
  /** An event stored at this place whose response is lost. `replay` shows what holds now (E3). */
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
