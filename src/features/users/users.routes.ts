import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import type { RawRequest } from '../../api/mount'
import { created, ok } from '../../api/operation'
import { ReadableUser, UpdatedUser, UpsertedUser, User, userResponse } from '../../api/shapes/users'
import { configurationOf } from '../../configuration/configuration'
import type { Scope } from '../../platform/context'
import type { ProfileChange } from '../../rules/profile.rules'
import { findUser, furtherUserErrors } from '../../store/users/find-user'
import { changeUser, ownSender } from '../events/commands'
import { userReply } from '../events/events.routes'

type UserResponse = z.infer<typeof User>

/** Creates a user, or updates the passed fields of an existing user (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

/** Updates the passed fields of a user. Throws 404 if there is none (U2). */
export async function updateUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'update', change }))
}

const params = z.object({ id: UserId })

const inPath = (_json: unknown, param: (name: string) => string) => param('id')
const inBody = (json: unknown) => z.object({ id: z.unknown() }).safeParse(json).data?.id

const endpoint = endpointsOf('application')

const find = (scope: Scope, param: (name: string) => string) => findUser(scope, param('id'))
const checkBody = (scope: Scope, { json }: RawRequest) =>
  furtherUserErrors(scope, ReadableUser.parse(json), '')
const check = (scope: Scope, { json, param }: RawRequest) =>
  furtherUserErrors(scope, { ...ReadableUser.parse(json), id: param('id') }, '')

/** The endpoints of users: create, identify, update, get. */
export const userEndpoints = [
  endpoint(
    'POST /users',
    {
      id: 'users_create',
      summary: 'Create a user, or update the passed fields of an existing user',
      body: UpsertedUser,
      responses: { 201: { description: 'The user.', body: User } },
    },
    { subject: inBody, check: checkBody },
    async (scope, { body }) => {
      const { id, ...change } = body
      return created(await identifyUser(scope, id, change))
    },
  ),
  endpoint(
    'GET /users/{id}',
    {
      id: 'users_get',
      summary: 'Get a user',
      params,
      responses: { 200: { description: 'The user.', body: User } },
      // The contract lists it.
      furtherErrors: [400],
    },
    { subject: inPath, find },
    async (scope, _input, user) => ok(userResponse(await configurationOf(scope), user)),
  ),
  endpoint(
    'PUT /users/{id}',
    {
      id: 'users_identify',
      summary: 'Create a user, or update the passed fields of an existing user',
      params,
      body: UpdatedUser,
      responses: { 200: { description: 'The user.', body: User } },
    },
    { subject: inPath, check },
    async (scope, { params, body }) => ok(await identifyUser(scope, params.id, body)),
  ),
  endpoint(
    'PATCH /users/{id}',
    {
      id: 'users_update',
      summary: 'Update the passed fields of a user',
      params,
      body: UpdatedUser,
      responses: { 200: { description: 'The user.', body: User } },
    },
    { subject: inPath, find, check },
    async (scope, { params, body }) => ok(await updateUser(scope, params.id, body)),
  ),
]
