/*
 * The register of the types of points triggers. Tables, schemas, keys and rules follow from it. When each type
 * fires, `countFirings` says (rules/points/points.rules.ts).
 */

/** The types of points triggers (P1, P2, P4, U6). */
export const TRIGGER_TYPES = ['metric', 'achievement', 'streak', 'time', 'user_creation'] as const
type TriggerType = (typeof TRIGGER_TYPES)[number]

/** The columns of `points_triggers` that triggers of a type have, and others don't (P1–P4, U6). */
export const TRIGGER_FIELDS = {
  metric: ['metricId', 'metricThreshold'],
  achievement: ['achievementId'],
  streak: ['streakLength'],
  time: ['timeUnit', 'timeInterval'],
  user_creation: [],
} as const satisfies Record<TriggerType, readonly string[]>
export type TriggerField = (typeof TRIGGER_FIELDS)[TriggerType][number]
