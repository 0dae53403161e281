import { eq } from 'drizzle-orm'
import type * as z from 'zod'
import { tenants } from '../../access/tenants.table'
import { entriesOf } from '../../configuration/audit/entries.rules'
import { configurationOf, configure } from '../../configuration/configuration.service'
import type { Settings } from '../../configuration/configuration.types'
import type { Scope } from '../../platform/context'
import { listenerStatements } from '../notifications/listening.service'
import type { UpdateSettingsRequest } from './settings.schemas'

/** The tenant's settings (T4). */
export async function readSettings(scope: Scope): Promise<Settings> {
  const { settings } = await configurationOf(scope)
  return settings
}

/** Changes the passed settings. `controlRatio` applies to users who are created later (T4, U5). */
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
    if (isSame) return { statements: [], audit: [], result }
    const update = db.orm.update(tenants).set(result).where(eq(tenants.id, tenantId))
    const beside = listenerStatements(db, config, { ...config, settings: result }, scope.now)
    const audit = entriesOf('settings', [{ before: settings, after: result }], (one) => one)
    return { statements: [db.built(update)], beside, audit, result }
  })
}
