import * as z from 'zod'
import type { AccountScope, Scope } from '../../platform/context'
import { type Endpoint, endpointsOf, type Stage } from '../endpoint'
import { IdOrKey, Uuid } from '../fields'
import { createdSome, ok } from '../operation'
import { IdsQuery, KeyedListQuery, ListQuery, namesQuery } from '../queries'

/** How the operations of a resource name it: in the path of `get`, and in the queries. */
type Naming = { get: z.ZodObject; of: z.ZodObject; list: z.ZodType; delete: z.ZodType }

/** Resources that have only ids. */
export const BY_ID = {
  get: z.object({ id: Uuid }),
  of: z.object({}),
  list: ListQuery,
  delete: z.object({ ids: IdsQuery }),
}

/** Resources that also have keys (O1). */
export const BY_KEY = {
  get: z.object({ id: IdOrKey }),
  of: z.object({}),
  list: KeyedListQuery,
  delete: namesQuery({}),
}

/** What the document says of the five operations of an admin resource. */
export type Parts = {
  /** The beginning of the operations' ids, such as `admin_metrics`. */
  id: string
  path: `/${string}`
  one: string
  many: string
  names: Naming
  parents?: z.ZodObject
  item: z.ZodType
  list: z.ZodType
  create: z.ZodType
  created: z.ZodType
  update: z.ZodType
  updated: z.ZodType
  deleted: z.ZodType
  secret?: boolean
}

/** The work of the five operations. `found` is what the stages before them have found, such as the parent. */
type Verbs<P extends Parts, S, F> = {
  stage: Stage<F, S>
  list: (scope: S, query: z.output<P['names']['list']>, found: F) => Promise<z.input<P['list']>>
  create: (scope: S, body: z.output<P['create']>, found: F) => Promise<z.input<P['created']> & Created>
  update: (scope: S, body: z.output<P['update']>, found: F) => Promise<z.input<P['updated']>>
  remove: (scope: S, query: z.output<P['names']['delete']>, found: F) => Promise<z.input<P['deleted']>>
  /** Finds the resource that the path names, as it is answered, or throws 404. */
  get: (...asked: Parameters<NonNullable<Stage<F, S>['find']>>) => Promise<z.input<P['item']>>
}
type Created = { created: readonly unknown[] }

const PAGE = 'The page, oldest first.'
const EACH = 'The result of each item.'

/**
 * The endpoints that every admin resource has: list, create, update, delete, get (G7). With `account`, the
 * resources are of the whole account (T2).
 */
export function resourceEndpoints<const P extends Parts, F>(
  parts: P & { account?: false },
  verbs: Verbs<P, Scope, F>,
): Endpoint[]
export function resourceEndpoints<const P extends Parts, F>(
  parts: P & { account: true },
  verbs: Verbs<P, AccountScope, F>,
): Endpoint[]
export function resourceEndpoints(
  parts: Parts & { account?: boolean },
  verbs: Verbs<Parts, Scope & AccountScope, unknown>,
): Endpoint[] {
  const { id, path, one, many, names, parents = z.object({}), account, create: body } = parts
  const { stage, list, create, update, remove, get } = verbs
  const further = account ? { account: true } : {}
  const endpoint = endpointsOf('admin')
  return [
    endpoint(
      `GET ${path}`,
      {
        id: `${id}_list`,
        summary: `List ${many}, oldest first`,
        params: parents,
        query: names.list,
        ...further,
        responses: { 200: { description: PAGE, body: parts.list } },
      },
      stage,
      async (scope, { query }, found) => ok(await list(scope, query, found)),
    ),
    endpoint(
      `POST ${path}`,
      {
        id: `${id}_create`,
        summary: `Create ${many}`,
        params: parents,
        body,
        secret: parts.secret ?? false,
        ...further,
        responses: {
          200: { description: 'None was created; the issues say why.', body: parts.created },
          201: { description: 'At least one was created.', body: parts.created },
        },
      },
      stage,
      async (scope, { body }, found) => createdSome(await create(scope, body, found)),
    ),
    endpoint(
      `PATCH ${path}`,
      {
        id: `${id}_update`,
        summary: `Update ${many}`,
        params: parents,
        body: parts.update,
        ...further,
        responses: { 200: { description: EACH, body: parts.updated } },
      },
      stage,
      async (scope, { body }, found) => ok(await update(scope, body, found)),
    ),
    endpoint(
      `DELETE ${path}`,
      {
        id: `${id}_delete`,
        summary: `Delete ${many}`,
        params: parents,
        query: names.delete,
        ...further,
        responses: { 200: { description: EACH, body: parts.deleted } },
      },
      stage,
      async (scope, { query }, found) => ok(await remove(scope, query, found)),
    ),
    endpoint(
      `GET ${path}/{id}`,
      {
        id: `${id}_get`,
        summary: `Get ${one}`,
        params: parents.extend(names.get.shape),
        query: names.of,
        ...further,
        responses: { 200: { description: 'The resource.', body: parts.item } },
      },
      { find: get },
      async (_scope, _input, found) => ok(found),
    ),
  ]
}
