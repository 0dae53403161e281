import * as z from 'zod'
import { UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount, type RawRequest } from '../../api/mount'
import { created, ok, operation } from '../../api/operation'
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

export const usersCreate = operation({
  id: 'users_create',
  surface: 'application',
  method: 'post',
  path: '/users',
  summary: 'Create a user, or update the passed fields of an existing user',
  body: UpsertedUser,
  responses: { 201: { description: 'The user.', body: User } },
})

export const usersGet = operation({
  id: 'users_get',
  surface: 'application',
  method: 'get',
  path: '/users/{id}',
  summary: 'Get a user',
  params,
  responses: { 200: { description: 'The user.', body: User } },
  // The contract lists it.
  furtherErrors: [400],
})

export const usersIdentify = operation({
  id: 'users_identify',
  surface: 'application',
  method: 'put',
  path: '/users/{id}',
  summary: 'Create a user, or update the passed fields of an existing user',
  params,
  body: UpdatedUser,
  responses: { 200: { description: 'The user.', body: User } },
})

export const usersUpdate = operation({
  id: 'users_update',
  surface: 'application',
  method: 'patch',
  path: '/users/{id}',
  summary: 'Update the passed fields of a user',
  params,
  body: UpdatedUser,
  responses: { 200: { description: 'The user.', body: User } },
})

const inPath = (_json: unknown, param: (name: string) => string) => param('id')
const inBody = (json: unknown) => z.object({ id: z.unknown() }).safeParse(json).data?.id

/** Serves users: create, identify, update, get. */
export function userRoutes(app: App): void {
  const find = (scope: Scope, param: (name: string) => string) => findUser(scope, param('id'))
  const checkBody = (scope: Scope, { json }: RawRequest) =>
    furtherUserErrors(scope, ReadableUser.parse(json), '')
  const check = (scope: Scope, { json, param }: RawRequest) =>
    furtherUserErrors(scope, { ...ReadableUser.parse(json), id: param('id') }, '')
  mount(app, usersCreate, { subject: inBody, check: checkBody }, async (scope, { body }) => {
    const { id, ...change } = body
    return created(await identifyUser(scope, id, change))
  })
  mount(app, usersIdentify, { subject: inPath, check }, async (scope, { params, body }) =>
    ok(await identifyUser(scope, params.id, body)),
  )
  mount(app, usersUpdate, { subject: inPath, find, check }, async (scope, { params, body }) =>
    ok(await updateUser(scope, params.id, body)),
  )
  mount(app, usersGet, { subject: inPath, find }, async (scope, _input, user) =>
    ok(userResponse(await configurationOf(scope), user)),
  )
}
