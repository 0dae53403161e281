import { eq } from 'drizzle-orm'
import * as z from 'zod'
import { RECAP_FREQUENCIES, tenants } from '../../access/tenants.sql.ts'
import { endpointsOf, ok } from '../../api/endpoint'
import { optional, withIssues } from '../../api/fields'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import type { Settings as StoredSettings } from '../../configuration/model'
import type { Scope } from '../../platform/context'
import { listenerStatements } from '../notifications/schedule'

const ControlRatio = z.number().min(0).max(100)
const RecapFrequency = z.enum(RECAP_FREQUENCIES)

/** A tenant's settings. `controlRatio`: the percentage of new users in the control group (T4, U5). */
export const Settings = z
  .object({ controlRatio: ControlRatio, recapFrequency: RecapFrequency })
  .meta({ id: 'Settings' })

/** The settings after a change. */
export const UpdatedSettings = withIssues('UpdatedSettings', Settings)

/** A change to a tenant's settings. Absent fields stay (T4). */
export const UpdateSettingsRequest = z
  .object({ controlRatio: optional(ControlRatio), recapFrequency: optional(RecapFrequency) })
  .meta({ id: 'UpdateSettingsRequest' })

/** The tenant's settings (T4). */
export async function readSettings(scope: Scope): Promise<StoredSettings> {
  const { settings } = await configurationOf(scope)
  return settings
}

/** Changes the passed settings. `controlRatio` applies to users who are created later (T4, U5). */
function updateSettings(scope: Scope, change: z.output<typeof UpdateSettingsRequest>) {
  const { db } = scope
  return configure(scope, (config) => {
    const { tenantId, settings } = config
    const result: StoredSettings = {
      controlRatio: change.controlRatio ?? settings.controlRatio,
      recapFrequency: change.recapFrequency ?? settings.recapFrequency,
    }
    const isSame =
      result.controlRatio === settings.controlRatio && result.recapFrequency === settings.recapFrequency
    if (isSame) return { statements: [], audit: [], result }
    const update = db.orm.update(tenants).set(result).where(eq(tenants.id, tenantId))
    const beside = listenerStatements(db, config, { ...config, settings: result }, scope.now)
    const audit = entriesOf('settings', [{ before: settings, after: result }], (one) => one)
    return { statements: [db.built(update)], beside, audit, result }
  })
}

const endpoint = endpointsOf('admin')

/** The endpoints of a tenant's settings (T4). */
export const settingsEndpoints = [
  endpoint(
    'GET /settings',
    {
      id: 'admin_settings_get',
      summary: 'Get the settings',
      responses: { 200: { description: 'The settings.', body: Settings } },
    },
    async (scope) => ok(await readSettings(scope)),
  ),
  endpoint(
    'PATCH /settings',
    {
      id: 'admin_settings_update',
      summary: 'Update the passed settings',
      body: UpdateSettingsRequest,
      responses: { 200: { description: 'The settings after the change.', body: UpdatedSettings } },
    },
    async (scope, { body }) => ok(await updateSettings(scope, body)),
  ),
]
