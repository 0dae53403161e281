/** The service's OpenAPI documents as the fuzzer reads them: only from JSON, never from the code. */
import { resolved } from '../contract/shape'

/** The parts of a JSON schema that the documents use. */
export type Schema = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  format?: string
  pattern?: string
} & Partial<Record<Limit, number>>
type Limit = `${'min' | 'max'}${'Items' | 'imum' | 'Length'}` | `exclusive${'Minimum' | 'Maximum'}`

type Parameter = { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: Schema }
type Document = {
  servers: { url: string }[]
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string
        parameters: ({ $ref: string } | Parameter)[]
        requestBody?: { content: { 'application/json': { schema: Schema } } }
      }
    >
  >
}

/** One operation. `path` includes its base. `resolve` follows a reference of its document. */
export type Operation = {
  id: string
  isAdmin: boolean
  /** True if the operation belongs to a tenant, and so takes a `Tenant-ID`. */
  ofTenant: boolean
  method: string
  path: string
  parameters: Parameter[]
  body: Schema | null
  resolve: (schema: Schema) => Schema
}

/** The operations of a document. */
export function operationsOf(json: unknown): Operation[] {
  const { servers, paths }: Document = Object(json)
  const base = servers[0]?.url ?? ''
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody }]) => ({
      id: operationId,
      isAdmin: base.startsWith('/admin'),
      ofTenant: parameters.some((one) => '$ref' in one),
      method: method.toUpperCase(),
      path: base + path,
      parameters: parameters.flatMap((one) => ('in' in one ? [one] : [])),
      body: requestBody?.content['application/json'].schema ?? null,
      resolve: (schema) => Object(resolved(schema, json)),
    })),
  )
}
