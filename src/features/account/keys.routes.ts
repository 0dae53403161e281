import * as z from 'zod'
import { created, createdSome, endpointsOf, ok } from '../../api/endpoint'
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

const endpoint = endpointsOf('admin')

const createdKeys = <B extends z.ZodType>(body: B) => ({
  200: { description: 'No key was created. The issues say why.', body },
  201: { description: 'At least one key was created.', body },
})

const deletedKeys = <B extends z.ZodType>(body: B) => ({
  200: { description: 'The deleted keys, and an issue for each other id.', body },
})

/** The endpoints of application keys, user tokens and admin keys (K3, K4, K6). */
export const keyEndpoints = [
  endpoint(
    'GET /application-api-keys',
    {
      id: 'admin_application_api_keys_list',
      summary: 'List the application keys, oldest first, without their secrets',
      query: ApplicationKeyListQuery,
      responses: { 200: { description: 'A page of keys.', body: ListApplicationKeysResponse } },
    },
    async (scope, { query }) => ok(await listApplicationKeys(scope, query)),
  ),
  endpoint(
    'POST /application-api-keys',
    {
      id: 'admin_application_api_keys_create',
      summary: 'Create application keys, each for one user. Only this response shows them',
      body: CreateApplicationKeysRequest,
      secret: true,
      responses: createdKeys(CreateApplicationKeysResponse),
    },
    async (scope, { body }) => createdSome(await createApplicationKeys(scope, body)),
  ),
  endpoint(
    'DELETE /application-api-keys',
    {
      id: 'admin_application_api_keys_delete',
      summary: 'Delete application keys',
      query: z.object({ ids: IdsQuery }),
      responses: deletedKeys(DeleteApplicationKeysResponse),
    },
    async (scope, { query }) => ok(await deleteApplicationKeys(scope, query.ids)),
  ),
  endpoint(
    'POST /user-tokens',
    {
      id: 'admin_user_tokens_create',
      summary: 'Make a token with which a page can act for one user, until the token ends',
      body: CreateUserTokenRequest,
      secret: true,
      responses: { 201: { description: 'The token.', body: CreatedUserToken } },
    },
    { find: (scope, _param, json) => tokenUser(scope, json) },
    async (scope, { body }, user) => created(await createUserToken(scope, body, user)),
  ),
  endpoint(
    'GET /admin-api-keys',
    {
      id: 'admin_admin_keys_list',
      account: true,
      summary: 'List the admin keys, oldest first, without their secrets',
      query: ListQuery,
      responses: { 200: { description: 'A page of keys.', body: ListAdminKeysResponse } },
    },
    async (scope, { query }) => ok(await listAdminKeys(scope, query)),
  ),
  endpoint(
    'POST /admin-api-keys',
    {
      id: 'admin_admin_keys_create',
      account: true,
      summary: 'Create admin keys. Only this response shows them',
      body: CreateAdminKeysRequest,
      secret: true,
      responses: createdKeys(CreateAdminKeysResponse),
    },
    async (scope, { body }) => createdSome(await createAdminKeys(scope, body)),
  ),
  endpoint(
    'DELETE /admin-api-keys',
    {
      id: 'admin_admin_keys_delete',
      account: true,
      summary: 'Delete admin keys',
      query: z.object({ ids: IdsQuery }),
      responses: deletedKeys(DeleteAdminKeysResponse),
    },
    async (scope, { query }) => ok(await deleteAdminKeys(scope, query.ids)),
  ),
  endpoint(
    'POST /admin-api-keys/{id}/rotate',
    {
      id: 'admin_admin_keys_rotate',
      account: true,
      summary:
        'Replace an admin key. Only this response shows the new key, and the old key stops working at once',
      params: z.object({ id: z.string().toLowerCase().meta({ format: 'uuid' }) }),
      secret: true,
      responses: { 200: { description: 'The new key.', body: CreatedAdminKey } },
    },
    async (scope, { params }) => ok(await rotateAdminKey(scope, params.id)),
  ),
]
