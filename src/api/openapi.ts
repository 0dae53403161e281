import * as z from 'zod'
import { INT32_MAX } from '../lib/decimal'
import { ErrorBody, errorStatusesOf, type OperationSpec } from './endpoint'

type JsonSchema = z.core.JSONSchema.BaseSchema

type Place = 'path' | 'query' | 'header'

type Parameter =
  | { $ref: string }
  | { name: string; in: Place; required: boolean; description?: string; schema: unknown; example?: unknown }

type Content = { 'application/json': { schema: unknown; example?: unknown } }
/** The content of a stream of events: the schema is that of the JSON in their `data`. */
type EventContent = { 'text/event-stream': { schema: unknown } }
type Answer = {
  description: string
  headers?: Record<string, unknown>
  content: Content | EventContent
}

/** One operation of the document. */
export type OperationObject = {
  operationId: string
  /** The first part of its path. */
  tags: string[]
  summary: string
  description?: string
  parameters: Parameter[]
  /** Only if it is not that of the whole document. */
  security?: Record<string, string[]>[]
  requestBody?: { required: true; content: Content }
  responses: Record<string, Answer>
}

type WebhookObject = {
  operationId: string
  tags: string[]
  summary?: string
  description?: string
  requestBody: { required: true; content: Content }
  responses: Record<string, { description: string }>
}

/** The parts of an OpenAPI 3.1 document that ours has. */
export type OpenApiDocument = {
  openapi: '3.1.0'
  /** `x-contract`: the version of the wire contract that the operations speak. */
  info: { title: string; version: string; description?: string; 'x-contract': string }
  servers: { url: string; description?: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, OperationObject>>
  webhooks?: Record<string, Record<'post', WebhookObject>>
  components: {
    schemas: Record<string, unknown>
    parameters: Record<string, Parameter>
    headers: Record<string, unknown>
    securitySchemes: Record<string, unknown>
  }
}

const ERROR_DESCRIPTIONS = {
  400: 'The body is not JSON.',
  401: 'The API key is missing or not valid.',
  403: 'The API key does not permit this.',
  404: 'The resource in the path, or the tenant in the Tenant-ID header, does not exist.',
  405: 'The path does not have the method of the request; Allow names those that it has.',
  408: 'The body did not arrive in time. Send it again.',
  412: 'The resource has changed since the answer with the ETag in If-Match. Nothing was done.',
  413: 'The body is too large, as sent or decompressed.',
  415: 'The Content-Encoding of the body is not accepted; Accept-Encoding names those that are.',
  422: 'The request is not valid; the error names every problem.',
  429: 'Too many requests; Retry-After says after how many seconds to try again.',
  500: 'Something went wrong on the side of the service.',
  503: 'The database cannot be reached at the moment, can store nothing, or is being upgraded; Retry-After says in how many seconds to try again.',
} as const

const NO_STORE = { 'Cache-Control': 'no-store, because the response contains a secret.' }

const IGNORED = {
  'X-Laurel-Ignored':
    'Names the fields of the body that are unknown and were ignored, if any: paths such as `user.plan`, separated by `, `, percent-encoded. `+3` at the end: there are 3 more. An error may have it too.',
}

const TENANT_ID: Parameter = {
  name: 'Tenant-ID',
  in: 'header',
  required: false,
  description:
    'The tenant that the call is for, if multi-tenancy is on: its UUID, or your own identifier of it.',
  schema: { type: 'string' },
}

const TICKET = {
  type: 'apiKey',
  in: 'query',
  name: 'ticket',
  description: 'A ticket from `POST /v1/live-tickets`, for clients that can send no headers.',
}

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } },
}
/** The header of every answer (G2). */
const REQUEST_ID = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }
const ERROR_HEADERS: Readonly<Record<number, Record<string, unknown>>> = {
  405: { Allow: { description: 'The methods that the path has.', schema: { type: 'string' } } },
  415: {
    'Accept-Encoding': { description: 'The accepted encodings of a body.', schema: { type: 'string' } },
  },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
}

/** Returns the value with references to components instead of references to zod's definitions. */
function withComponents(value: unknown, nameOf: (definition: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => withComponents(item, nameOf))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    if (key !== '$ref' || typeof inner !== 'string') return [key, withComponents(inner, nameOf)]
    return [key, `#/components/schemas/${nameOf(inner.slice('#/$defs/'.length))}`]
  })
  return Object.fromEntries(entries)
}

/** Responses may get new fields, so none are forbidden. A request forbids them only if its schema is strict. */
function leaveOpen({ jsonSchema }: { jsonSchema: JsonSchema }, io: 'input' | 'output'): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  delete jsonSchema.propertyNames
  // These bounds only repeat the type. With them, a viewer would show the smallest possible number as its
  // example.
  const { minimum, maximum } = jsonSchema
  const isInt32 = minimum === -INT32_MAX - 1 && maximum === INT32_MAX
  if (isInt32 || (minimum === Number.MIN_SAFE_INTEGER && maximum === Number.MAX_SAFE_INTEGER)) {
    delete jsonSchema.minimum
    delete jsonSchema.maximum
    if (isInt32) jsonSchema.format = 'int32'
  }
}

/** The JSON schemas of one direction: the given ones by label, and the named ones that they refer to. */
function describe(schemas: ReadonlyMap<string, z.ZodType>, io: 'input' | 'output') {
  const whole = z.toJSONSchema(z.object(Object.fromEntries(schemas)), {
    io,
    unrepresentable: 'any',
    override: (context) => leaveOpen(context, io),
  })
  return {
    roots: new Map(Object.entries(whole.properties ?? {})),
    named: new Map(Object.entries(whole.$defs ?? {})),
  }
}

/**
 * The names with different schemas in requests and in responses. The difference may be in a schema that they
 * refer to. The request's schema of such a name becomes a component of its own.
 */
function ambiguous(
  requests: ReadonlyMap<string, unknown>,
  described: ReadonlyMap<string, unknown>,
): Set<string> {
  const names = new Set<string>()
  const spelling = (schema: unknown) =>
    JSON.stringify(withComponents(schema, (name) => (names.has(name) ? `two of ${name}` : name)))
  const refers = (schema: unknown) => spelling(schema).includes('/two of ')
  for (let known = -1; known < names.size; ) {
    known = names.size
    for (const [name, schema] of requests) {
      const answer = described.get(name)
      if (answer !== undefined && (refers(schema) || spelling(schema) !== spelling(answer))) names.add(name)
    }
  }
  return names
}

const label = ({ id }: OperationSpec, part: string | number) => `${id} ${part}`

const webhookLabel = (type: string) => `webhook ${type}`

function requestsOf(operations: readonly OperationSpec[]): Map<string, z.ZodType> {
  const schemas = new Map<string, z.ZodType>()
  for (const spec of operations) {
    for (const part of ['params', 'query', 'headers', 'body'] as const) {
      const schema = spec[part]
      if (schema) schemas.set(label(spec, part), schema)
    }
  }
  return schemas
}

function answersOf(
  operations: readonly OperationSpec[],
  webhooks: Readonly<Record<string, z.ZodType>>,
): Map<string, z.ZodType> {
  const schemas = new Map<string, z.ZodType>([['error', ErrorBody]])
  for (const [type, schema] of Object.entries(webhooks)) schemas.set(webhookLabel(type), schema)
  for (const spec of operations) {
    for (const [status, { body }] of Object.entries(spec.responses)) schemas.set(label(spec, status), body)
  }
  return schemas
}

const headerName = (name: string) => name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())

function parametersIn(place: Place, object: JsonSchema): Parameter[] {
  return Object.entries(object.properties ?? {}).map(([field, described]) => {
    const { description, ...schema } = typeof described === 'object' ? described : {}
    return {
      name: place === 'header' ? headerName(field) : field,
      in: place,
      required: place === 'path' || (object.required ?? []).includes(field),
      ...(description !== undefined && { description }),
      schema,
    }
  })
}

/** The parameters in braces of a path that no schema describes. They are strings. */
function undescribed(path: string, described: readonly Parameter[]): Parameter[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return names
    .filter((name) => !described.some((parameter) => 'name' in parameter && parameter.name === name))
    .map((name) => ({ name, in: 'path' as const, required: true, schema: { type: 'string' } }))
}

const json = (schema: unknown): Content => ({ 'application/json': { schema } })

/** The OpenAPI 3.1 document of operations below `base`. Throws if two different schemas have one name. */
export function openApiDocument(
  operations: readonly OperationSpec[],
  about: {
    title: string
    version: string
    base: string
    description?: string
    /** Further bases under which all of the operations are served. */
    olderBases?: OpenApiDocument['servers']
    webhooks?: Readonly<Record<string, z.ZodType>>
  },
): OpenApiDocument {
  const { title, version, base, description, olderBases = [], webhooks = {} } = about
  const requests = describe(requestsOf(operations), 'input')
  const described = describe(answersOf(operations, webhooks), 'output')
  const apart = ambiguous(requests.named, described.named)
  const requestName = (name: string) => (apart.has(name) ? `${name}Input` : name)
  const sent = (schema: unknown) => withComponents(schema, requestName)
  const answered = (schema: unknown) => withComponents(schema, (name) => name)
  const error = json(answered(described.roots.get('error')))

  const operationObject = (spec: OperationSpec): OperationObject => {
    const fields = (part: string): JsonSchema => {
      const schema = requests.roots.get(label(spec, part))
      return typeof schema === 'object' ? schema : {}
    }
    const inPath = parametersIn('path', fields('params'))
    const parameters: Parameter[] = [
      ...inPath,
      ...undescribed(spec.path, inPath),
      ...parametersIn('query', fields('query')),
      ...parametersIn('header', fields('headers')),
    ]
    if (!spec.account) parameters.push({ $ref: '#/components/parameters/TenantId' })
    const responses: Record<string, Answer> = {}
    for (const [status, answer] of Object.entries(spec.responses)) {
      const { description, headers, optionalHeaders, isEventStream } = answer
      const isNamed = spec.body && spec.surface === 'application'
      const all = { ...headers, ...optionalHeaders, ...(isNamed && IGNORED), ...(spec.secret && NO_STORE) }
      const headerObjects = Object.entries(all).map(([name, tells]) => [
        name,
        { description: tells, schema: { type: 'string' } },
      ])
      const schema = answered(described.roots.get(label(spec, status)))
      responses[status] = {
        description,
        headers: { ...Object.fromEntries(headerObjects), ...REQUEST_ID },
        content: isEventStream ? { 'text/event-stream': { schema } } : json(schema),
      }
    }
    for (const status of [405, ...errorStatusesOf(spec)] as const) {
      const headers = { ...ERROR_HEADERS[status], ...REQUEST_ID }
      responses[status] = { description: ERROR_DESCRIPTIONS[status], headers, content: error }
    }
    return {
      operationId: spec.id,
      tags: [spec.path.split('/')[1] ?? ''],
      summary: spec.summary,
      parameters,
      ...(spec.ticket && { security: [{ apiKey: [] }, { ticket: [] }] }),
      ...(spec.body && { requestBody: { required: true, content: json(sent(fields('body'))) } }),
      responses,
    }
  }

  const webhookObject = (type: string): { post: WebhookObject } => ({
    post: {
      operationId: type,
      tags: ['webhooks'],
      requestBody: { required: true, content: json(answered(described.roots.get(webhookLabel(type)))) },
      responses: {
        '2XX': { description: 'The event has arrived. After any other status, it is sent again.' },
      },
    },
  })

  const paths: OpenApiDocument['paths'] = {}
  for (const spec of operations)
    paths[spec.path] = { ...paths[spec.path], [spec.method]: operationObject(spec) }

  const schemas: Record<string, unknown> = {}
  for (const [name, schema] of requests.named) schemas[requestName(name)] = sent(schema)
  for (const [name, schema] of described.named) schemas[name] = answered(schema)
  return {
    openapi: '3.1.0',
    info: { title, version, ...(description !== undefined && { description }), 'x-contract': '1.27.0' },
    servers: [{ url: base }, ...olderBases],
    security: [{ apiKey: [] }],
    paths,
    ...(Object.keys(webhooks).length > 0 && {
      webhooks: Object.fromEntries(Object.keys(webhooks).map((type) => [type, webhookObject(type)])),
    }),
    components: {
      schemas,
      parameters: { TenantId: TENANT_ID },
      headers: {
        RequestId: { description: 'The id of the request in the log.', schema: { type: 'string' } },
      },
      securitySchemes: {
        ...(operations.some(({ ticket }) => ticket) && { ticket: TICKET }),
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-KEY',
          description:
            'An admin key, such as the one that `npm start` prints, an application key, or a user token.',
        },
      },
    },
  }
}
