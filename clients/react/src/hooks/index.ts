export { type AchievementsOptions, useAchievements } from './achievements.ts'
export { useLeaderboardGroups } from './groups.ts'
export { type LeaderboardOptions, type LeaderboardResource, useLeaderboard } from './leaderboard.ts'
export { LaurelProvider, type LaurelProviderProps, useLaurel } from './provider.tsx'
export {
  type PointsOptions,
  type StreakOptions,
  useEnergy,
  useLevel,
  usePoints,
  useStreak,
  useUser,
} from './reads.ts'
export type { InitialData } from './resource.ts'
export { type EventOfUser, type SendEvent, type SentEvent, useSendEvent } from './send-event.ts'
