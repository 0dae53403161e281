import * as z from 'zod'
import {
  createResponse,
  deleteResponse,
  IdOrKey,
  isNamed,
  itemName,
  items,
  optional,
  updateResponse,
} from '../fields'
import { namesQuery } from '../queries'
import type { ListedPage, Names } from './drafts.rules'
import { BY_KEY, type Parts } from './endpoints'
import type { Fields, Item as Given, Part } from './fields'

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
  /** The name of the component of an answered item. */
  item?: string
  /** The verb in the names of the components of an update. */
  change?: 'Update' | 'Patch'
  fields: F
  /** Rules between the fields of an item of a create, and of an update. */
  rules?: { create?: readonly Check[]; update?: readonly Check[] }
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

/** The schemas of a kind that others need too. */
export function schemasOf({ fields, component, item, showOnce, rules }: Declared<Fields>): Schemas<Fields> {
  const CreateItem = z
    .object(shapeOf(fields, 'create'))
    .check(...(rules?.create ?? []))
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
  const {
    id,
    path,
    one,
    title = one,
    many,
    fields,
    component,
    apart,
    showOnce,
    rules,
    change = 'Update',
  } = spec
  const asked: z.ZodRawShape = apart === undefined ? {} : { [apart.field]: apart.schema.optional() }
  const meant: z.ZodRawShape = apart === undefined ? {} : { [apart.field]: optional(apart.schema) }
  const updateItem = z
    .object({ ...itemName, ...meant, ...shapeOf(fields, 'update') })
    .check(...(rules?.update ?? []), isNamed)
  // The items of changes of levels, triggers and boosts have no component of their own.
  const UpdateItem =
    change === 'Patch' ? updateItem : updateItem.meta({ id: `Update${component}RequestItem` })
  return {
    id,
    path,
    one: title,
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
    secret: showOnce?.isSecret ?? false,
  }
}
