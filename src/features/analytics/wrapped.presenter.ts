import type * as z from 'zod'
import { userAchievementResponse } from '../../api/shapes/achievement.presenter'
import { systemFields } from '../../api/shapes/points.presenter'
import type { Configuration, Metric } from '../../configuration/configuration.types'
import { MICROS_PER_UNIT } from '../../lib/decimal'
import { localDay } from '../../lib/zone'
import type { UserState } from '../../rules/state.types'
import type { BestPlaces } from './best.service'
import type { AttributeSums } from './wrapped.repository'
import {
  type DayChange,
  type Days,
  isIn,
  type Periods,
  percentChange,
  type Sums,
  sumsIn,
} from './wrapped.rules'
import type { WrappedActivityPeriod, WrappedMetric } from './wrapped.schemas'

/** All data of a user's year. */
export type Story = {
  config: Configuration
  user: UserState
  /** Changes by local day, by the id of the metric or points system. */
  changes: ReadonlyMap<string, readonly DayChange[]>
  periods: Periods
  attributes: readonly AttributeSums[]
  /** Percentage of users with less, by `period subject` (R2). */
  percentiles: ReadonlyMap<string, number>
}

/**
 * The results of a period (R1): metrics that still exist and have an event in it, and points systems with an
 * award in it.
 */
export function periodResponse(
  story: Story,
  kind: keyof Periods,
  leaderboards: BestPlaces,
): z.infer<typeof WrappedActivityPeriod> {
  const { config, user, changes, periods } = story
  const sumsFor = (id: string, total: number, unit: number) => {
    const sums = sumsIn(periods[kind], changes.get(id) ?? [], total)
    const percentileThisPeriod = story.percentiles.get(`${kind} ${id}`)
    return (
      sums && { ...changed(sums, unit), ...(percentileThisPeriod !== undefined && { percentileThisPeriod }) }
    )
  }
  const metrics = config.metrics.flatMap((metric): [string, z.infer<typeof WrappedMetric>][] => {
    const total = user.metrics.get(metric.id)?.total ?? 0
    const sums = sumsFor(metric.id, total, MICROS_PER_UNIT)
    return sums === null
      ? []
      : [[metric.key, { ...named(metric), ...sums, byAttribute: byAttribute(story, metric, kind) }]]
  })
  const points = config.systems.flatMap((system) => {
    const sums = sumsFor(system.id, user.points.get(system.id) ?? 0, 1)
    const { name, description } = systemFields(system)
    return sums === null ? [] : [[system.key, { name, description, ...sums }] as const]
  })
  return {
    metrics: Object.fromEntries(metrics),
    points: Object.fromEntries(points),
    achievements: achievementsIn(story, periods[kind]),
    leaderboards,
  }
}

const named = ({ name, units }: Metric) => ({ name, units: units === '' ? null : units })

const changed = (sums: Sums, unit: number) => ({
  currentTotal: sums.total / unit,
  changeThisPeriod: sums.change / unit,
  percentChange: percentChange(sums),
})

/** A metric's changes in a period by event attribute and value, for attributes that are configured now. */
function byAttribute(
  { config, attributes }: Story,
  metric: Metric,
  kind: keyof Periods,
): z.infer<typeof WrappedMetric>['byAttribute'] {
  const own = attributes.filter(({ metricId, period }) => metricId === metric.id && period === kind)
  return Object.fromEntries(
    config.attributes.flatMap(({ id, key }) => {
      const values = own.filter(({ attribute }) => attribute === id)
      const sumsFor = values.map((sums) => [
        sums.value,
        { ...named(metric), ...changed(sums, MICROS_PER_UNIT) },
      ])
      return sumsFor.length === 0 ? [] : [[key, Object.fromEntries(sumsFor)]]
    }),
  )
}

/** The visible achievements completed on these days, by stored local date, oldest first (A1, E8). */
function achievementsIn({ config, user }: Story, days: Days) {
  return [...user.achievements]
    .filter(([, { at, utcOffset }]) => isIn(days, localDay(at, utcOffset)))
    .sort(([, one], [, other]) => one.at - other.at)
    .flatMap(([id, completion]) => {
      const achievement = config.achievements.find((one) => one.id === id)
      return achievement === undefined || achievement.status === 'inactive'
        ? []
        : [userAchievementResponse(config, achievement, completion)]
    })
}
