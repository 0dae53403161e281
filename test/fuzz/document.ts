/** The service's OpenAPI documents as the fuzzer reads them: only from JSON, never from the code. */
import * as z from 'zod'

/** The parts of a JSON schema that the documents use. */
const Schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  get anyOf() {
    return z.array(Schema).optional()
  },
  get oneOf() {
    return z.array(Schema).optional()
  },
  get allOf() {
    return z.array(Schema).optional()
  },
  get properties() {
    return z.record(z.string(), Schema).optional()
  },
  required: z.array(z.string()).optional(),
  get additionalProperties() {
    return z.union([z.boolean(), Schema]).optional()
  },
  get items() {
    return Schema.optional()
  },
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
})
export type Schema = z.infer<typeof Schema>

const Parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean(),
  schema: Schema,
})
const Content = z.object({ 'application/json': z.object({ schema: Schema }) })
const Operation = z.object({
  operationId: z.string(),
  parameters: z.array(z.union([z.object({ $ref: z.string() }), Parameter])),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), z.unknown()),
})
const Document = z.object({
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
})

/** One operation. `path` includes its base. `statuses` are the documented ones. */
export type Operation = {
  id: string
  isAdmin: boolean
  /** True if the operation belongs to a tenant, and so takes a `Tenant-ID`. */
  ofTenant: boolean
  method: string
  path: string
  parameters: z.infer<typeof Parameter>[]
  body: Schema | null
  statuses: ReadonlySet<number>
}

/** Operations, and a function that resolves references of their schemas. */
export type Api = { operations: Operation[]; resolve: (schema: Schema) => Schema }

/**
 * Reads the two documents. A name that both define must mean the same in both, so each operation uses its own
 * document.
 */
export function readApi(documents: readonly unknown[]): Api {
  const operations: Operation[] = []
  const home = new Map<string, Schema>()
  for (const [number, json] of documents.entries()) {
    const { servers, paths, components } = Document.parse(json)
    const base = servers[0]?.url ?? ''
    const named = (reference: string) => `${number}${reference}`
    const local = (schema: Schema): Schema => mapReferences(schema, named)
    for (const [name, schema] of Object.entries(components.schemas))
      home.set(named(`#/components/schemas/${name}`), local(schema))
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { operationId, parameters, requestBody, responses }] of Object.entries(methods))
        operations.push({
          id: operationId,
          isAdmin: base.startsWith('/admin'),
          ofTenant: parameters.some((one) => '$ref' in one),
          method: method.toUpperCase(),
          path: base + path,
          parameters: parameters.flatMap((one) =>
            'in' in one ? [{ ...one, schema: local(one.schema) }] : [],
          ),
          body: requestBody ? local(requestBody.content['application/json'].schema) : null,
          statuses: new Set(Object.keys(responses).map(Number)),
        })
  }
  const resolve = (schema: Schema): Schema => {
    if (schema.$ref === undefined) return schema
    const found = home.get(schema.$ref)
    if (found === undefined) throw new Error(`the document has no ${schema.$ref}`)
    return resolve(found)
  }
  return { operations, resolve }
}

function mapReferences<T>(value: T, named: (reference: string) => string): T {
  return JSON.parse(JSON.stringify(value), (key, inner) =>
    key === '$ref' && typeof inner === 'string' ? named(inner) : inner,
  )
}
