import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import type { RawRequest } from '../../api/mount'
import { ok } from '../../api/operation'
import {
  preferencesResponse,
  ReadablePreferences,
  UpdateUserPreferencesRequest,
  UserPreferencesResponse,
} from '../../api/shapes/preferences'
import { configurationOf } from '../../configuration/configuration'
import type { Scope } from '../../platform/context'
import { streakErrors } from '../../rules/preferences.rules'
import { findUser } from '../../store/users/find-user'
import { changePreferences, ownSender } from '../events/commands'
import { preferencesReply } from '../events/events.routes'

const params = z.object({ id: UserId })

const endpoint = endpointsOf('application')

const stage = {
  subject: (_json: unknown, param: (name: string) => string) => param('id'),
  find: (scope: Scope, param: (name: string) => string) => findUser(scope, param('id')),
}
const check = async (scope: Scope, { json }: RawRequest) =>
  streakErrors(await configurationOf(scope), ReadablePreferences.parse(json).streak.metrics ?? [])

/** The endpoints of users' preferences (U7). */
export const preferenceEndpoints = [
  endpoint(
    'GET /users/{id}/preferences',
    {
      id: 'users_get_preferences',
      summary: 'Get the preferences of a user for notifications and streaks',
      params,
      responses: { 200: { description: 'The preferences that were set.', body: UserPreferencesResponse } },
    },
    stage,
    async (scope, _input, { preferences }) =>
      ok(preferencesResponse(await configurationOf(scope), preferences)),
  ),
  endpoint(
    'PATCH /users/{id}/preferences',
    {
      id: 'users_update_preferences',
      summary: 'Change the passed preferences of a user',
      params,
      body: UpdateUserPreferencesRequest,
      responses: { 200: { description: 'The preferences after the change.', body: UserPreferencesResponse } },
    },
    { ...stage, check },
    async (scope, { params, body }) => {
      const sender = ownSender(scope, params.id)
      return ok(preferencesReply(await changePreferences(scope, sender, body)))
    },
  ),
]
