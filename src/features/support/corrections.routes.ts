import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { created, ok, operation } from '../../api/operation'
import { configurationOf } from '../../configuration/configuration'
import { presentSystem } from '../points/systems.rules'
import { adjustPoints } from './adjustments'
import * as schemas from './corrections'
import { findAchievementToRevoke, findEvent, revokeCompletion, voidEvent } from './voids'

const adminPointsAdjustmentsCreate = operation({
  id: 'admin_points_adjustments_create',
  surface: 'admin',
  method: 'post',
  path: '/points/{systemId}/adjustments',
  summary: 'Add points to users, or take them, by hand',
  params: schemas.AdjustedSystemParams,
  body: schemas.CreatePointsAdjustmentsRequest,
  responses: {
    200: {
      description: 'Nothing was changed by this request.',
      body: schemas.CreatePointsAdjustmentsResponse,
    },
    201: { description: 'At least one was made.', body: schemas.CreatePointsAdjustmentsResponse },
  },
})

const adminUsersVoidEvent = operation({
  id: 'admin_users_void_event',
  surface: 'admin',
  method: 'post',
  path: '/users/{id}/events/{eventId}/void',
  summary: 'Void an event of a user, so that it no longer counts',
  params: schemas.VoidEventParams,
  body: schemas.VoidEventRequest,
  responses: {
    200: { description: 'The voided event, and what changed.', body: schemas.VoidEventResponse },
  },
})

const adminUsersRevokeAchievement = operation({
  id: 'admin_users_revoke_achievement',
  surface: 'admin',
  method: 'delete',
  path: '/users/{id}/achievements/{key}',
  summary: 'Take a completed achievement back from a user',
  params: schemas.RevokeAchievementParams,
  query: schemas.RevokeAchievementQuery,
  responses: {
    200: { description: 'The completion that was taken back.', body: schemas.RevokeAchievementResponse },
  },
})

/** The operations that put right what users have, in the order of the OpenAPI document. */
export const correctionOperations = [
  adminPointsAdjustmentsCreate,
  adminUsersVoidEvent,
  adminUsersRevokeAchievement,
]

/** Serves corrections: adjustments, voided events, revoked completions (V). */
export function correctionRoutes(app: App): void {
  mount(
    app,
    adminPointsAdjustmentsCreate,
    { find: async (scope, param) => presentSystem(await configurationOf(scope), param('systemId')) },
    async (scope, { body }, { id }) => {
      const { response, isCreated } = await adjustPoints(scope, id, body)
      return isCreated ? created(response) : ok(response)
    },
  )
  mount(
    app,
    adminUsersVoidEvent,
    { find: (scope, param) => findEvent(scope, param('id'), param('eventId')) },
    async (scope, { params, body }, found) =>
      ok(await voidEvent(scope, params.id, found, body.reason ?? null)),
  )
  mount(
    app,
    adminUsersRevokeAchievement,
    { find: (scope, param) => findAchievementToRevoke(scope, param('key')) },
    async (scope, { params, query }, { id }) =>
      ok(await revokeCompletion(scope, params.id, id, query.points === 'revoke')),
  )
}
