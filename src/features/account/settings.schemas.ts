import * as z from 'zod'
import { RECAP_FREQUENCIES } from '../../access/tenants.types'
import { optional, withIssues } from '../../api/fields'

const ControlRatio = z.number().min(0).max(100)
const RecapFrequency = z.enum(RECAP_FREQUENCIES)

/**
 * A tenant's settings. `controlRatio` is the percentage of new users who go into the control group (T4, U5).
 */
export const Settings = z
  .object({ controlRatio: ControlRatio, recapFrequency: RecapFrequency })
  .meta({ id: 'Settings' })

/** The settings after a change. */
export const UpdatedSettings = withIssues('UpdatedSettings', Settings)

/** A change to a tenant's settings. Absent fields stay (T4). */
export const UpdateSettingsRequest = z
  .object({ controlRatio: optional(ControlRatio), recapFrequency: optional(RecapFrequency) })
  .meta({ id: 'UpdateSettingsRequest' })
