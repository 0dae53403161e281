import * as z from 'zod'
import {
  createResponse,
  defaulted,
  deleteResponse,
  items,
  MomentField,
  Name,
  Timestamp,
  UserId,
  UuidResponse,
  wholeNumber,
  withIssues,
} from '../../api/fields'
import { ListQuery } from '../../api/queries'
import { DAY, HOUR, MINUTE, SECOND } from '../../lib/units'
import { KEY_SCOPES } from '../../platform/key-scopes.types'

/** For how long a user token is valid, in seconds: by default, and at least and at most (K6). */
const TOKEN_SECONDS = HOUR / SECOND
const MIN_TOKEN_SECONDS = MINUTE / SECOND
const MAX_TOKEN_SECONDS = DAY / SECOND

const Scope = defaulted(z.enum(KEY_SCOPES), 'write')

/** The scope and the end of an application key (K5). `expires` is null if it does not end. */
const limits = { scope: z.enum(KEY_SCOPES), expires: Timestamp.nullable() }

/** An application key to create. Its user need not exist yet (K3). */
export const CreateApplicationKeyRequestItem = z
  .object({
    userId: UserId,
    scope: Scope,
    expires: MomentField.nullish().transform((at) => at ?? null),
  })
  .meta({ id: 'CreateApplicationKeyRequestItem' })

/** A created application key. Only this response shows the key itself. */
export const CreatedApplicationKey = z
  .object({ id: UuidResponse, userId: z.string(), key: z.string(), prefix: z.string(), ...limits })
  .meta({ id: 'CreatedApplicationKey' })

/** An application key in a list. */
export const ApplicationKey = z
  .object({ id: UuidResponse, userId: z.string(), prefix: z.string(), ...limits, created: Timestamp })
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

/** A user token to make (K6). `ttl` is in seconds. */
export const CreateUserTokenRequest = z
  .object({
    userId: UserId,
    scope: Scope,
    ttl: defaulted(wholeNumber(MIN_TOKEN_SECONDS, MAX_TOKEN_SECONDS), TOKEN_SECONDS),
  })
  .meta({ id: 'CreateUserTokenRequest' })

/** A new user token. Only this response shows it (K6). */
export const CreatedUserToken = withIssues(
  'CreatedUserToken',
  z.object({ token: z.string(), expires: Timestamp }),
)

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
