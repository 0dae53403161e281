import type { DemoKind } from '../shapes/example-kinds.types'

/** The notes about an operation that its declaration does not have. */
export type OperationNotes = {
  /** The behaviour of the operation, for a reader who is new to it. Markdown. */
  description: string
  /** The meanings of its parameters, by name, if they differ from `parameters.ts`. */
  parameters?: Readonly<Record<string, string>>
  /** A request that works on a fresh demo and does no harm there. See `demo` for ids and dates. */
  example?: Example
}

/** An example of a request. `parameters.ts` has the parts of the path that it leaves out. */
export type Example = {
  path?: Readonly<Record<string, unknown>>
  query?: Readonly<Record<string, unknown>>
  headers?: Readonly<Record<string, unknown>>
  body?: unknown
}

/** Descriptions of fields for several schemas. A schema uses the descriptions of the fields that it has. */
export type FieldNotes = {
  /**
   * Names of components. An operation's own schema is named `<id> body` or `<id> <status>`. A webhook's
   * schema is named `webhook <type>`.
   */
  of: readonly (string | RegExp)[]
  /**
   * Descriptions by the path of the field: names with dots between them. Lists, maps and alternatives add
   * nothing to a path.
   */
  fields: Readonly<Record<string, string>>
}

/** One chapter of the documents: the notes about one part of the service. */
export type Chapter = {
  operations?: Readonly<Record<string, OperationNotes>>
  /** The events that are sent to webhooks, by type. */
  webhooks?: Readonly<Record<string, { summary: string; description: string }>>
  /** If several notes are for the same field, the last one counts. */
  fields?: readonly FieldNotes[]
}

/**
 * A placeholder for an id in the demo. The Worker fills it in when it serves the document
 * (`src/worker/demo.examples.ts`).
 */
export const demo = (kind: DemoKind, name: string): string => `demo:${kind}:${name}`

/** A placeholder for the date `days` days after today, in UTC. It is filled in like an id. */
export const day = (days: number): string => `demo:day:${days}`

/** The input for the notes of an admin resource. */
type Resource = {
  /** The beginning of the operations' ids, such as `admin_metrics`. */
  id: string
  one: string
  many: string
  /** One or two sentences that say what the resource is. */
  about: string
  /** More notes for each verb. */
  create: { note?: string; body: unknown }
  update: { note?: string; body: unknown }
  delete: { note: string; id: string }
}

const joined = (...sentences: (string | undefined)[]) => sentences.filter(Boolean).join(' ')

/** The notes of the five operations that every admin resource has (G7). */
export function resource({ id, one, many, about, ...verbs }: Resource): Record<string, OperationNotes> {
  return {
    [`${id}_list`]: {
      description: joined(`A page of the ${many}, oldest first.`, about),
      example: {},
    },
    [`${id}_create`]: {
      description: joined(
        `Creates 1 to 100 ${many}. An item that can't be created becomes an entry in \`issues\`, and the others are created.`,
        `The status is 201 if at least one was created, otherwise 200.`,
        verbs.create.note,
      ),
      example: { body: verbs.create.body },
    },
    [`${id}_update`]: {
      description: joined(
        `Changes 1 to 100 ${many}. Fields that an item leaves out stay as they are.`,
        `An item that can't be changed becomes an entry in \`issues\`, and the others are changed.`,
        verbs.update.note,
      ),
      example: { body: verbs.update.body },
    },
    [`${id}_delete`]: {
      description: joined(
        `Deletes ${many} by their ids. An unknown id becomes an entry in \`issues\`.`,
        verbs.delete.note,
      ),
      example: { query: { ids: [verbs.delete.id] } },
    },
    [`${id}_get`]: { description: joined(`One ${one}, by its id.`, about), example: {} },
  }
}
