import * as z from 'zod'
import { Uuid } from '../../api/fields'
import type { App } from '../../api/hono'
import { mountForAccount } from '../../api/mount'
import { accepted, createdSome, ok, operation } from '../../api/operation'
import { BY_ID, operationsOf, resourceOperations } from '../../api/resource'
import { purgeTenant } from './purge'
import * as schemas from './tenants'
import {
  archiveTenants,
  createTenants,
  findTenant,
  listTenants,
  requireTenants,
  updateTenants,
} from './tenants'

const resource = resourceOperations({
  id: 'admin_tenants',
  path: '/tenants',
  one: 'a tenant',
  many: 'tenants',
  names: BY_ID,
  parents: z.object({}),
  item: schemas.AdminTenant,
  list: schemas.ListTenantsResponse,
  create: schemas.CreateTenantsRequest,
  created: schemas.CreateTenantsResponse,
  update: schemas.UpdateTenantsRequest,
  updated: schemas.UpdateTenantsResponse,
  deleted: schemas.DeleteTenantsResponse,
})

const account = true
const purge = operation({
  id: 'admin_tenants_purge',
  surface: 'admin',
  account,
  method: 'delete',
  path: '/tenants/{id}',
  summary: 'Erase an archived tenant with all its data and all its users',
  params: z.object({ id: Uuid }),
  query: schemas.PurgeQuery,
  responses: {
    202: {
      description: 'Laurel is erasing the tenant. When this is done, the tenant is 404.',
      body: schemas.AdminTenant,
    },
  },
})

const operations = {
  list: { ...resource.list, account },
  create: { ...resource.create, account },
  update: { ...resource.update, account },
  delete: { ...resource.delete, account },
  get: { ...resource.get, account },
} as const

/** The operations of this module, in the order of the OpenAPI document. */
export const tenantOperations = [...operationsOf(operations), purge]

/** Serves the management of tenants. It needs multi-tenancy (T2). */
export function tenantRoutes(app: App): void {
  const stage = { find: requireTenants }
  mountForAccount(app, operations.list, stage, async (scope, { query }) =>
    ok(await listTenants(scope, query)),
  )
  mountForAccount(app, operations.create, stage, async (scope, { body }) =>
    createdSome(await createTenants(scope, body)),
  )
  mountForAccount(app, operations.update, stage, async (scope, { body }) =>
    ok(await updateTenants(scope, body)),
  )
  mountForAccount(app, operations.delete, stage, async (scope, { query }) =>
    ok(await archiveTenants(scope, query.ids)),
  )
  mountForAccount(
    app,
    operations.get,
    { find: (scope, param) => findTenant(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  )
  mountForAccount(
    app,
    purge,
    { find: (scope, param) => findTenant(scope, param('id')) },
    async (scope, _input, found) => accepted(await purgeTenant(scope, found), {}),
  )
}
