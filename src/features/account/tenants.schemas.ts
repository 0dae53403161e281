import * as z from 'zod'
import {
  createResponse,
  deleteResponse,
  items,
  Name,
  optional,
  Timestamp,
  Uuid,
  UuidResponse,
  updateResponse,
} from '../../api/fields'
import { MOST_ID_CHARACTERS } from '../../lib/limits'

/** A customer's id of a tenant fits in a header: no control characters, no spaces at its ends (T2). */
const CustomerId = z
  .string()
  .min(1)
  .max(MOST_ID_CHARACTERS)
  .refine((id) => !/[\p{Cc}\p{Cs}]/u.test(id), 'must have no control characters and no unpaired surrogates')
  .refine((id) => id === id.trim(), 'must not begin or end with a space')

/** A tenant to create. */
export const CreateTenantRequestItem = z
  .object({ customerId: CustomerId, name: Name })
  .meta({ id: 'CreateTenantRequestItem' })

/** A change to a tenant. Absent fields stay. */
export const UpdateTenantRequestItem = z
  .object({ id: Uuid, customerId: optional(CustomerId), name: optional(Name) })
  .meta({ id: 'UpdateTenantRequestItem' })

/** A tenant. A deleted tenant is archived for good (T3). `purging`: it is being erased. */
export const AdminTenant = z
  .object({
    id: UuidResponse,
    customerId: z.string(),
    name: z.string(),
    status: z.enum(['active', 'archived']),
    purging: z.boolean().optional(),
    created: Timestamp,
    updated: Timestamp,
  })
  .meta({ id: 'AdminTenant' })

export const CreateTenantsRequest = items(CreateTenantRequestItem).meta({ id: 'CreateTenantsRequest' })
export const UpdateTenantsRequest = items(UpdateTenantRequestItem).meta({ id: 'UpdateTenantsRequest' })
export const ListTenantsResponse = z.array(AdminTenant).meta({ id: 'ListTenantsResponse' })
export const CreateTenantsResponse = createResponse('CreateTenantsResponse', AdminTenant)
export const UpdateTenantsResponse = updateResponse('UpdateTenantsResponse', AdminTenant)
export const DeleteTenantsResponse = deleteResponse('DeleteTenantsResponse')

/** A purge needs `purge=true`. Without it, nothing happens. */
export const PurgeQuery = z.object({
  purge: z
    .custom<'true'>((text) => text === 'true', {
      error:
        'must be true: this erases an archived tenant for good. DELETE /tenants?ids= archives an active one',
    })
    .meta({ type: 'boolean', enum: [true] }),
})
