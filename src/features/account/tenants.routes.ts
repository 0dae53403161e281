import * as z from 'zod'
import { accepted, type Endpoint, endpointsOf } from '../../api/endpoint'
import { Uuid } from '../../api/fields'
import { BY_ID, resourceEndpoints } from '../../api/resources/endpoints'
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

/** The endpoints that manage tenants, in the order of the OpenAPI document. They need multi-tenancy (T2). */
export const tenantEndpoints: readonly Endpoint[] = [
  ...resourceEndpoints(
    {
      id: 'admin_tenants',
      path: '/tenants',
      one: 'a tenant',
      many: 'tenants',
      names: BY_ID,
      item: schemas.AdminTenant,
      list: schemas.ListTenantsResponse,
      create: schemas.CreateTenantsRequest,
      created: schemas.CreateTenantsResponse,
      update: schemas.UpdateTenantsRequest,
      updated: schemas.UpdateTenantsResponse,
      deleted: schemas.DeleteTenantsResponse,
      account: true,
    },
    {
      stage: { find: requireTenants },
      list: listTenants,
      create: createTenants,
      update: updateTenants,
      remove: (scope, { ids }) => archiveTenants(scope, ids),
      get: (scope, param) => findTenant(scope, param('id')),
    },
  ),
  endpointsOf('admin')(
    'DELETE /tenants/{id}',
    {
      id: 'admin_tenants_purge',
      account: true,
      summary: 'Erase an archived tenant with all its data and all its users',
      params: z.object({ id: Uuid }),
      query: schemas.PurgeQuery,
      responses: {
        202: {
          description: 'Laurel is erasing the tenant. When this is done, the tenant is 404.',
          body: schemas.AdminTenant,
        },
      },
    },
    { find: (scope, param) => findTenant(scope, param('id')) },
    async (scope, _input, found) => accepted(await purgeTenant(scope, found), {}),
  ),
]
