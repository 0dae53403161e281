import type * as z from 'zod'
import type { Achievement, Configuration, Metric } from '../../configuration/configuration.types'
import { iso } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { civilDateAt } from '../../lib/zone'
import type { CorrectionChange, Occasion } from '../../rules/corrections.rules'
import { NEW_COUNTER } from '../../rules/metrics.rules'
import type { Completion } from '../../rules/state.types'
import type { RevokeAchievementResponse, VoidedEvent } from './corrections.schemas'
import type { LoggedEvent } from './voids.repository'

/** The totals of points before and after a correction, by the key of each system with these ids. */
function pointsTotals(
  config: Configuration,
  { before, after }: CorrectionChange,
  systemIds: ReadonlySet<string>,
) {
  const affected = config.systems.filter(({ id }) => systemIds.has(id))
  return Object.fromEntries(
    affected.map(({ id, key }) => [
      key,
      { before: before.points.get(id) ?? 0, after: after.points.get(id) ?? 0 },
    ]),
  )
}

/** A voided event as the response shows it (V2). `systemIds` are the systems that gave points for it. */
export function voidResponse(
  config: Configuration,
  metric: Metric,
  event: LoggedEvent,
  change: CorrectionChange,
  { at, reason, systemIds }: Occasion & { systemIds: ReadonlySet<string> },
): z.infer<typeof VoidedEvent> {
  const totalOf = ({ metrics }: CorrectionChange['after']) =>
    fromMicros((metrics.get(metric.id) ?? NEW_COUNTER).total)
  const keys = new Map(config.attributes.map(({ id, key }) => [id, key]))
  const attributes = [...event.attributes].flatMap(([id, value]) => {
    const key = keys.get(id)
    return key === undefined ? [] : [[key, value] as const]
  })
  return {
    event: {
      id: event.id,
      metricId: metric.id,
      metricKey: metric.key,
      value: fromMicros(event.value),
      attributes: Object.fromEntries(attributes),
      at: iso(event.at),
      localDate: civilDateAt(event.at, event.utcOffset),
      utcOffsetMinutes: event.utcOffset,
      voided: iso(at),
      reason,
    },
    metric: { before: totalOf(change.before), after: totalOf(change.after) },
    points: pointsTotals(config, change, systemIds),
  }
}

/** A completion that was taken back, as the response shows it (V4). */
export function revokeResponse(
  config: Configuration,
  { id, key }: Achievement,
  completion: Completion,
  change: CorrectionChange,
  systemIds: ReadonlySet<string>,
): z.infer<typeof RevokeAchievementResponse> {
  return {
    id,
    key,
    completionId: completion.id,
    achievedAt: iso(completion.at),
    points: pointsTotals(config, change, systemIds),
  }
}
