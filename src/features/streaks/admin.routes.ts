import { eq } from 'drizzle-orm'
import * as z from 'zod'
import { tenants } from '../../access/tenants.sql.ts'
import { created, createdSome, endpointsOf, ok, type RawRequest } from '../../api/endpoint'
import { optional, readable, rule, wholeNumber, withIssues } from '../../api/fields'
import { IdsQuery } from '../../api/queries'
import { demandMatch } from '../../api/resources/drafts.rules'
import { CONDITIONAL, TAGGED, withEtag } from '../../api/resources/endpoints'
import { StreakFrequency } from '../../api/shapes/streaks'
import { DaysOff, EvaluationMode, ReadableMetrics, StreakMetrics } from '../../api/shapes/users'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import { EVALUATION_MODES } from '../../configuration/enumerations'
import {
  type Configuration,
  type FreezeSettings,
  metricByKey,
  type StreakSettings,
} from '../../configuration/model'
import { streakBoardsDue } from '../../leaderboards/updates'
import { type Instant, MINUTE } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { type FieldError, throwIfInvalid } from '../../lib/errors'
import { MOST_FREEZE_INTERVAL_DAYS, MOST_FREEZES } from '../../lib/limits'
import type { Scope } from '../../platform/context'
import type { AccountDatabase, Statement } from '../../platform/database'
import { scheduleForUsers, workOf } from '../../time/due-work.sql.ts'
import { catchUpKind, wakeTimekeeper } from '../../time/timekeeper'
import { listenerStatements } from '../notifications/schedule'
import * as schemas from './admin'
import {
  createPauses,
  grantFreezes,
  listPauses,
  removePauses,
  resetStreaks,
  restoreStreaks,
  userWarning,
} from './admin'

const isAbove = (one: unknown, other: unknown) =>
  typeof one === 'number' && typeof other === 'number' && one > other

const Freezes = z
  .object({
    startCount: wholeNumber(0, MOST_FREEZES),
    maxCount: wholeNumber(1, MOST_FREEZES),
    /** Days. Null, or absent, for never. */
    autoEarnInterval: wholeNumber(1, MOST_FREEZE_INTERVAL_DAYS).nullish(),
    autoEarnAmount: wholeNumber(1, MOST_FREEZES).nullish(),
  })
  .refine(
    ({ startCount, maxCount }) => !isAbove(startCount, maxCount),
    rule('startCount', 'must not be above maxCount'),
  )
  .refine(
    (given) => (given.autoEarnInterval == null) === (given.autoEarnAmount == null),
    rule('autoEarnAmount', 'must be set together with autoEarnInterval, or both must be null'),
  )

/** A change of the settings: absent fields stay. `freezes` is set as a whole; null switches freezes off (S1). */
export const UpdateStreakSettingsRequest = z
  .object({
    enabled: optional(z.boolean()),
    frequency: optional(StreakFrequency),
    metrics: optional(StreakMetrics),
    evaluationMode: optional(EvaluationMode),
    customizationEnabled: optional(z.boolean()),
    daysOff: optional(DaysOff),
    freezes: Freezes.nullish(),
  })
  .meta({ id: 'UpdateStreakSettingsRequest' })

/** The readable fields of a change whose shape is wrong, so that one 422 can name their errors too (G3). */
const ReadableStreakSettings = readable({
  metrics: ReadableMetrics,
  frequency: StreakFrequency.nullish().catch(undefined),
  daysOff: z.array(z.unknown()).nullish().catch(undefined),
})

/** The rules of a tenant's streaks (S1). Without metrics, any event with a positive value counts. */
const StreakSettingsResponse = z
  .object({
    enabled: z.boolean(),
    frequency: StreakFrequency,
    metrics: z.array(z.object({ key: z.string(), threshold: z.number() })),
    evaluationMode: z.enum(EVALUATION_MODES),
    customizationEnabled: z.boolean(),
    daysOff: z.array(z.int32()),
    freezes: z
      .object({
        startCount: z.int32(),
        maxCount: z.int32(),
        /** Days; null for never. */
        autoEarnInterval: z.int32().nullable(),
        autoEarnAmount: z.int32().nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'StreakSettings' })

const UpdatedStreakSettings = withIssues('UpdatedStreakSettings', StreakSettingsResponse)

type Update = z.output<typeof UpdateStreakSettingsRequest>

/** How many of the latest times when streaks were off are stored. Later judgements use only these. */
const MOST_OFF = 20
/** How many earlier lists of days off are stored. After each change, a walk judges all dates until then. */
const MOST_LISTS = 20
/** In all zones, midnight is at a quarter of an hour. */
const QUARTER = 15 * MINUTE

function answer(
  { metrics }: Pick<Configuration, 'metrics'>,
  settings: StreakSettings,
): z.infer<typeof StreakSettingsResponse> {
  const { enabled, frequency, evaluationMode, customizationEnabled, daysOff, freezes } = settings
  return {
    enabled,
    frequency,
    evaluationMode,
    customizationEnabled,
    daysOff: [...daysOff],
    metrics: settings.metrics.flatMap(({ metricId, threshold }) => {
      const metric = metrics.find(({ id }) => id === metricId)
      return metric === undefined ? [] : [{ key: metric.key, threshold: fromMicros(micros(threshold)) }]
    }),
    freezes: freezes && withoutSince(freezes),
  }
}

const withoutSince = ({ since: _since, ...freezes }: FreezeSettings) => freezes

/**
 * Changes the passed settings (S1). A walk updates all users in the background: their deadlines, their
 * lengths if the frequency changes (S9), and periods that meet the new goal (S2).
 */
export async function updateStreakSettings(scope: Scope, change: Update, ifMatch?: string) {
  const { db, now } = scope
  await judgeOverdue(scope)
  const { result, mustWalk } = await configure(scope, (config) => {
    const before = config.streaks
    demandMatch(ifMatch, answer(config, before))
    const after = changed(config, change, now)
    const result = answer(config, after)
    if (JSON.stringify(after) === JSON.stringify(before)) {
      return { statements: [], audit: [], result: { result, mustWalk: false } }
    }
    const boards = before.enabled === after.enabled ? [] : streakBoardsDue(db, config, now)
    const beside = listenerStatements(db, config, { ...config, streaks: after }, now)
    const statements = [...storeSettings(scope, after), ...boards]
    const audit = entriesOf('streak_settings', [{ before, after }], (one) => answer(config, one))
    return { statements, beside, audit, result: { result, mustWalk: true } }
  })
  if (mustWalk) await wakeTimekeeper(scope)
  return result
}

/** Judges the midnights that have passed before the settings change, if their work comes late (S1). */
async function judgeOverdue(scope: Scope): Promise<void> {
  const { databases, tenant, now } = scope
  const works = await databases.usersOf(tenant.id).askAll((db) => workOf(db, 'streaks'))
  if (works.some((work) => work !== undefined && work.dueAt <= now)) await catchUpKind(scope, 'streaks', now)
}

/** Stores settings, and begins the walk over all users. The caller wakes the Timekeeper after that. */
export function storeSettings({ db, tenant, now }: Scope, settings: StreakSettings): Statement[] {
  const streaks = JSON.stringify(settings)
  const update = db.orm.update(tenants).set({ streaks }).where(eq(tenants.id, tenant.id))
  return [db.built(update), scheduleForUsers(db, 'recount', { at: now, on: 'again' })]
}

const CAP = `
  UPDATE tenants SET config_version = config_version + 1, streaks = json_replace(streaks,
    '$.goalSince', min(streaks ->> '$.goalSince', ?1), '$.freezes.since', min(streaks ->> '$.freezes.since', ?1),
    '$.off', json((SELECT json_group_array(json_replace(value, '$.from', min(value ->> '$.from', ?1),
      '$.to', min(value ->> '$.to', ?1))) FROM json_each(streaks, '$.off'))),
    '$.daysOffBefore', json((SELECT json_group_array(json_replace(value, '$.until', min(value ->> '$.until', ?1)))
      FROM json_each(streaks, '$.daysOffBefore'))))
  WHERE max(coalesce(streaks ->> '$.goalSince', 0), coalesce(streaks ->> '$.freezes.since', 0),
    coalesce(streaks ->> '$.off[#-1].to', streaks ->> '$.off[#-1].from', 0),
    coalesce(streaks ->> '$.daysOffBefore[#-1].until', 0)) > ?1`

/** Changes of settings by a clock that was ahead count from `now` on, since no streak would reach them (C1, C3). */
export const capSettings = (db: AccountDatabase, now: Instant): Statement => db.statement(CAP, now)

function changed(config: Configuration, change: Update, now: Instant): StreakSettings {
  const before = config.streaks
  throwIfInvalid(settingsErrors(config, { ...change, metrics: change.metrics?.map(({ key }) => key) }))
  const metrics = change.metrics?.flatMap(({ key, threshold }) => {
    const metric = metricByKey(config, key)
    return metric === undefined ? [] : [{ metricId: metric.id, threshold }]
  })
  const { enabled = before.enabled, frequency = before.frequency } = change
  const goal = {
    metrics: metrics ?? before.metrics,
    evaluationMode: change.evaluationMode ?? before.evaluationMode,
    customizationEnabled: change.customizationEnabled ?? before.customizationEnabled,
  }
  const own = daysOffAfter(before, { ...goal, frequency, daysOff: change.daysOff }, now)
  const isSameGoal = JSON.stringify({ ...before, ...goal }) === JSON.stringify(before)
  return {
    enabled,
    off: offAfter(before, enabled, now),
    frequency,
    epoch: before.epoch + (frequency === before.frequency ? 0 : 1),
    ...goal,
    ...own,
    goalSince: isSameGoal ? before.goalSince : now,
    freezes: freezesAfter(before.freezes, change.freezes, now),
  }
}

/** Unknown metric keys, and days off that are not of a daily streak (S1, S12). Skips undefined keys. */
function settingsErrors(
  config: Configuration,
  { metrics, frequency, daysOff }: z.output<typeof ReadableStreakSettings>,
): FieldError[] {
  const unknown = (metrics ?? []).flatMap((key, index) => {
    if (key === undefined || metricByKey(config, key) !== undefined) return []
    const message = `there is no metric ${JSON.stringify(key)}. Create it first`
    return [{ path: `metrics.${index}.key`, message }]
  })
  const isDaily = (frequency ?? config.streaks.frequency) === 'daily'
  if (isDaily || !daysOff?.length) return unknown
  const message = 'must be empty, because only daily streaks have days off'
  return [...unknown, { path: 'daysOff', message }]
}

/**
 * The days off after a change, and the lists before them, which judge the dates until now (S12). Another
 * frequency than `daily` has none. A new frequency begins without earlier lists: all dates are counted again.
 */
function daysOffAfter(
  before: StreakSettings,
  after: Pick<StreakSettings, 'frequency' | 'customizationEnabled'> & Pick<Update, 'daysOff'>,
  now: Instant,
): Pick<StreakSettings, 'daysOff' | 'daysOffBefore'> {
  const { frequency, customizationEnabled } = after
  const { daysOff = frequency === 'daily' ? before.daysOff : [] } = after
  if (frequency !== before.frequency) return { daysOff, daysOffBefore: [] }
  const isSame =
    customizationEnabled === before.customizationEnabled &&
    JSON.stringify(daysOff) === JSON.stringify(before.daysOff)
  const last = { until: now, daysOff: before.daysOff, customizationEnabled: before.customizationEnabled }
  return {
    daysOff,
    daysOffBefore: isSame ? before.daysOffBefore : [...before.daysOffBefore, last].slice(-MOST_LISTS),
  }
}

/** If there are too many, first drops those without a midnight in any zone: no period ended in them. */
function offAfter({ enabled: was, off }: StreakSettings, enabled: boolean, now: Instant) {
  if (!was && enabled) return off.map(({ from, to }) => ({ from, to: to ?? now }))
  if (!was || enabled) return off
  const known = off.length < MOST_OFF ? off : off.filter(hasMidnight)
  return [...known, { from: now, to: null }].slice(-MOST_OFF)
}

const hasMidnight = ({ from, to }: StreakSettings['off'][number]) =>
  to === null || Math.floor(from / QUARTER) < Math.floor(to / QUARTER)

/** Freezes are earned by these settings. */
const EARNING = ['maxCount', 'autoEarnInterval', 'autoEarnAmount'] as const

/** The freeze settings after a change. Changed rules for earning apply from now on. */
function freezesAfter(
  before: FreezeSettings | null,
  change: Update['freezes'],
  now: Instant,
): FreezeSettings | null {
  if (change === undefined) return before
  if (change === null) return null
  const { startCount, maxCount, autoEarnInterval = null, autoEarnAmount = null } = change
  const after = { startCount, maxCount, autoEarnInterval, autoEarnAmount, since: now }
  const isSame = before !== null && EARNING.every((field) => after[field] === before[field])
  return isSame ? { ...after, since: before.since } : after
}

const NONE = 'Nothing was changed. The issues say why.'

const endpoint = endpointsOf('admin')

const check = async (scope: Scope, { json }: RawRequest) =>
  settingsErrors(await configurationOf(scope), ReadableStreakSettings.parse(json))

export const streakAdminEndpoints = [
  endpoint(
    'GET /streaks/settings',
    {
      id: 'admin_streaks_settings_get',
      summary: 'Get the streak settings',
      responses: { 200: { description: 'The settings.', body: StreakSettingsResponse, ...TAGGED } },
    },
    async (scope) => {
      const config = await configurationOf(scope)
      return withEtag(answer(config, config.streaks))
    },
  ),
  endpoint(
    'PATCH /streaks/settings',
    {
      id: 'admin_streaks_settings_update',
      summary: 'Change the passed streak settings',
      ...CONDITIONAL,
      body: UpdateStreakSettingsRequest,
      responses: {
        200: { description: 'The settings after the change.', body: UpdatedStreakSettings, ...TAGGED },
      },
    },
    { check },
    async (scope, { body, headers }) =>
      withEtag(await updateStreakSettings(scope, body, headers['if-match'])),
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
  endpoint(
    'POST /streaks/reset',
    {
      id: 'admin_streaks_reset',
      summary: 'Set the streaks of users to zero',
      body: schemas.ResetStreaksRequest,
      warning: userWarning('id'),
      responses: { 200: { description: 'The users, and issues.', body: schemas.ResetStreaksResponse } },
    },
    async (scope, { body }) => ok(await resetStreaks(scope, body)),
  ),
]
