import { eq } from 'drizzle-orm'
import type * as z from 'zod'
import type { Scope } from '../../context'
import type { Settings } from '../configuration/configuration'
import { configurationOf, configure } from '../configuration/configuration.service'
import { heedListeners } from '../notifications/listening.service'
import type { UpdateSettingsRequest } from './settings.schemas'
import { tenants } from './tenants.table'

/** The tenant's settings (T4). */
export async function readSettings(scope: Scope): Promise<Settings> {
  const { settings } = await configurationOf(scope)
  return settings
}

/** Changes the passed settings; `controlRatio` counts for users created later (T4, U5). */
export function updateSettings(scope: Scope, change: z.output<typeof UpdateSettingsRequest>) {
  const { db } = scope
  return configure(scope, (config) => {
    const { tenantId, settings } = config
    const result: Settings = {
      controlRatio: change.controlRatio ?? settings.controlRatio,
      recapFrequency: change.recapFrequency ?? settings.recapFrequency,
    }
    const isSame =
      result.controlRatio === settings.controlRatio && result.recapFrequency === settings.recapFrequency
    if (isSame) return { statements: [], result }
    const update = db.orm.update(tenants).set(result).where(eq(tenants.id, tenantId))
    const beside = heedListeners(db, config, { ...config, settings: result }, scope.now)
    return { statements: [db.built(update)], beside, result }
  })
}
