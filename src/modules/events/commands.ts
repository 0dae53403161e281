import { z } from 'zod'
import type { Command } from '../../engine/evaluate'
import { instant } from '../../shared/clock'
import { fromMicros, toMicros } from '../../shared/decimal'
import type { ProfileChange } from '../users/users.rules'
import { UpdatedUser } from '../users/users.schemas'
import type { Job } from './commit'
import { EventRequest } from './events.schemas'

const common = { arrived: z.number().transform(instant), prefix: z.string().nullable() }

/** Reads commands that another isolate has sent. */
export const Commands = z.array(
  z.discriminatedUnion('kind', [
    z
      .object({
        kind: z.literal('event'),
        ...common,
        eventId: z.string(),
        metricKey: z.string(),
        idempotencyKey: z.string().nullable(),
        body: EventRequest,
      })
      .transform(({ arrived, prefix, body, ...rest }) => ({
        arrived,
        prefix,
        command: eventCommand(body, rest),
      })),
    z
      .object({ kind: z.enum(['upsert', 'update']), ...common, body: UpdatedUser })
      .transform(({ arrived, prefix, kind, body }) => ({ arrived, prefix, command: { kind, user: body } })),
  ]),
)

/** A command as JSON, as `Commands` reads it. */
export function messageOf({ command, arrived, prefix }: Pick<Job, 'command' | 'arrived' | 'prefix'>) {
  const common = { arrived, prefix }
  if (command.kind !== 'event') return { ...common, kind: command.kind, body: profileJson(command.user) }
  const { kind, eventId, metricKey, idempotencyKey, user, value, attributes } = command
  const body = {
    user: { id: command.userId, ...profileJson(user) },
    value: fromMicros(value),
    attributes: Object.fromEntries(attributes),
  }
  return { ...common, kind, eventId, metricKey, idempotencyKey, body }
}

function profileJson({ attributes, ...rest }: ProfileChange) {
  return attributes === undefined ? rest : { ...rest, attributes: Object.fromEntries(attributes) }
}

/** The command that a valid event request comes to. */
export function eventCommand(
  { user: { id, ...user }, value, attributes }: z.output<typeof EventRequest>,
  beside: { eventId: string; metricKey: string; idempotencyKey: string | null },
): Command {
  return {
    kind: 'event',
    ...beside,
    userId: id,
    user,
    value: toMicros(value),
    attributes: attributes ?? new Map(),
  }
}
