import * as z from 'zod'
import type { App } from '../../api/hono'
import { mount, type RawRequest } from '../../api/mount'
import { created, createdSome, type OperationSpec, ok, operation } from '../../api/operation'
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

const adminStreaksSettingsGet = operation({
  id: 'admin_streaks_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/streaks/settings',
  summary: 'Get the streak settings',
  responses: { 200: { description: 'The settings.', body: StreakSettingsResponse } },
})

const adminStreaksSettingsUpdate = operation({
  id: 'admin_streaks_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/streaks/settings',
  summary: 'Change the passed streak settings',
  body: UpdateStreakSettingsRequest,
  responses: { 200: { description: 'The settings after the change.', body: UpdatedStreakSettings } },
})

const adminStreaksFreezesCreate = operation({
  id: 'admin_streaks_freezes_create',
  surface: 'admin',
  method: 'post',
  path: '/streaks/freezes',
  summary: 'Grant users one streak freeze each',
  body: schemas.CreateStreakFreezesRequest,
  warning: userWarning('userId'),
  responses: {
    200: { description: NONE, body: schemas.CreateStreakFreezesResponse },
    201: { description: 'At least one was granted.', body: schemas.CreateStreakFreezesResponse },
  },
})

/** Not in the contract. */
const adminStreaksPausesList = operation({
  id: 'admin_streaks_pauses_list',
  surface: 'admin',
  method: 'get',
  path: '/streaks/pauses',
  summary: "List the pauses of a user's streak, oldest first",
  query: schemas.StreakPausesQuery,
  responses: {
    200: {
      description: 'The page, oldest first, without deleted pauses. It is empty if there is no such user.',
      body: schemas.ListStreakPausesResponse,
    },
  },
})

const adminStreaksPausesCreate = operation({
  id: 'admin_streaks_pauses_create',
  surface: 'admin',
  method: 'post',
  path: '/streaks/pauses',
  summary: "Pause users' streaks",
  body: schemas.CreateStreakPausesRequest,
  warning: userWarning('userId'),
  responses: {
    200: { description: NONE, body: schemas.CreateStreakPausesResponse },
    201: { description: 'At least one was created.', body: schemas.CreateStreakPausesResponse },
  },
})

const adminStreaksPausesDelete = operation({
  id: 'admin_streaks_pauses_delete',
  surface: 'admin',
  method: 'delete',
  path: '/streaks/pauses',
  summary: 'Delete streak pauses',
  query: z.object({ ids: IdsQuery }),
  responses: {
    200: { description: 'The deleted pauses, and issues.', body: schemas.DeleteStreakPausesResponse },
  },
})

const adminStreaksRestore = operation({
  id: 'admin_streaks_restore',
  surface: 'admin',
  method: 'post',
  path: '/streaks/restore',
  summary: 'Restore the longest recent streak of users',
  body: schemas.RestoreStreaksRequest,
  warning: userWarning('id'),
  responses: {
    200: { description: NONE, body: schemas.RestoreStreaksResponse },
    201: { description: 'At least one was restored.', body: schemas.RestoreStreaksResponse },
  },
})

/** The admin operations of this module, in the order of the OpenAPI document. */
export const streakAdminOperations: readonly OperationSpec[] = [
  adminStreaksSettingsGet,
  adminStreaksSettingsUpdate,
  adminStreaksFreezesCreate,
  adminStreaksPausesList,
  adminStreaksPausesCreate,
  adminStreaksPausesDelete,
  adminStreaksRestore,
]

/** Serves the management of streaks. */
export function streakAdminRoutes(app: App): void {
  mount(app, adminStreaksSettingsGet, {}, async (scope) => ok(await readStreakSettings(scope)))
  const check = (scope: Scope, { json }: RawRequest) => furtherSettingsErrors(scope, json)
  mount(app, adminStreaksSettingsUpdate, { check }, async (scope, { body }) =>
    ok(await updateStreakSettings(scope, body)),
  )
  mount(app, adminStreaksFreezesCreate, {}, async (scope, { body }) => {
    const { granted, issues } = await grantFreezes(scope, body)
    return granted > 0 ? created({ issues }) : ok({ issues })
  })
  mount(app, adminStreaksPausesList, {}, async (scope, { query }) => ok(await listPauses(scope, query)))
  mount(app, adminStreaksPausesCreate, {}, async (scope, { body }) =>
    createdSome(await createPauses(scope, body)),
  )
  mount(app, adminStreaksPausesDelete, {}, async (scope, { query }) =>
    ok(await removePauses(scope, query.ids)),
  )
  mount(app, adminStreaksRestore, {}, async (scope, { body }) => {
    const result = await restoreStreaks(scope, body)
    return result.restoredUsers.length > 0 ? created(result) : ok(result)
  })
}
