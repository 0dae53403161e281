import { created, endpointsOf, ok } from '../../api/endpoint'
import { presentSystem } from '../../api/resources/resource'
import { configurationOf } from '../../configuration/configuration'
import { adjustPoints } from './adjustments'
import * as schemas from './corrections'
import { findAchievementToRevoke, findEvent, revokeCompletion, voidEvent } from './voids'

const endpoint = endpointsOf('admin')

/** The endpoints of corrections: adjustments, voided events, revoked completions (V). */
export const correctionEndpoints = [
  endpoint(
    'POST /points/{systemId}/adjustments',
    {
      id: 'admin_points_adjustments_create',
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
    },
    { find: async (scope, param) => presentSystem(await configurationOf(scope), param('systemId')) },
    async (scope, { body }, { id }) => {
      const { response, isCreated } = await adjustPoints(scope, id, body)
      return isCreated ? created(response) : ok(response)
    },
  ),
  endpoint(
    'POST /users/{id}/events/{eventId}/void',
    {
      id: 'admin_users_void_event',
      summary: 'Void an event of a user, so that it no longer counts',
      params: schemas.VoidEventParams,
      body: schemas.VoidEventRequest,
      responses: {
        200: { description: 'The voided event, and what changed.', body: schemas.VoidEventResponse },
      },
    },
    { find: (scope, param) => findEvent(scope, param('id'), param('eventId')) },
    async (scope, { params, body }, found) =>
      ok(await voidEvent(scope, params.id, found, body.reason ?? null)),
  ),
  endpoint(
    'DELETE /users/{id}/achievements/{key}',
    {
      id: 'admin_users_revoke_achievement',
      summary: 'Take a completed achievement back from a user',
      params: schemas.RevokeAchievementParams,
      query: schemas.RevokeAchievementQuery,
      responses: {
        200: { description: 'The completion that was taken back.', body: schemas.RevokeAchievementResponse },
      },
    },
    { find: (scope, param) => findAchievementToRevoke(scope, param('key')) },
    async (scope, { params, query }, { id }) =>
      ok(await revokeCompletion(scope, params.id, id, query.points === 'revoke')),
  ),
]
