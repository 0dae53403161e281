import { eq } from 'drizzle-orm'
import * as z from 'zod'
import { tenants } from '../../access/tenants.sql.ts'
import { endpointsOf } from '../../api/endpoint'
import { filledText, optional, Picture, webAddress, wholeNumber, withIssues } from '../../api/fields'
import { demandMatch } from '../../api/resources/drafts.rules'
import { CONDITIONAL, TAGGED, withEtag } from '../../api/resources/endpoints'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import { AGGREGATION_PERIODS, FONTS } from '../../configuration/enumerations'
import { Settings } from '../../configuration/model'
import {
  LEAST_ACTIVATION_DAYS,
  MOST_ACTIVATION_DAYS,
  MOST_APP_NAME_CHARACTERS,
  MOST_COLOR_CHARACTERS,
} from '../../lib/limits'
import type { Scope } from '../../platform/context'
import { listenerStatements } from '../notifications/schedule'

/** A tenant's settings (T4). */
const SettingsResponse = Settings.meta({ id: 'Settings' })

/** The settings after a change. */
const UpdatedSettings = withIssues('UpdatedSettings', Settings)

const AppUrl = webAddress(
  /^([hH][tT][tT][pP][sS]?:\/\/\S+)?$/,
  'must be an https or http URL, or "" for none',
)

const BYTE = ' *(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9]) *'
const ALPHA = ' *(0|1|1\\.0+|0?\\.[0-9]+) *'
const RGB = `${BYTE},${BYTE},${BYTE}`
const COLOR = `^(#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}|rgb\\(${RGB}\\)|rgba\\(${RGB},${ALPHA}\\))$`
const NO_COLOR =
  'must be a colour: #RGB, #RRGGBB, rgb(r,g,b) or rgba(r,g,b,a), with whole numbers from 0 to 255 and a from 0 to 1'
const Color = z.string().max(MOST_COLOR_CHARACTERS).regex(new RegExp(COLOR), NO_COLOR)

/** A change to a tenant's settings. Absent fields stay (T4). */
export const UpdateSettingsRequest = z
  .object({
    branding: optional(
      z.object({
        appName: optional(filledText(MOST_APP_NAME_CHARACTERS)),
        appUrl: optional(AppUrl),
        brandColor: optional(Color),
        font: optional(z.enum(FONTS)),
        logo: Picture.nullish(),
        appIcon: Picture.nullish(),
      }),
    ),
    experimentation: optional(
      z.object({
        controlRatio: optional(wholeNumber(0, 100)),
        userActivationWindow: optional(wholeNumber(LEAST_ACTIVATION_DAYS, MOST_ACTIVATION_DAYS)),
      }),
    ),
    aggregationPeriod: optional(z.enum(AGGREGATION_PERIODS)),
  })
  .meta({ id: 'UpdateSettingsRequest' })

/** The fields after a change. Absent ones stay. */
function merged<T extends object>(was: T, change: { [F in keyof T]?: T[F] | undefined } = {}): T {
  return { ...was, ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) }
}

/** Changes the passed settings. The control ratio applies to users who are created later (T4, U5). */
export function updateSettings(
  scope: Scope,
  change: z.output<typeof UpdateSettingsRequest>,
  ifMatch?: string,
) {
  const { db } = scope
  return configure(scope, (config) => {
    const { tenantId, settings } = config
    demandMatch(ifMatch, settings)
    const result: Settings = {
      branding: merged(settings.branding, change.branding),
      experimentation: merged(settings.experimentation, change.experimentation),
      aggregationPeriod: change.aggregationPeriod ?? settings.aggregationPeriod,
    }
    const after = JSON.stringify(result)
    if (after === JSON.stringify(settings)) return { statements: [], audit: [], result }
    const update = db.orm.update(tenants).set({ settings: after }).where(eq(tenants.id, tenantId))
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
      responses: { 200: { description: 'The settings.', body: SettingsResponse, ...TAGGED } },
    },
    async (scope) => withEtag((await configurationOf(scope)).settings),
  ),
  endpoint(
    'PATCH /settings',
    {
      id: 'admin_settings_update',
      summary: 'Update the passed settings',
      ...CONDITIONAL,
      body: UpdateSettingsRequest,
      responses: { 200: { description: 'The settings after the change.', body: UpdatedSettings, ...TAGGED } },
    },
    async (scope, { body, headers }) => withEtag(await updateSettings(scope, body, headers['if-match'])),
  ),
]
