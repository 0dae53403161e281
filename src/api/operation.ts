import * as z from 'zod'
import type { Entrance, Surface } from '../access/credentials'
import type { KeyScope } from '../platform/context'
import type { EventStream, Streamed, StreamedList } from './streams'
import type { FieldWarning, UnknownField } from './unknown-fields'

type HeaderSpecs = Readonly<Record<string, string>>

/** The response of one status. It always has `headers`, and it may have `optionalHeaders`. */
export type ResponseSpec = {
  description: string
  body: z.ZodType
  headers?: HeaderSpecs
  optionalHeaders?: HeaderSpecs
  /** Whether it is a stream of events (`text/event-stream`). `body` is then the data of one event. */
  isEventStream?: boolean
}

/**
 * One operation of the wire contract. Its route, its validation, the type of its responses and its entry in
 * the OpenAPI document are all made from it.
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
  /** Its input must be an object. The fields of that input are the documented parameters. */
  query?: z.ZodType
  /** Names in lower case. */
  headers?: z.ZodObject
  body?: z.ZodType
  /** Makes the warning about an unknown field, if the issues of this operation have further fields (O4). */
  warning?: (field: UnknownField, json: unknown) => FieldWarning
  /**
   * Whether its responses contain a secret, such as a key or a signed link. If so, no cache may store them.
   */
  secret?: boolean
  /** The largest body in bytes; the default is 1 MiB (G2). */
  bodyLimit?: number
  responses: Readonly<Record<number, ResponseSpec>>
  /** The statuses of errors that do not follow from its other fields, as `errorStatusesOf` says. */
  furtherErrors?: readonly (400 | 404)[]
}

/**
 * All error statuses of an operation: the ones of all operations, 404 if its path or `Tenant-ID` names
 * something that may not exist, the ones of a body if it takes one, and its further ones (G2, T2).
 */
export function errorStatusesOf({ account, path, body, furtherErrors = [] }: OperationSpec) {
  const ofNames = account && !path.includes('{') ? [] : ([404] as const)
  const ofBody = body ? ([400, 408, 413, 415] as const) : []
  const statuses = [401, 403, 422, 429, 500, 503, ...ofNames, ...ofBody, ...furtherErrors] as const
  return [...new Set(statuses)]
}

type Output<S> = S extends z.ZodType ? z.output<S> : undefined

/** The valid input of a handler. */
export type Input<O extends OperationSpec> = {
  params: Output<O['params']>
  query: Output<O['query']>
  headers: Output<O['headers']>
  body: Output<O['body']>
}

type Answerable<Body> =
  | Body
  | EventStream<Body>
  | Streamed<Body>
  | (Body extends readonly (infer Item)[] ? StreamedList<Item> : never)

/** The reply of a handler: one of the operation's statuses with a body of its shape, whole or streamed. */
export type Reply<O extends OperationSpec> = {
  [S in keyof O['responses'] & number]: {
    status: S
    body: Answerable<z.input<O['responses'][S]['body']>>
    headers?: { [H in keyof O['responses'][S]['headers']]: string } & {
      [H in keyof O['responses'][S]['optionalHeaders']]?: string
    }
  }
}[keyof O['responses'] & number]

/** The scope that an application key needs for an operation (K5). */
export const scopeNeededFor = ({ method, needs }: OperationSpec): KeyScope =>
  needs ?? (method === 'get' ? 'read' : 'write')

/** The reply 200 with a body. */
export const ok = <B>(body: B) => ({ status: 200 as const, body })

/** The reply 201 with a body. */
export const created = <B>(body: B) => ({ status: 201 as const, body })

/** The reply 202 with a body and its own headers. */
export const accepted = <B, H>(body: B, headers: H) => ({ status: 202 as const, body, headers })

/** The reply of an admin create: 201 if at least one item was created, otherwise 200 (G7). */
export const createdSome = <B extends { created: readonly unknown[] }>(body: B) =>
  body.created.length > 0 ? created(body) : ok(body)

/** Declares an operation. It returns its argument, and keeps the literal types. */
export function operation<const O extends OperationSpec>(spec: O): O {
  return spec
}

const ErrorIssue = z.object({ path: z.string(), message: z.string() }).meta({ id: 'ErrorIssue' })

/** The error body of both interfaces (G2). */
export const ErrorBody = z
  .object({ error: z.string(), issues: z.array(ErrorIssue).optional() })
  .meta({ id: 'ErrorBody' })
