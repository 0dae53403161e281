import { longPage, NEXT_LINK } from '../../api/cursors'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { listed } from '../../api/streams/json-stream'
import { eraseUser } from './erasure/erasure.service'
import { UserExport } from './export/export.schemas'
import { exportUser, findHeld } from './export/export.service'
import { ErasedUser, ListUsersResponse, UserListQuery, UserParams } from './users.admin.schemas'
import { listUsers } from './users.admin.service'

const adminUsersList = operation({
  id: 'admin_users_list',
  surface: 'admin',
  method: 'get',
  path: '/users',
  summary: 'List users, oldest first, or search them by id, name and email',
  query: UserListQuery,
  responses: {
    200: {
      description: 'The page, oldest first.',
      body: ListUsersResponse,
      optionalHeaders: { Link: NEXT_LINK },
    },
  },
})

const adminUsersExport = operation({
  id: 'admin_users_export',
  surface: 'admin',
  method: 'get',
  path: '/users/{id}/export',
  archived: true,
  summary: 'Export all data of a user, also of an archived tenant',
  params: UserParams,
  secret: true,
  responses: {
    200: {
      description:
        'All data of the user. If the body is cut off, it is not valid JSON. Send the request again.',
      body: UserExport,
    },
  },
})

const adminUsersDelete = operation({
  id: 'admin_users_delete',
  surface: 'admin',
  method: 'delete',
  path: '/users/{id}',
  archived: true,
  summary: 'Erase a user everywhere, whether or not there is one, also of an archived tenant',
  params: UserParams,
  responses: { 200: { description: 'No request finds the user any more.', body: ErasedUser } },
})

/** The operations of this module, in the order of the OpenAPI document. */
export const userAdminOperations = [adminUsersList, adminUsersExport, adminUsersDelete]

/** Serves the management of users: list, export, erase (U8). */
export function userAdminRoutes(app: App): void {
  mount(app, adminUsersList, {}, async (scope, { query }) => {
    const { items, next } = await listUsers(scope, query)
    return longPage(scope, query, { items: await listed(items), next })
  })
  mount(
    app,
    adminUsersExport,
    { find: (scope, param) => findHeld(scope, param('id')) },
    async (scope, _input, held) => ok(await exportUser(scope, held)),
  )
  mount(app, adminUsersDelete, {}, async (scope, { params }) => ok(await eraseUser(scope, params.id)))
}
