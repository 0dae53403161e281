import * as z from 'zod'
import type { Credential } from '../../access/keys.rules'
import { EventRequest } from '../../api/shapes/event.schemas'
import { PreferencesChangeMessage } from '../../api/shapes/preferences.schemas'
import { UpdatedUser, UpsertedUser } from '../../api/shapes/user.schemas'
import { type Instant, instant } from '../../lib/clock'
import { fromMicros, toMicros } from '../../lib/decimal'
import { unreachable } from '../../lib/unreachable'
import type { Command } from '../../rules/evaluate.rules'
import type { Actor, ProfileChange } from '../../rules/profile.rules'
import type { Job } from '../../store/commit/commit.types'

const moment = z.number().transform(instant)
/** Messages wait in the inbox while another version is deployed. So a new field needs a default. */
const common = {
  arrived: moment,
  prefix: z.string().nullable(),
  tokenUser: z.object({ tenantId: z.string(), id: z.string(), iid: z.string() }).nullable().default(null),
  expires: moment.nullable().default(null),
  tenantName: z.string().nullable().default(null),
  since: moment.nullable(),
}

/** The kind of sender (K7). The default fits old messages in the inbox: only admins send batches. */
const by = z.enum(['admin', 'user']).default('admin')

/** Parses the jobs that another isolate has sent. */
export const Commands = z.array(
  z.discriminatedUnion('kind', [
    z
      .object({
        kind: z.literal('event'),
        ...common,
        by,
        eventId: z.string(),
        metricKey: z.string(),
        idempotencyKey: z.string().nullable(),
        body: EventRequest,
      })
      .transform(({ body, ...rest }) => jobOf(eventCommand(body, rest), rest)),
    z
      .object({ kind: z.enum(['upsert', 'update']), ...common, by, body: UpdatedUser })
      .transform(({ kind, body, by, ...rest }) => jobOf({ kind, user: body, by }, rest)),
    z
      .object({
        kind: z.literal('completion'),
        ...common,
        by,
        completionId: z.string(),
        achievementKey: z.string(),
        body: UpsertedUser,
      })
      .transform(({ kind, body: { id, ...user }, by, completionId, achievementKey, ...rest }) =>
        jobOf({ kind, completionId, achievementKey, userId: id, user, by }, rest),
      ),
    z
      .object({ kind: z.literal('preferences'), ...common, body: PreferencesChangeMessage })
      .transform(({ kind, body, ...rest }) => jobOf({ kind, preferences: body }, rest)),
  ]),
)

function jobOf(
  command: Command,
  {
    arrived,
    prefix,
    tokenUser: user,
    expires,
    tenantName,
    since,
  }: Pick<Job, 'arrived' | 'tenantName'> &
    Pick<Credential, 'prefix' | 'expires'> & { tokenUser: Credential['user']; since: Instant | null },
): Job {
  const credential = prefix === null && user === null ? null : { prefix, user, expires }
  return {
    command,
    arrived,
    credential,
    tenantName,
    attempt: since === null ? null : { since, outcome: null },
  }
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
  { user: { id, ...user }, value, attributes }: z.output<typeof EventRequest>,
  {
    eventId,
    metricKey,
    idempotencyKey,
    by,
  }: { eventId: string; metricKey: string; idempotencyKey: string | null; by: Actor },
): Command {
  return {
    kind: 'event',
    eventId,
    metricKey,
    idempotencyKey,
    userId: id,
    user,
    by,
    value: toMicros(value),
    attributes: attributes ?? new Map(),
  }
}
