export { type LeaderboardOptions, type LeaderboardResource, useLeaderboard } from './leaderboard.ts'
export { LaurelProvider, type LaurelProviderProps, useLaurel } from './provider.tsx'
export {
  type AchievementsOptions,
  type PointsOptions,
  type StreakOptions,
  useAchievements,
  useEnergy,
  useLeaderboardGroups,
  useLevel,
  usePoints,
  useStreak,
  useUser,
} from './reads.ts'
export type { InitialData } from './resource.ts'
export { type EventOfUser, type SendEvent, type SentEvent, useSendEvent } from './send-event.ts'
