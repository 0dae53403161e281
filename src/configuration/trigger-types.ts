/*
 * The registers of the types of points triggers, and of the triggers of achievements. Tables, schemas, keys and
 * rules follow from them. When a points trigger fires, `countFirings` says (rules/points/points.rules.ts); who
 * has enough for an achievement, `qualifies` (rules/achievements.rules.ts).
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

/** The triggers of achievements (A2, A3), in the order in which achievements complete (E5). */
export const ACHIEVEMENT_TRIGGERS = ['metric', 'streak', 'api', 'achievement', 'anniversary'] as const

/** The columns of `achievements` that those with a trigger need, and others don't have (A1, A2). */
export const ACHIEVEMENT_FIELDS = {
  metric: ['metricId', 'metricValue'],
  streak: ['streakLength'],
  api: [],
  achievement: ['achievementIds'],
  anniversary: ['anniversaryYears'],
} as const satisfies Record<(typeof ACHIEVEMENT_TRIGGERS)[number], readonly string[]>
export type AchievementField = (typeof ACHIEVEMENT_FIELDS)[keyof typeof ACHIEVEMENT_FIELDS][number]

/** All of these columns, in their order. */
export const ALL_ACHIEVEMENT_FIELDS: readonly AchievementField[] = Object.values(ACHIEVEMENT_FIELDS).flat()

/** The field of requests that names the same resources by their keys: `metricKey` for `metricId` (O1). */
export const keyField = (name: string): string => name.replace(/Id(s?)$/, 'Key$1')
