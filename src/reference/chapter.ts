import type { DemoKind } from '../wire/example-kinds.types'

/** What the documents say about an operation, besides what its declaration has. */
export type OperationNotes = {
  /** What it does, for somebody who sees it for the first time. Markdown. */
  description: string
  /** What its parameters mean, by name, if they mean something else here than in `parameters.ts`. */
  parameters?: Readonly<Record<string, string>>
  /** A request that works on a fresh demo, and that harms nothing there. See `demo` for ids and dates. */
  example?: Example
}

/** An example of a request. What it leaves out of the path is in `parameters.ts`. */
export type Example = {
  path?: Readonly<Record<string, unknown>>
  query?: Readonly<Record<string, unknown>>
  headers?: Readonly<Record<string, unknown>>
  body?: unknown
}

/** Descriptions of fields for several schemas: each has those of the fields that it has. */
export type FieldNotes = {
  /** Names of components. An operation's own schema is named `<id> body` or `<id> <status>`, a webhook's `webhook <type>`. */
  of: readonly (string | RegExp)[]
  /** By the path of the field: names with dots between them. Lists, maps and alternatives add nothing to a path. */
  fields: Readonly<Record<string, string>>
}

/** One chapter of the documents: what belongs to one part of the service. */
export type Chapter = {
  operations?: Readonly<Record<string, OperationNotes>>
  /** What is sent by itself, by type. */
  webhooks?: Readonly<Record<string, { summary: string; description: string }>>
  /** If several fit, the last one counts. */
  fields?: readonly FieldNotes[]
}

/** The id of something in the demo, which the Worker fills in when it serves the document (`src/worker/demo/demo.examples.ts`). */
export const demo = (kind: DemoKind, name: string): string => `demo:${kind}:${name}`

/** The date so many days after today, in UTC, filled in like an id. */
export const day = (days: number): string => `demo:day:${days}`

/** What the notes of an admin resource are made from. */
type Resource = {
  /** The beginning of the operations' ids, such as `admin_metrics`. */
  id: string
  one: string
  many: string
  /** A sentence or two about what it is. */
  about: string
  /** What else there is to know of each verb. */
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
        `The status is 201 if at least one was created, else 200.`,
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
        `Deletes ${many} by their ids. An id that names nothing becomes an entry in \`issues\`.`,
        verbs.delete.note,
      ),
      example: { query: { ids: [verbs.delete.id] } },
    },
    [`${id}_get`]: { description: joined(`One ${one}, by its id.`, about), example: {} },
  }
}
