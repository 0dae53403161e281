import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import type { RawRequest } from '../../api/mount'
import { created, createdSome, ok } from '../../api/operation'
import { IdsQuery } from '../../api/queries'
import type { Scope } from '../../platform/context'
import * as schemas from './admin'
import { createPauses, grantFreezes, listPauses, removePauses, restoreStreaks, userWarning } from './admin'
import {
  furtherSettingsErrors,
  readStreakSettings,
  StreakSettingsResponse,
  UpdatedStreakSettings,
  UpdateStreakSettingsRequest,
  updateStreakSettings,
} from './settings'

const NONE = 'Nothing was changed. The issues say why.'

const endpoint = endpointsOf('admin')

const check = (scope: Scope, { json }: RawRequest) => furtherSettingsErrors(scope, json)

/** The endpoints of the management of streaks. */
export const streakAdminEndpoints = [
  endpoint(
    'GET /streaks/settings',
    {
      id: 'admin_streaks_settings_get',
      summary: 'Get the streak settings',
      responses: { 200: { description: 'The settings.', body: StreakSettingsResponse } },
    },
    async (scope) => ok(await readStreakSettings(scope)),
  ),
  endpoint(
    'PATCH /streaks/settings',
    {
      id: 'admin_streaks_settings_update',
      summary: 'Change the passed streak settings',
      body: UpdateStreakSettingsRequest,
      responses: { 200: { description: 'The settings after the change.', body: UpdatedStreakSettings } },
    },
    { check },
    async (scope, { body }) => ok(await updateStreakSettings(scope, body)),
  ),
  endpoint(
    'POST /streaks/freezes',
    {
      id: 'admin_streaks_freezes_create',
      summary: 'Grant users one streak freeze each',
      body: schemas.CreateStreakFreezesRequest,
      warning: userWarning('userId'),
      responses: {
        200: { description: NONE, body: schemas.CreateStreakFreezesResponse },
        201: { description: 'At least one was granted.', body: schemas.CreateStreakFreezesResponse },
      },
    },
    async (scope, { body }) => {
      const { granted, issues } = await grantFreezes(scope, body)
      return granted > 0 ? created({ issues }) : ok({ issues })
    },
  ),
  /** Not in the contract. */
  endpoint(
    'GET /streaks/pauses',
    {
      id: 'admin_streaks_pauses_list',
      summary: "List the pauses of a user's streak, oldest first",
      query: schemas.StreakPausesQuery,
      responses: {
        200: {
          description:
            'The page, oldest first, without deleted pauses. It is empty if there is no such user.',
          body: schemas.ListStreakPausesResponse,
        },
      },
    },
    async (scope, { query }) => ok(await listPauses(scope, query)),
  ),
  endpoint(
    'POST /streaks/pauses',
    {
      id: 'admin_streaks_pauses_create',
      summary: "Pause users' streaks",
      body: schemas.CreateStreakPausesRequest,
      warning: userWarning('userId'),
      responses: {
        200: { description: NONE, body: schemas.CreateStreakPausesResponse },
        201: { description: 'At least one was created.', body: schemas.CreateStreakPausesResponse },
      },
    },
    async (scope, { body }) => createdSome(await createPauses(scope, body)),
  ),
  endpoint(
    'DELETE /streaks/pauses',
    {
      id: 'admin_streaks_pauses_delete',
      summary: 'Delete streak pauses',
      query: z.object({ ids: IdsQuery }),
      responses: {
        200: { description: 'The deleted pauses, and issues.', body: schemas.DeleteStreakPausesResponse },
      },
    },
    async (scope, { query }) => ok(await removePauses(scope, query.ids)),
  ),
  endpoint(
    'POST /streaks/restore',
    {
      id: 'admin_streaks_restore',
      summary: 'Restore the longest recent streak of users',
      body: schemas.RestoreStreaksRequest,
      warning: userWarning('id'),
      responses: {
        200: { description: NONE, body: schemas.RestoreStreaksResponse },
        201: { description: 'At least one was restored.', body: schemas.RestoreStreaksResponse },
      },
    },
    async (scope, { body }) => {
      const result = await restoreStreaks(scope, body)
      return result.restoredUsers.length > 0 ? created(result) : ok(result)
    },
  ),
]
