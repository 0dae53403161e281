import { isRecord } from '../fields'
import type { OpenApiDocument, OperationObject } from '../openapi'
import type { DemoKind } from '../shapes/events'

/** The notes about an operation that its declaration does not have. */
type OperationNotes = {
  /** The behaviour of the operation, for a reader who is new to it. Markdown. */
  description: string
  /** The meanings of its parameters, by name, if they differ from `chapter.ts`. */
  parameters?: Readonly<Record<string, string>>
  /** A request that works on a fresh demo and does no harm there, if it has more than a path. See `demo`. */
  example?: Example
}

/** An example of a request. `chapter.ts` has the parts of the path that it leaves out. */
type Example = {
  path?: Readonly<Record<string, unknown>>
  query?: Readonly<Record<string, unknown>>
  headers?: Readonly<Record<string, unknown>>
  body?: unknown
}

/** Descriptions of fields for several schemas. A schema uses the descriptions of the fields that it has. */
type FieldNotes = {
  /** Names of components. An operation's schema is `<id> body` or `<id> <status>`; also `webhook <type>`. */
  of: readonly (string | RegExp)[]
  /** Descriptions by path: names with dots between them. Lists, maps and alternatives add nothing. */
  fields: Readonly<Record<string, string>>
}

/** Describes fields of these schemas. */
export const fieldsOf = (of: FieldNotes['of'], fields: FieldNotes['fields']): FieldNotes => ({ of, fields })

/** One chapter of the documents: the notes about one part of the service. */
export type Chapter = {
  /** By id of operation. A plain text is a note that has only a description. */
  operations?: Readonly<Record<string, OperationNotes | string>>
  webhooks?: Readonly<Record<string, { summary: string; description: string }>>
  /** If several notes are for the same field, the last one counts. */
  fields?: readonly FieldNotes[]
}

/** A placeholder for an id in the demo, which the Worker fills in (`src/worker/demo-load.ts`). */
export const demo = (kind: DemoKind, name: string): string => `demo:${kind}:${name}`

/** A placeholder for the date `days` days after today, in UTC. It is filled in like an id. */
export const day = (days: number): string => `demo:day:${days}`

type Resource = {
  /** The beginning of the operations' ids, such as `admin_metrics`. */
  id: string
  one: string
  many: string
  /** One or two sentences that say what the resource is. */
  about: string
  /** Whether it has only an id (O1). */
  hasNoKey?: true
  create: { note?: string; body: unknown }
  /** Its first item is also the one that the example of a read names. */
  update: { note?: string; body: readonly [{ id: string; [field: string]: unknown }] }
  delete: { note: string; id: string }
}

const joined = (...sentences: (string | undefined)[]) => sentences.filter(Boolean).join(' ')

/** The notes of the five operations that every admin resource has (G7). */
export function resource({
  id,
  one,
  many,
  about,
  hasNoKey,
  ...verbs
}: Resource): Record<string, OperationNotes> {
  return {
    [`${id}_list`]: {
      description: joined(`A page of the ${many}, oldest first.`, about),
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
    [`${id}_get`]: {
      description: joined(`One ${one}, by its id.`, about),
      ...(hasNoKey !== true && { parameters: { id: `The id or the key of the ${one}.` } }),
      example: { path: { id: verbs.update.body[0].id } },
    },
  }
}

const byIdOrKey = (what: string, kind: DemoKind, name: string) => ({
  description: `The id or the key of the ${what}.`,
  example: demo(kind, name),
})

/** Parameters in paths, by the segment before them, with their meaning and their value in examples. */
const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  'users/{id}': {
    description:
      'The id of the user in your product. If it contains special characters, encode them (`%2F` for a slash).',
    example: 'demo-ada',
  },
  'metrics/{key}': { description: 'The key of the metric.', example: 'demo-lessons' },
  'points/{key}': { description: 'The key of the points system.', example: 'demo-xp' },
  'achievements/{key}': { description: 'The key of the achievement.', example: 'demo-profile' },
  'leaderboards/{key}': { description: 'The key of the leaderboard.', example: 'demo-weekly-xp' },

  'batches/{id}': {
    description: 'The id of the batch, from the header `X-Batch-Id`.',
    example: demo('batch', 'any'),
  },
  'events/{eventId}': { description: 'The id of the event.', example: demo('event', 'newest') },
  'points/{systemId}': byIdOrKey('points system', 'system', 'demo-xp'),
  'awards/{awardId}': {
    description: 'The id of the award.',
    example: demo('award', 'newest'),
  },
  'tenants/{id}': {
    description: 'The UUID of the tenant.',
    // The tenant of all data while multi-tenancy is off: the only tenant with an id that is known in advance.
    example: '00000000-0000-7000-8000-000000000000',
  },
  'webhooks/{id}': byIdOrKey('webhook', 'webhook', 'active'),
  'deliveries/{deliveryId}': {
    description: 'The id of the delivery, which is also its `webhook-id` header.',
    example: demo('delivery', 'any'),
  },
  'templates/{id}': byIdOrKey('template', 'template', 'email'),
  'admin-api-keys/{id}': { description: 'The id of the admin key.', example: demo('adminKey', 'Demo') },
}

/** Parameters in the query and in headers, by name. An operation's own notes take precedence. */
const QUERY_PARAMETERS: Readonly<Record<string, string>> = {
  limit: 'The most entries on the page.',
  skip: 'The number of entries to skip.',
  after: 'The start of the page: the cursor from the `Link` header of the previous page.',
  ids: 'The ids, repeated (`ids=…&ids=…`) or separated by commas.',
  key: 'Only items with one of these keys, repeated (`key=…&key=…`) or separated by commas.',
  keys: 'Keys, instead of ids or in addition to them, repeated or separated by commas.',
  type: 'Whether a user attribute or an event attribute is meant, if both have the key.',
  aggregation: 'The length of a bucket. Weeks begin on Monday.',
  startDate: 'The first date, `YYYY-MM-DD`. May also be spelled `start_date`.',
  endDate: 'The last date, `YYYY-MM-DD`, at most 400 days after the first. May also be spelled `end_date`.',
  run: 'A date in the run to read, `YYYY-MM-DD`. Without it, the current run.',
  endPrevious: 'Whether the old secret ends at once. Otherwise it signs too for 24 hours.',
  'Idempotency-Key':
    'Makes the event count once, even if it is sent several times. The key is for this user and this metric only, and never expires. It must not contain a comma with a space after it.',
}

type Json = Record<string, unknown>

type Described = { document: OpenApiDocument; used: ReadonlySet<string> }

/** Adds descriptions and examples. A field without a note fails `test/unit/reference.test.ts`. */
export function describe(document: OpenApiDocument, chapters: readonly Chapter[]): Described {
  const groups = chapters.flatMap(({ fields = [] }) => fields)
  const operations = new Map(chapters.flatMap(({ operations: notes = {} }) => Object.entries(notes)))
  const webhooks = new Map(chapters.flatMap(({ webhooks: notes = {} }) => Object.entries(notes)))
  const used = new Set<string>()

  const fields = (schema: unknown, name: string, path = ''): unknown => {
    if (Array.isArray(schema)) return schema.map((one) => fields(one, name, path))
    if (!isRecord(schema)) return schema
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => {
        if (key === 'properties' && isRecord(value)) return [key, properties(value, name, path)]
        // Beside properties, alternatives only say which of them are needed.
        const isAlternatives = ['anyOf', 'oneOf', 'allOf'].includes(key) && !('properties' in schema)
        const isInner = isAlternatives || key === 'items' || key === 'additionalProperties'
        return [key, isInner ? fields(value, name, path) : value]
      }),
    )
  }

  const properties = (given: Json, name: string, path: string): Json =>
    Object.fromEntries(
      Object.entries(given).map(([field, schema]) => {
        const full = path === '' ? field : `${path}.${field}`
        const inner = fields(schema, name, full)
        const note = noteOf(groups, name, full)
        if (note === undefined || !isRecord(inner)) return [field, inner]
        used.add(`${name}.${full}`)
        return [field, { ...inner, description: note }]
      }),
    )

  const content = (given: { 'application/json': { schema: unknown } }, name: string, example?: unknown) => ({
    'application/json': {
      schema: fields(given['application/json'].schema, name),
      ...(example !== undefined && { example }),
    },
  })

  const answerContent = (given: OperationObject['responses'][string]['content'], name: string) =>
    'application/json' in given
      ? content(given, name)
      : { 'text/event-stream': { schema: fields(given['text/event-stream'].schema, name) } }

  const operation = (path: string, given: OperationObject): OperationObject => {
    const id = given.operationId
    const note = operations.get(id)
    if (note === undefined) return given
    used.add(id)
    const whole: OperationNotes = typeof note === 'string' ? { description: note } : note
    const { description, parameters = {}, example = {} } = whole
    const responses = Object.entries(given.responses).map(([status, answer]) => [
      status,
      { ...answer, content: answerContent(answer.content, `${id} ${status}`) },
    ])
    return {
      ...given,
      description: [description, given.description].filter(Boolean).join('\n\n'),
      parameters: given.parameters.map((parameter) =>
        'name' in parameter ? withNotes(path, parameter, parameters, example) : parameter,
      ),
      ...(given.requestBody && {
        requestBody: {
          ...given.requestBody,
          content: content(given.requestBody.content, `${id} body`, example.body),
        },
      }),
      responses: Object.fromEntries(responses),
    }
  }

  const webhook = (type: string, item: NonNullable<OpenApiDocument['webhooks']>[string]) => {
    const note = webhooks.get(type)
    if (note !== undefined) used.add(`webhook ${type}`)
    const requestBody = {
      ...item.post.requestBody,
      content: content(item.post.requestBody.content, `webhook ${type}`),
    }
    return { post: { ...item.post, ...note, requestBody } }
  }

  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [
    name,
    fields(schema, name),
  ])
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, one]) => [method, operation(path, one)])),
  ])
  const sent = Object.entries(document.webhooks ?? {}).map(([type, item]) => [type, webhook(type, item)])
  return {
    used,
    document: {
      ...document,
      paths: Object.fromEntries(paths),
      ...(document.webhooks && { webhooks: Object.fromEntries(sent) }),
      components: { ...document.components, schemas: Object.fromEntries(schemas) },
    },
  }
}

function noteOf(groups: readonly FieldNotes[], name: string, path: string): string | undefined {
  const isOf = ({ of }: FieldNotes) =>
    of.some((one) => (typeof one === 'string' ? one === name : one.test(name)))
  return groups.findLast((group) => isOf(group) && Object.hasOwn(group.fields, path))?.fields[path]
}

type Parameter = Extract<OperationObject['parameters'][number], { name: string }>

function withNotes(
  path: string,
  parameter: Parameter,
  notes: Readonly<Record<string, string>>,
  example: Example,
): Parameter {
  const { name } = parameter
  const inPath = parameter.in === 'path' ? PATH_PARAMETERS[segments(path, name)] : undefined
  const description = notes[name] ?? inPath?.description ?? QUERY_PARAMETERS[name] ?? parameter.description
  const given = { path: example.path, query: example.query, header: example.headers }
  const value = given[parameter.in]?.[name] ?? inPath?.example
  return {
    ...parameter,
    ...(description !== undefined && { description }),
    ...(value !== undefined && { example: value }),
  }
}

/** The parameter with the path segment before it, such as `users/{id}`. */
function segments(path: string, name: string): string {
  const all = path.split('/')
  const index = all.indexOf(`{${name}}`)
  return all.slice(index - 1, index + 1).join('/')
}
