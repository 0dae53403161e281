import * as z from 'zod'
import { IdOrKey, Uuid } from './fields'
import { type OperationSpec, operation } from './operation'
import { IdsQuery, KeyedListQuery, ListQuery, namesQuery } from './queries'

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

/** The parts of the five operations of an admin resource. */
type Resource = {
  /** The beginning of the operations' ids, such as `admin_metrics`. */
  id: string
  path: string
  /** The names of one and of several resources in summaries. */
  one: string
  many: string
  names: Naming
  /** The parameters in the path before the resource's own. */
  parents: z.ZodObject
  item: z.ZodType
  list: z.ZodType
  create: z.ZodType
  created: z.ZodType
  update: z.ZodType
  updated: z.ZodType
  deleted: z.ZodType
  /** Whether the response of a create contains a secret. */
  secret?: boolean
}

const PAGE = 'The page, oldest first.'
const EACH = 'The result of each item.'

/** The operations that every admin resource has: list, create, update, delete, get (G7). */
export function resourceOperations<const R extends Resource>(resource: R) {
  const { id, path, one, many } = resource
  const parents: R['parents'] = resource.parents
  const [item, list]: [R['item'], R['list']] = [resource.item, resource.list]
  const [create, created]: [R['create'], R['created']] = [resource.create, resource.created]
  const [update, updated]: [R['update'], R['updated']] = [resource.update, resource.updated]
  const deleted: R['deleted'] = resource.deleted
  const names: R['names'] = resource.names
  const [listQuery, deleteQuery, getQuery]: [R['names']['list'], R['names']['delete'], R['names']['of']] = [
    names.list,
    names.delete,
    names.of,
  ]
  return {
    list: operation({
      id: `${id}_list`,
      surface: 'admin',
      method: 'get',
      path,
      summary: `List ${many}, oldest first`,
      params: parents,
      query: listQuery,
      responses: { 200: { description: PAGE, body: list } },
    }),
    create: operation({
      id: `${id}_create`,
      surface: 'admin',
      method: 'post',
      path,
      summary: `Create ${many}`,
      params: parents,
      body: create,
      secret: resource.secret ?? false,
      responses: {
        200: { description: 'None was created; the issues say why.', body: created },
        201: { description: 'At least one was created.', body: created },
      },
    }),
    update: operation({
      id: `${id}_update`,
      surface: 'admin',
      method: 'patch',
      path,
      summary: `Update ${many}`,
      params: parents,
      body: update,
      responses: { 200: { description: EACH, body: updated } },
    }),
    delete: operation({
      id: `${id}_delete`,
      surface: 'admin',
      method: 'delete',
      path,
      summary: `Delete ${many}`,
      params: parents,
      query: deleteQuery,
      responses: { 200: { description: EACH, body: deleted } },
    }),
    get: operation({
      id: `${id}_get`,
      surface: 'admin',
      method: 'get',
      path: `${path}/{id}`,
      summary: `Get ${one}`,
      params: parents.extend(names.get.shape),
      query: getQuery,
      responses: { 200: { description: 'The resource.', body: item } },
    }),
  }
}

/** A resource's operations in the order of the document. */
export function operationsOf(
  resource: Readonly<Record<'list' | 'create' | 'update' | 'delete' | 'get', OperationSpec>>,
): OperationSpec[] {
  return [resource.list, resource.create, resource.update, resource.delete, resource.get]
}
