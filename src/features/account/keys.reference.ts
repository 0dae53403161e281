import { type Chapter, demo } from '../../api/reference/chapter'
import { CREATED } from '../../api/reference/common'

/** API keys: application keys and admin keys. */
export const keys: Chapter = {
  operations: {
    admin_application_api_keys_list: {
      description: 'A page of the application keys, oldest first, without their secrets.',
      parameters: { userId: 'Only the keys of this user.' },
      example: {},
    },
    admin_application_api_keys_create: {
      description:
        'Creates 1 to 100 application keys, each for one user. The user need not exist yet. Only this response shows the keys. You can use an application key in a browser: it reads and changes only its own user, and sends events of that user. A key with the scope `read` only reads.',
      example: { body: [{ userId: 'demo-ada', scope: 'read' }] },
    },
    admin_application_api_keys_delete: {
      description: 'Deletes application keys by their ids. They are refused from the next request on.',
      example: { query: { ids: [demo('applicationKey', 'demo-grace')] } },
    },
    admin_user_tokens_create: {
      description:
        'Makes a signed token with which a page acts for one user, until the token ends. Send it in the header `X-API-KEY`, like an application key. Laurel does not store it, so it cannot be deleted: it ends by itself, or with its user. Only this response shows it.',
      example: { body: { userId: 'demo-ada', ttl: 900 } },
    },
    admin_admin_keys_list: {
      description:
        'A page of the admin keys, oldest first, without their secrets. The key in the variable `ADMIN_API_KEY` is not in the list.',
      example: {},
    },
    admin_admin_keys_create: {
      description:
        'Creates 1 to 100 admin keys. Only this response shows the keys. An admin key may do everything, in all tenants, so use it on servers only.',
      example: { body: [{ name: 'Nightly import' }] },
    },
    admin_admin_keys_delete: {
      description: 'Deletes admin keys by their ids. They are refused from the next request on.',
      example: { query: { ids: [demo('adminKey', 'Demo (unused)')] } },
    },
    admin_admin_keys_rotate: {
      description:
        'Replaces an admin key with a new one. Only this response shows the new key. Id and name stay. The old key is refused from the next request on.',
      example: {},
    },
  },
  fields: [
    {
      of: ['CreateApplicationKeyRequestItem', 'CreatedApplicationKey', 'ApplicationKey'],
      fields: {
        id: 'The id of the key. Delete the key with it.',
        userId: 'The id of the user that the key acts for.',
        key: 'The whole key, for the header `X-API-KEY`. Only this response shows it.',
        prefix: 'The public first part of the key, safe to log and show.',
        scope: '`write`: the key reads and changes its user, and sends events. `read`: it only reads.',
        expires: 'When the key ends, by the clock of the service. Null if it does not end.',
        ...CREATED,
      },
    },
    {
      of: ['CreateUserTokenRequest', 'CreatedUserToken'],
      fields: {
        userId: 'The id of the user that the token acts for. The user must exist.',
        scope: '`write`: the token reads and changes its user, and sends events. `read`: it only reads.',
        ttl: 'For how many seconds the token is valid.',
        token: 'The token, for the header `X-API-KEY`. Only this response shows it.',
        expires: 'When the token ends, by the clock of the service.',
      },
    },
    {
      of: ['CreateAdminKeyRequestItem', 'CreatedAdminKey', 'AdminKey'],
      fields: {
        id: 'The id of the key. Rotate or delete the key with it.',
        name: 'The display name, such as the purpose of the key.',
        key: 'The whole key, for the header `X-API-KEY`. Only this response shows it.',
        prefix: 'The public first part of the key, safe to log and show.',
        ...CREATED,
      },
    },
  ],
}
