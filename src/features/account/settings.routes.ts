import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { Settings, UpdatedSettings, UpdateSettingsRequest } from './settings.schemas'
import { readSettings, updateSettings } from './settings.service'

export const adminSettingsGet = operation({
  id: 'admin_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/settings',
  summary: 'Get the settings',
  responses: { 200: { description: 'The settings.', body: Settings } },
})

export const adminSettingsUpdate = operation({
  id: 'admin_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/settings',
  summary: 'Update the passed settings',
  body: UpdateSettingsRequest,
  responses: { 200: { description: 'The settings after the change.', body: UpdatedSettings } },
})

/** Serves a tenant's settings (T4). */
export function settingsRoutes(app: App): void {
  mount(app, adminSettingsGet, {}, async (scope) => ok(await readSettings(scope)))
  mount(app, adminSettingsUpdate, {}, async (scope, { body }) => ok(await updateSettings(scope, body)))
}
