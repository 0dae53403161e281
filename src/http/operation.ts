import * as z from 'zod'
import type { Entrance, Surface } from '../access/surface.types'
import type { Streamed, StreamedList } from './stream'

/** Headers by name, each with what it tells. */
type HeaderSpecs = Readonly<Record<string, string>>

/** What an answer of one status holds: `headers` are those of its own that it always has, `optionalHeaders` those that it may have. */
export type ResponseSpec = {
  description: string
  body: z.ZodType
  headers?: HeaderSpecs
  optionalHeaders?: HeaderSpecs
}

/**
 * One operation of the wire contract: the one place from which its route, its validation, the type of its answers and
 * its entry in the OpenAPI document are made.
 */
export type OperationSpec = Entrance & {
  /** The contract's operation id, such as `metrics_event`. */
  id: string
  surface: Surface
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below the interface's base, with `{name}` for parameters. */
  path: string
  summary: string
  params?: z.ZodObject
  /** Its input must be an object; that input's fields are the documented parameters. */
  query?: z.ZodType
  /** Names in lower case. */
  headers?: z.ZodObject
  body?: z.ZodType
  /** Whether its answers show a secret, such as a key or a signed link: no cache may keep them. */
  secret?: boolean
  /** Largest body in bytes; 1 MiB unless said (G2). */
  bodyLimit?: number
  responses: Readonly<Record<number, ResponseSpec>>
  /** The statuses with which it refuses, besides those of `refusalsOf`. */
  errorStatuses: readonly (400 | 403 | 404 | 413 | 422)[]
}

/** Every status with which an operation may refuse: its own, those of all, of all with a body, and in a tenant those of its `Tenant-ID` (G2, T2). */
export function errorStatusesOf({ account, body, errorStatuses }: OperationSpec) {
  const ofTenant = account ? [] : ([403, 404, 422] as const)
  const ofBody = body ? ([408] as const) : []
  return [...new Set([401, 429, 500, ...ofTenant, ...ofBody, ...errorStatuses] as const)]
}

type Output<S> = S extends z.ZodType ? z.output<S> : undefined

/** What a handler gets once everything is valid. */
export type Input<O extends OperationSpec> = {
  params: Output<O['params']>
  query: Output<O['query']>
  headers: Output<O['headers']>
  body: Output<O['body']>
}

/** A body of a shape, whole or streamed. */
type Answerable<Body> =
  | Body
  | Streamed<Body>
  | (Body extends readonly (infer Item)[] ? StreamedList<Item> : never)

/** What a handler answers: one of the operation's statuses with a body of its shape, at once or streamed. */
export type Reply<O extends OperationSpec> = {
  [S in keyof O['responses'] & number]: {
    status: S
    body: Answerable<z.input<O['responses'][S]['body']>>
    headers?: { [H in keyof O['responses'][S]['headers']]: string } & {
      [H in keyof O['responses'][S]['optionalHeaders']]?: string
    }
  }
}[keyof O['responses'] & number]

/** The answer 200 with a body. */
export const ok = <B>(body: B) => ({ status: 200 as const, body })

/** The answer 201 with a body. */
export const created = <B>(body: B) => ({ status: 201 as const, body })

/** The answer 202 with a body and headers of its own. */
export const accepted = <B, H>(body: B, headers: H) => ({ status: 202 as const, body, headers })

/** The answer of an admin create: 201 when at least one item was created, else 200 (G7). */
export const createdSome = <B extends { created: readonly unknown[] }>(body: B) =>
  body.created.length > 0 ? created(body) : ok(body)

/** Declares an operation; it is the identity, and keeps the literal types. */
export function operation<const O extends OperationSpec>(spec: O): O {
  return spec
}

/** The error body of both interfaces (G2). */
export const ErrorBody = z.object({ error: z.string() }).meta({ id: 'ErrorBody' })
