import { eq } from 'drizzle-orm'
import * as z from 'zod'
import { tenants } from '../../access/tenants.sql.ts'
import { optional, readable, wholeNumber, withIssues } from '../../api/fields'
import { ReadableMetrics, StreakMetrics } from '../../api/shapes/preferences'
import { StreakFrequency } from '../../api/shapes/streaks'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import { type Configuration, metricByKey } from '../../configuration/configuration.types'
import { EVALUATION_MODES } from '../../configuration/enumerations'
import { DEFAULT_FREEZES, type FreezeSettings, type StreakSettings } from '../../configuration/settings'
import { streakBoardsDue } from '../../leaderboards/updates'
import { type Instant, MINUTE } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { type FieldError, throwIfInvalid } from '../../lib/errors'
import { MOST_FREEZE_INTERVAL_DAYS, MOST_FREEZES } from '../../lib/limits'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { scheduleForUsers } from '../../time/due-work.sql.ts'
import { wakeTimekeeper } from '../../time/timekeeper'
import { listenerStatements } from '../notifications/schedule'

const EvaluationMode = z.enum(EVALUATION_MODES)

const FreezesChange = z.object({
  initial: optional(wholeNumber(0, MOST_FREEZES)),
  max: optional(wholeNumber(1, MOST_FREEZES)),
  /** Days; null for never. */
  autoEarnInterval: wholeNumber(1, MOST_FREEZE_INTERVAL_DAYS).nullish(),
  autoEarnAmount: optional(wholeNumber(1, MOST_FREEZES)),
})

/** A change of the settings: absent fields stay; `freezes: null` switches freezes off (S1). */
export const UpdateStreakSettingsRequest = z
  .object({
    enabled: optional(z.boolean()),
    frequency: optional(StreakFrequency),
    metrics: optional(StreakMetrics),
    evaluationMode: optional(EvaluationMode),
    personalisation: optional(z.boolean()),
    freezes: FreezesChange.nullish(),
  })
  .meta({ id: 'UpdateStreakSettingsRequest' })

/**
 * The readable fields of a change whose shape is wrong, so that one 422 can name their errors too (G3).
 * `freezes` is undefined if it can't be read. It is never stored.
 */
const ReadableStreakSettings = readable({
  metrics: ReadableMetrics,
  freezes: FreezesChange.pick({ initial: true, max: true }).nullish().catch(undefined),
})

/** The rules of a tenant's streaks (S1). Without metrics, any event with a positive value counts. */
export const StreakSettingsResponse = z
  .object({
    enabled: z.boolean(),
    frequency: StreakFrequency,
    metrics: z.array(z.object({ key: z.string(), threshold: z.number() })),
    evaluationMode: EvaluationMode,
    personalisation: z.boolean(),
    freezes: z
      .object({
        initial: z.int32(),
        max: z.int32(),
        /** Days; null for never. */
        autoEarnInterval: z.int32().nullable(),
        autoEarnAmount: z.int32(),
      })
      .nullable(),
  })
  .meta({ id: 'StreakSettings' })

/** The settings after a change. */
export const UpdatedStreakSettings = withIssues('UpdatedStreakSettings', StreakSettingsResponse)

type Update = z.output<typeof UpdateStreakSettingsRequest>
type ReadableChange = Pick<z.output<typeof ReadableStreakSettings>, 'metrics' | 'freezes'>

/** How many of the latest times when streaks were off are stored. Later judgements use only these. */
const MOST_OFF = 20
/** In all zones, midnight is at a quarter of an hour. */
const QUARTER = 15 * MINUTE

/** The tenant's settings of streaks (S1). */
export async function readStreakSettings(scope: Scope) {
  const config = await configurationOf(scope)
  return answer(config, config.streaks)
}

function answer(
  { metrics }: Pick<Configuration, 'metrics'>,
  settings: StreakSettings,
): z.infer<typeof StreakSettingsResponse> {
  const { enabled, frequency, evaluationMode, personalisation } = settings
  const { freezes } = settings
  return {
    enabled,
    frequency,
    metrics: settings.metrics.flatMap(({ metricId, threshold }) => {
      const metric = metrics.find(({ id }) => id === metricId)
      return metric === undefined ? [] : [{ key: metric.key, threshold: fromMicros(micros(threshold)) }]
    }),
    evaluationMode,
    personalisation,
    freezes: freezes && {
      initial: freezes.initial,
      max: freezes.max,
      autoEarnInterval: freezes.autoEarnInterval,
      autoEarnAmount: freezes.autoEarnAmount,
    },
  }
}

/**
 * Changes the passed settings (S1). A walk updates all users in the background: their deadlines, their
 * lengths if the frequency changes (S9), and periods that meet the new goal (S2).
 */
export async function updateStreakSettings(scope: Scope, change: Update) {
  const { db, now } = scope
  const { result, mustWalk } = await configure(scope, (config) => {
    const before = config.streaks
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

/**
 * Statements that store settings, and begin the walk over all users. The caller wakes the Timekeeper after
 * them.
 */
export function storeSettings({ db, tenant, now }: Scope, settings: StreakSettings): Statement[] {
  const streaks = JSON.stringify(settings)
  const update = db.orm.update(tenants).set({ streaks }).where(eq(tenants.id, tenant.id))
  return [db.built(update), scheduleForUsers(db, 'recount', { at: now, on: 'again' })]
}

/** The settings after a change. Throws 422 with every validation error (G3). */
function changed(config: Configuration, change: Update, now: Instant): StreakSettings {
  const before = config.streaks
  throwIfInvalid(settingsErrors(config, { ...change, metrics: change.metrics?.map(({ key }) => key) }, now))
  const metrics = change.metrics?.flatMap(({ key, threshold }) => {
    const metric = metricByKey(config, key)
    return metric === undefined ? [] : [{ metricId: metric.id, threshold }]
  })
  const enabled = change.enabled ?? before.enabled
  const frequency = change.frequency ?? before.frequency
  const freezes =
    change.freezes === undefined ? before.freezes : freezesAfter(before.freezes, change.freezes, now)
  const goal = {
    metrics: metrics ?? before.metrics,
    evaluationMode: change.evaluationMode ?? before.evaluationMode,
    personalisation: change.personalisation ?? before.personalisation,
  }
  const isSameGoal = JSON.stringify({ ...before, ...goal }) === JSON.stringify(before)
  return {
    enabled,
    off: offAfter(before, enabled, now),
    frequency,
    epoch: before.epoch + (frequency === before.frequency ? 0 : 1),
    ...goal,
    goalSince: isSameGoal ? before.goalSince : now,
    freezes,
  }
}

/** Further validation errors of a change with a wrong shape, as far as it can be read (G3). */
export async function furtherSettingsErrors(scope: Scope, json: unknown): Promise<FieldError[]> {
  return settingsErrors(await configurationOf(scope), ReadableStreakSettings.parse(json), scope.now)
}

/** Unknown metric keys, and more initial freezes than the maximum. Skips undefined keys (S1). */
function settingsErrors(config: Configuration, change: ReadableChange, now: Instant): FieldError[] {
  const unknown = (change.metrics ?? []).flatMap((key, index) => {
    if (key === undefined || metricByKey(config, key) !== undefined) return []
    const message = `there is no metric ${JSON.stringify(key)}. Create it first`
    return [{ path: `metrics.${index}.key`, message }]
  })
  const freezes = change.freezes ? freezesAfter(config.streaks.freezes, change.freezes, now) : null
  if (freezes === null || freezes.initial <= freezes.max) return unknown
  const message = `must not be above freezes.max, which is ${freezes.max}`
  return [...unknown, { path: 'freezes.initial', message }]
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

/** The freeze settings after a change. Changed rules for earning apply from now on. */
function freezesAfter(
  before: FreezeSettings | null,
  change: Partial<NonNullable<Update['freezes']>> | null,
  now: Instant,
): FreezeSettings | null {
  if (change === null) return null
  const present = before ?? { ...DEFAULT_FREEZES, since: now }
  const { autoEarnInterval } = change
  const interval = autoEarnInterval === undefined ? present.autoEarnInterval : autoEarnInterval
  const max = change.max ?? present.max
  const autoEarnAmount = change.autoEarnAmount ?? present.autoEarnAmount
  const isSame =
    interval === present.autoEarnInterval && max === present.max && autoEarnAmount === present.autoEarnAmount
  return {
    initial: change.initial ?? present.initial,
    max,
    autoEarnInterval: interval,
    autoEarnAmount,
    since: isSame ? present.since : now,
  }
}
