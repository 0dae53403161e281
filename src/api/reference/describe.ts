import type { OpenApiDocument, OperationObject } from '../openapi'
import type { Chapter, Example, FieldNotes } from './chapter'
import { PATH_PARAMETERS, QUERY_PARAMETERS } from './parameters'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A document with its descriptions and examples, and the names of the notes that it has used. */
export type Described = { document: OpenApiDocument; used: ReadonlySet<string> }

/** The name of a note in `used`: from the schema and the field. */
export const fieldNote = (schema: string, path: string): string => `${schema}.${path}`

/**
 * Adds descriptions and examples to a document. A field without a note gets no description;
 * `test/unit/reference.test.ts` finds it.
 */
export function describe(document: OpenApiDocument, chapters: readonly Chapter[]): Described {
  const groups = chapters.flatMap(({ fields = [] }) => fields)
  const operations = new Map(chapters.flatMap(({ operations: notes = {} }) => Object.entries(notes)))
  const webhooks = new Map(chapters.flatMap(({ webhooks: notes = {} }) => Object.entries(notes)))
  const used = new Set<string>()

  /** The schema with a description for each field that has a note. */
  const fields = (schema: unknown, name: string, path = ''): unknown => {
    if (Array.isArray(schema)) return schema.map((one) => fields(one, name, path))
    if (!isObject(schema)) return schema
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => {
        if (key === 'properties' && isObject(value)) return [key, properties(value, name, path)]
        const isInner = ['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'].includes(key)
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
        if (note === undefined || !isObject(inner)) return [field, inner]
        used.add(fieldNote(name, full))
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
    const { description, parameters = {}, example = {} } = note
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

/** A parameter with its description and its value in the example. */
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
