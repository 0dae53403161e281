import * as z from 'zod'
import type { App } from '../../api/hono'
import { mount, mountForAccount } from '../../api/mount'
import { created, createdSome, ok, operation } from '../../api/operation'
import { IdsQuery, ListQuery } from '../../api/queries'
import {
  ApplicationKeyListQuery,
  CreateAdminKeysRequest,
  CreateAdminKeysResponse,
  CreateApplicationKeysRequest,
  CreateApplicationKeysResponse,
  CreatedAdminKey,
  CreatedUserToken,
  CreateUserTokenRequest,
  createAdminKeys,
  createApplicationKeys,
  createUserToken,
  DeleteAdminKeysResponse,
  DeleteApplicationKeysResponse,
  deleteAdminKeys,
  deleteApplicationKeys,
  ListAdminKeysResponse,
  ListApplicationKeysResponse,
  listAdminKeys,
  listApplicationKeys,
  rotateAdminKey,
  tokenUser,
} from './keys'

export const adminApplicationApiKeysList = operation({
  id: 'admin_application_api_keys_list',
  surface: 'admin',
  method: 'get',
  path: '/application-api-keys',
  summary: 'List the application keys, oldest first, without their secrets',
  query: ApplicationKeyListQuery,
  responses: { 200: { description: 'A page of keys.', body: ListApplicationKeysResponse } },
})

export const adminApplicationApiKeysCreate = operation({
  id: 'admin_application_api_keys_create',
  surface: 'admin',
  method: 'post',
  path: '/application-api-keys',
  summary: 'Create application keys, each for one user. Only this response shows them',
  body: CreateApplicationKeysRequest,
  secret: true,
  responses: {
    200: { description: 'No key was created. The issues say why.', body: CreateApplicationKeysResponse },
    201: { description: 'At least one key was created.', body: CreateApplicationKeysResponse },
  },
})

export const adminApplicationApiKeysDelete = operation({
  id: 'admin_application_api_keys_delete',
  surface: 'admin',
  method: 'delete',
  path: '/application-api-keys',
  summary: 'Delete application keys',
  query: z.object({ ids: IdsQuery }),
  responses: {
    200: {
      description: 'The deleted keys, and an issue for each other id.',
      body: DeleteApplicationKeysResponse,
    },
  },
})

export const adminUserTokensCreate = operation({
  id: 'admin_user_tokens_create',
  surface: 'admin',
  method: 'post',
  path: '/user-tokens',
  summary: 'Make a token with which a page can act for one user, until the token ends',
  body: CreateUserTokenRequest,
  secret: true,
  responses: { 201: { description: 'The token.', body: CreatedUserToken } },
})

export const adminAdminKeysList = operation({
  id: 'admin_admin_keys_list',
  surface: 'admin',
  account: true,
  method: 'get',
  path: '/admin-api-keys',
  summary: 'List the admin keys, oldest first, without their secrets',
  query: ListQuery,
  responses: { 200: { description: 'A page of keys.', body: ListAdminKeysResponse } },
})

export const adminAdminKeysCreate = operation({
  id: 'admin_admin_keys_create',
  surface: 'admin',
  account: true,
  method: 'post',
  path: '/admin-api-keys',
  summary: 'Create admin keys. Only this response shows them',
  body: CreateAdminKeysRequest,
  secret: true,
  responses: {
    200: { description: 'No key was created. The issues say why.', body: CreateAdminKeysResponse },
    201: { description: 'At least one key was created.', body: CreateAdminKeysResponse },
  },
})

export const adminAdminKeysDelete = operation({
  id: 'admin_admin_keys_delete',
  surface: 'admin',
  account: true,
  method: 'delete',
  path: '/admin-api-keys',
  summary: 'Delete admin keys',
  query: z.object({ ids: IdsQuery }),
  responses: {
    200: { description: 'The deleted keys, and an issue for each other id.', body: DeleteAdminKeysResponse },
  },
})

export const adminAdminKeysRotate = operation({
  id: 'admin_admin_keys_rotate',
  surface: 'admin',
  account: true,
  method: 'post',
  path: '/admin-api-keys/{id}/rotate',
  summary:
    'Replace an admin key. Only this response shows the new key, and the old key stops working at once',
  params: z.object({ id: z.string().toLowerCase().meta({ format: 'uuid' }) }),
  secret: true,
  responses: { 200: { description: 'The new key.', body: CreatedAdminKey } },
})

/** Serves the operations that manage application keys, user tokens and admin keys (K3, K4, K6). */
export function keyRoutes(app: App): void {
  mount(app, adminApplicationApiKeysList, {}, async (scope, { query }) =>
    ok(await listApplicationKeys(scope, query)),
  )
  mount(app, adminApplicationApiKeysCreate, {}, async (scope, { body }) =>
    createdSome(await createApplicationKeys(scope, body)),
  )
  mount(app, adminApplicationApiKeysDelete, {}, async (scope, { query }) =>
    ok(await deleteApplicationKeys(scope, query.ids)),
  )
  mount(
    app,
    adminUserTokensCreate,
    { find: (scope, _param, json) => tokenUser(scope, json) },
    async (scope, { body }, user) => created(await createUserToken(scope, body, user)),
  )
  mountForAccount(app, adminAdminKeysList, {}, async (scope, { query }) =>
    ok(await listAdminKeys(scope, query)),
  )
  mountForAccount(app, adminAdminKeysCreate, {}, async (scope, { body }) =>
    createdSome(await createAdminKeys(scope, body)),
  )
  mountForAccount(app, adminAdminKeysDelete, {}, async (scope, { query }) =>
    ok(await deleteAdminKeys(scope, query.ids)),
  )
  mountForAccount(app, adminAdminKeysRotate, {}, async (scope, { params }) =>
    ok(await rotateAdminKey(scope, params.id)),
  )
}
