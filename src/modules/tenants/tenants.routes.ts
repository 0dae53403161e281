import * as z from 'zod'
import type { App } from '../../http/app'
import { mountForAccount } from '../../http/mount'
import { createdSome, ok } from '../../http/operation'
import { operationsOf, resourceOperations } from '../../http/resource'
import * as schemas from './tenants.schemas'
import {
  archiveTenants,
  createTenants,
  findTenant,
  listTenants,
  requireTenants,
  updateTenants,
} from './tenants.service'

const resource = resourceOperations({
  id: 'admin_tenants',
  path: '/tenants',
  one: 'a tenant',
  many: 'tenants',
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
const operations = {
  list: { ...resource.list, account },
  create: { ...resource.create, account },
  update: { ...resource.update, account },
  delete: { ...resource.delete, account },
  get: { ...resource.get, account },
} as const

/** The operations of this module, in the order of the document. */
export const tenantOperations = operationsOf(operations)

/** Serves the management of tenants, where multi-tenancy is on (T2). */
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
}
