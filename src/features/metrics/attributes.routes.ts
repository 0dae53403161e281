import * as z from 'zod'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { createdSome, ok } from '../../api/operation'
import { operationsOf, resourceOperations } from '../../api/resource'
import * as schemas from '../../api/shapes/attribute.schemas'
import {
  createAttributes,
  deleteAttributes,
  findAttribute,
  listAttributes,
  updateAttributes,
} from './attributes.service'

const operations = resourceOperations({
  id: 'admin_attributes',
  path: '/attributes',
  one: 'an attribute',
  many: 'attributes',
  names: schemas.ATTRIBUTE_NAMES,
  parents: z.object({}),
  item: schemas.AdminAttribute,
  list: schemas.ListAttributesResponse,
  create: schemas.CreateAttributesRequest,
  created: schemas.CreateAttributesResponse,
  update: schemas.UpdateAttributesRequest,
  updated: schemas.UpdateAttributesResponse,
  deleted: schemas.DeleteAttributesResponse,
})

/** The operations that manage attributes, in the order of the OpenAPI document. */
export const attributeOperations = operationsOf(operations)

/** Serves the operations that manage attributes. */
export function attributeRoutes(app: App): void {
  mount(app, operations.list, {}, async (scope, { query }) => ok(await listAttributes(scope, query)))
  mount(app, operations.create, {}, async (scope, { body }) =>
    createdSome(await createAttributes(scope, body)),
  )
  mount(app, operations.update, {}, async (scope, { body }) => ok(await updateAttributes(scope, body)))
  mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteAttributes(scope, query)))
  mount(
    app,
    operations.get,
    { find: (scope, param, _json, query) => findAttribute(scope, param('id'), query('type')) },
    async (_scope, _input, found) => ok(found),
  )
}
