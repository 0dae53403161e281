import type * as z from 'zod'
import type { Configuration } from '../../configuration/configuration.types'
import type { Preferences } from '../../configuration/preferences.types'
import { fromMicros, micros } from '../../lib/decimal'
import type { UserPreferencesResponse } from './preferences.schemas'

/**
 * A user's preferences as served. While personalisation is off, the streak fields that need it are left out
 * (U7).
 */
export function preferencesResponse(
  config: Configuration,
  { notifications, streak }: Preferences,
): z.infer<typeof UserPreferencesResponse> {
  const { personalisation } = config.streaks
  const metrics = streak.metrics?.flatMap(({ metricId, threshold }) => {
    const metric = config.metrics.find(({ id }) => id === metricId)
    return metric === undefined ? [] : [{ key: metric.key, threshold: fromMicros(micros(threshold)) }]
  })
  const own = {
    ...(streak.enabled !== undefined && { enabled: streak.enabled }),
    ...(personalisation && streak.evaluationMode !== undefined && { evaluationMode: streak.evaluationMode }),
    ...(personalisation && metrics !== undefined && { metrics }),
  }
  const entries = Object.entries(notifications).map(([type, channels]) => [type, [...channels]])
  return {
    notifications: Object.fromEntries(entries),
    ...(Object.keys(own).length > 0 && { streak: own }),
  }
}
