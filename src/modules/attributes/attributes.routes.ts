import { z } from 'zod'
import type { App } from '../../http/app'
import { IdsQuery, ListQuery, Uuid } from '../../http/fields'
import { mount } from '../../http/mount'
import { createdSome, ok, operation } from '../../http/operation'
import {
  AdminAttribute,
  CreateAttributesRequest,
  CreateAttributesResponse,
  DeleteAttributesResponse,
  ListAttributesResponse,
  UpdateAttributesRequest,
  UpdateAttributesResponse,
} from './attributes.schemas'
import {
  createAttributes,
  deleteAttributes,
  findAttribute,
  listAttributes,
  updateAttributes,
} from './attributes.service'

export const adminAttributesList = operation({
  id: 'admin_attributes_list',
  surface: 'admin',
  method: 'get',
  path: '/attributes',
  summary: 'List the attributes, oldest first',
  query: ListQuery,
  answers: { 200: { description: 'The page of attributes.', body: ListAttributesResponse } },
  refuses: [403, 422],
})

export const adminAttributesCreate = operation({
  id: 'admin_attributes_create',
  surface: 'admin',
  method: 'post',
  path: '/attributes',
  summary: 'Create attributes',
  body: CreateAttributesRequest,
  answers: {
    200: { description: 'None was created; the issues say why.', body: CreateAttributesResponse },
    201: { description: 'At least one was created.', body: CreateAttributesResponse },
  },
  refuses: [400, 403, 413, 422],
})

export const adminAttributesUpdate = operation({
  id: 'admin_attributes_update',
  surface: 'admin',
  method: 'patch',
  path: '/attributes',
  summary: 'Update attributes',
  body: UpdateAttributesRequest,
  answers: { 200: { description: 'What came of each.', body: UpdateAttributesResponse } },
  refuses: [400, 403, 413, 422],
})

export const adminAttributesDelete = operation({
  id: 'admin_attributes_delete',
  surface: 'admin',
  method: 'delete',
  path: '/attributes',
  summary: 'Delete attributes that nothing active uses',
  query: z.object({ ids: IdsQuery }),
  answers: { 200: { description: 'What came of each.', body: DeleteAttributesResponse } },
  refuses: [403, 422],
})

export const adminAttributesGet = operation({
  id: 'admin_attributes_get',
  surface: 'admin',
  method: 'get',
  path: '/attributes/{id}',
  summary: 'Get an attribute',
  params: z.object({ id: Uuid }),
  answers: { 200: { description: 'The attribute.', body: AdminAttribute } },
  refuses: [403, 404, 422],
})

/** Serves the management of attributes. */
export function attributeRoutes(app: App): void {
  mount(app, adminAttributesList, {}, async (scope, { query }) => ok(await listAttributes(scope, query)))
  mount(app, adminAttributesCreate, {}, async (scope, { body }) =>
    createdSome(await createAttributes(scope, body)),
  )
  mount(app, adminAttributesUpdate, {}, async (scope, { body }) => ok(await updateAttributes(scope, body)))
  mount(app, adminAttributesDelete, {}, async (scope, { query }) =>
    ok(await deleteAttributes(scope, query.ids)),
  )
  mount(
    app,
    adminAttributesGet,
    { find: (scope, param) => findAttribute(scope, param('id')) },
    async (_scope, _input, attribute) => ok(attribute),
  )
}
