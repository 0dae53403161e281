import * as z from 'zod'
import {
  createResponse,
  deleteResponse,
  items,
  Name,
  Timestamp,
  UserId,
  UuidResponse,
} from '../../http/fields'
import { ListQuery } from '../../http/queries'

/** An application key to create. Its user need not exist yet (K3). */
export const CreateApplicationKeyRequestItem = z
  .object({ userId: UserId })
  .meta({ id: 'CreateApplicationKeyRequestItem' })

/** A created application key. Only this response shows the key itself. */
export const CreatedApplicationKey = z
  .object({ id: UuidResponse, userId: z.string(), key: z.string(), prefix: z.string() })
  .meta({ id: 'CreatedApplicationKey' })

/** An application key in a list. */
export const ApplicationKey = z
  .object({ id: UuidResponse, userId: z.string(), prefix: z.string(), created: Timestamp })
  .meta({ id: 'ApplicationKey' })

/** The page of application keys. With `userId`, only keys of that user. */
export const ApplicationKeyListQuery = ListQuery.extend({ userId: UserId.optional() })

export const CreateApplicationKeysRequest = items(CreateApplicationKeyRequestItem).meta({
  id: 'CreateApplicationKeysRequest',
})
export const ListApplicationKeysResponse = z.array(ApplicationKey).meta({ id: 'ListApplicationKeysResponse' })
export const CreateApplicationKeysResponse = createResponse(
  'CreateApplicationKeysResponse',
  CreatedApplicationKey,
)
export const DeleteApplicationKeysResponse = deleteResponse('DeleteApplicationKeysResponse')

/** An admin key to create (K4). */
export const CreateAdminKeyRequestItem = z.object({ name: Name }).meta({ id: 'CreateAdminKeyRequestItem' })

/** A created or rotated admin key. Only this response shows the key itself (K4). */
export const CreatedAdminKey = z
  .object({ id: UuidResponse, name: z.string(), prefix: z.string(), key: z.string(), created: Timestamp })
  .meta({ id: 'CreatedAdminKey' })

/** An admin key in a list (K4). */
export const AdminKey = z
  .object({ id: UuidResponse, name: z.string(), prefix: z.string(), created: Timestamp })
  .meta({ id: 'AdminKey' })

export const CreateAdminKeysRequest = items(CreateAdminKeyRequestItem).meta({ id: 'CreateAdminKeysRequest' })
export const ListAdminKeysResponse = z.array(AdminKey).meta({ id: 'ListAdminKeysResponse' })
export const CreateAdminKeysResponse = createResponse('CreateAdminKeysResponse', CreatedAdminKey)
export const DeleteAdminKeysResponse = deleteResponse('DeleteAdminKeysResponse')
