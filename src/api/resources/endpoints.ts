import * as z from 'zod'
import { keyField } from '../../configuration/trigger-types'
import type { AccountScope, Scope } from '../../platform/context'
import { createdSome, type Endpoint, endpointsOf, ok, type Stage } from '../endpoint'
import {
  type AnyItem,
  createResponse,
  deleteResponse,
  IdOrKey,
  isNamed,
  itemName,
  items,
  oneOfFields,
  optional,
  rule,
  Uuid,
  updateResponse,
} from '../fields'
import { IdsQuery, KeyedListQuery, ListQuery, namesQuery } from '../queries'
import { etagOf, type ListedPage, type Names } from './drafts.rules'
import type { Fields, Item as Given, Part } from './fields'

/** How the operations of a resource name it: in the path of `get`, and in the queries. */
type Naming = { get: z.ZodObject; of: z.ZodObject; list: z.ZodType; delete: z.ZodType }

/** Resources that have only ids. */
export const BY_ID = {
  get: z.object({ id: Uuid }),
  of: z.object({}),
  list: ListQuery,
  delete: z.object({ ids: IdsQuery }),
}

const BY_KEY = {
  get: z.object({ id: IdOrKey }),
  of: z.object({}),
  list: KeyedListQuery,
  delete: namesQuery({}),
}

/** What the document says of the five operations of an admin resource. */
type Parts = {
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
  update: (
    scope: S,
    body: z.output<P['update']>,
    found: F,
    ifMatch: string | undefined,
  ) => Promise<Tagged<z.input<P['updated']>>>
  remove: (
    scope: S,
    query: z.output<P['names']['delete']>,
    found: F,
    ifMatch: string | undefined,
  ) => Promise<z.input<P['deleted']>>
  /** Finds the resource that the path names, as it is answered, or throws 404. */
  get: (...asked: Parameters<NonNullable<Stage<F, S>['find']>>) => Promise<Tagged<z.input<P['item']>>>
}
/** The reply 200, with the ETag of the only resource in it (G15). */
type Tagged<B> = { status: 200; body: B; headers?: { etag?: string } }
type Created = { created: readonly unknown[] }

const PAGE = 'The page, oldest first.'
const EACH = 'The result of each item.'

/** The header by which a write names the state that its caller has read (G15). */
const IfMatch = z.object({
  'if-match': z
    .string()
    .optional()
    .describe(
      'The ETag of the resource as you have read it. If it has changed since, the answer is 412, and nothing is done. It is ignored if the request has several items.',
    ),
})

/** What the document says of a reply with an ETag, and of a write that may name one (G15). */
export const TAGGED = { optionalHeaders: { etag: 'The state of the resource, for If-Match.' } }
export const CONDITIONAL = { headers: IfMatch, furtherErrors: [412] as const }

/** The reply 200 with settings and their ETag (G15). */
export const withEtag = <B>(body: B) => ({ ...ok(body), headers: { etag: etagOf(body) } })

/** The five endpoints of an admin resource (G7). With `account`, it is of the whole account (T2). */
export function resourceEndpoints<const P extends Parts & { account?: boolean }, F>(
  parts: P,
  verbs: Verbs<P, P extends { account: true } ? AccountScope : Scope, F>,
): Endpoint[]
export function resourceEndpoints(
  parts: Parts & { account?: boolean },
  verbs: Verbs<Parts, Scope & AccountScope, unknown>,
): Endpoint[] {
  const { id, path, one, many, names, parents = z.object({}), account, create: body } = parts
  const { stage, list, create, update, remove, get } = verbs
  const common = { params: parents, ...(account && { account: true }) }
  // Tenants have no state that a write could name.
  const tagged = account ? {} : TAGGED
  const conditional = account ? {} : CONDITIONAL
  const endpoint = endpointsOf('admin')
  return [
    endpoint(
      `GET ${path}`,
      {
        id: `${id}_list`,
        summary: `List ${many}, oldest first`,
        ...common,
        query: names.list,
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
        ...common,
        body,
        secret: parts.secret ?? false,
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
        ...common,
        ...conditional,
        body: parts.update,
        responses: { 200: { description: EACH, body: parts.updated, ...tagged } },
      },
      stage,
      (scope, { body, headers }, found) => update(scope, body, found, headers?.['if-match']),
    ),
    endpoint(
      `DELETE ${path}`,
      {
        id: `${id}_delete`,
        summary: `Delete ${many}`,
        ...common,
        ...conditional,
        query: names.delete,
        responses: { 200: { description: EACH, body: parts.deleted } },
      },
      stage,
      async (scope, { query, headers }, found) =>
        ok(await remove(scope, query, found, headers?.['if-match'])),
    ),
    endpoint(
      `GET ${path}/{id}`,
      {
        id: `${id}_get`,
        summary: `Get ${one}`,
        ...common,
        params: parents.extend(names.get.shape),
        query: names.of,
        responses: { 200: { description: 'The resource.', body: parts.item, ...tagged } },
      },
      { find: get },
      async (_scope, _input, found) => found,
    ),
  ]
}

type Check = z.core.$ZodCheck<Readonly<Record<string, unknown>>>

/** The part of a resource's declaration that makes its schemas and operations. */
export type Declared<F extends Fields> = {
  /** The beginning of the operations' ids, such as `admin_metrics`. */
  id: string
  path: `/${string}`
  /** The kind with its article, such as `a metric`, and in the plural. */
  one: string
  many: string
  /** The kind with its article in summaries, if it has another name there. */
  title?: string
  /** The part of the names of its components in the document, such as `Metric` in `CreateMetricsRequest`. */
  component: string
  item?: string
  /** The verb in the names of the components of an update. */
  change?: 'Update' | 'Patch'
  fields: F
  rules?: { create?: readonly Check[]; update?: readonly Check[] }
  needs?: Needs
  /** What only the answer to a create shows, such as a secret. */
  showOnce?: { component: string; fields: z.ZodRawShape; isSecret?: boolean }
  /** A further field of requests that tells apart resources with the same key (O1). */
  apart?: { field: string; schema: z.ZodType }
}

/** The schemas of a kind. */
export type Schemas<F extends Fields> = {
  /** An item of a create, the body of a create, and an answered item, also after a create. */
  CreateItem: z.ZodObject<Part<F, 'create'>>
  Create: z.ZodArray<z.ZodObject<Part<F, 'create'>>>
  Item: z.ZodObject<Part<F, 'item'>>
  Created: z.ZodObject<Part<F, 'item'>>
}

const shapeOf = (fields: Fields, part: 'create' | 'update' | 'item'): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { [part]: schema }]) => (schema === null ? [] : [[name, schema]])),
  )

/** The fields, or their keys, that an item needs by the value of its field `by`. `error`: null if an issue says it. */
type Needs = {
  by: string
  fields: Readonly<Record<string, readonly string[]>>
  error: ((value: string) => string) | null
}

/** The rules of these needs for `check`. The documents say them too: a refinement says nothing there. */
const needed = ({ by, fields, error }: Needs) => [
  ...Object.entries(fields).flatMap(([value, names]) => {
    if (error === null) return []
    const has = (one: AnyItem, name: string) => one[name] !== undefined || one[keyField(name)] !== undefined
    return names.map((name) =>
      z.refine<AnyItem>((one) => one[by] !== value || has(one, name), rule(name, error(value))),
    )
  }),
  z.meta<AnyItem>({
    oneOf: Object.entries(fields).map(([value, names]) => ({
      required: [by],
      properties: { [by]: { const: value } },
      ...(names.length > 0 && { allOf: names.map((name) => oneOfFields(name, keyField(name))) }),
    })),
  }),
]

/** The schemas of a kind that others need too. */
export function schemasOf(spec: Declared<Fields>): Schemas<Fields> {
  const { fields, component, item, showOnce, rules, needs } = spec
  const CreateItem = z
    .object(shapeOf(fields, 'create'))
    .check(...(rules?.create ?? []), ...(needs ? needed(needs) : []))
    .meta({ id: `Create${component}RequestItem` })
  const Create = items(CreateItem).meta({ id: `Create${component}sRequest` })
  const Item = z.object(shapeOf(fields, 'item')).meta({ id: item ?? `Admin${component}` })
  const Created =
    showOnce === undefined ? Item : Item.extend(showOnce.fields).meta({ id: showOnce.component })
  return { CreateItem, Create, Item, Created }
}

type OwnParts = Parts & {
  create: z.ZodType<Given[]>
  update: z.ZodType<Given[]>
  names: { list: z.ZodType<ListedPage>; delete: z.ZodType<Names> }
}

/** What the document says of the operations of a kind. */
export function partsOf(
  spec: Declared<Fields>,
  inSystem: boolean,
  { Create, Item, Created }: Schemas<Fields>,
): OwnParts {
  const { id, path, many, fields, component, apart, rules, change = 'Update' } = spec
  const asked: z.ZodRawShape = apart === undefined ? {} : { [apart.field]: apart.schema.optional() }
  const meant: z.ZodRawShape = apart === undefined ? {} : { [apart.field]: optional(apart.schema) }
  const updateItem = z
    .object({ ...itemName, ...meant, ...shapeOf(fields, 'update') })
    .check(...(rules?.update ?? []), ...isNamed)
  // The items of changes of levels, triggers and boosts have no component of their own.
  const UpdateItem =
    change === 'Patch' ? updateItem : updateItem.meta({ id: `Update${component}RequestItem` })
  return {
    id,
    path,
    one: spec.title ?? spec.one,
    many,
    names: apart === undefined ? BY_KEY : { ...BY_KEY, of: z.object(asked), delete: namesQuery(asked) },
    parents: z.object(inSystem ? { systemId: IdOrKey } : {}),
    item: Item,
    list: z.array(Item).meta({ id: `List${component}sResponse` }),
    create: Create,
    created: createResponse(`Create${component}sResponse`, Created),
    update: items(UpdateItem).meta({ id: `${change}${component}sRequest` }),
    updated: updateResponse(`${change}${component}sResponse`, Item),
    deleted: deleteResponse(`Delete${component}sResponse`),
    secret: spec.showOnce?.isSecret ?? false,
  }
}
