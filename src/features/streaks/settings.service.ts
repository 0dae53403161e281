import { eq } from 'drizzle-orm'
import type * as z from 'zod'
import { tenants } from '../../access/tenants.table'
import { entriesOf } from '../../configuration/audit/entries.rules'
import { configurationOf, configure } from '../../configuration/configuration.service'
import { type Configuration, metricByKey } from '../../configuration/configuration.types'
import {
  DEFAULT_FREEZES,
  type FreezeSettings,
  type StreakSettings,
} from '../../configuration/streak-settings.types'
import { streakBoardsDue } from '../../leaderboards/board-upkeep.service'
import type { Instant } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { type FieldError, throwIfInvalid } from '../../lib/errors'
import { MINUTE } from '../../lib/units'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/statement'
import { beginWalk } from '../../time/due-work.repository'
import { wakeTimekeeper } from '../../time/timekeeper.service'
import { listenerStatements } from '../notifications/listening.service'
import {
  ReadableStreakSettings,
  type StreakSettingsResponse,
  type UpdateStreakSettingsRequest,
} from './settings.schemas'

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
  return [db.built(update), beginWalk(db, 'recount', '', now)]
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
