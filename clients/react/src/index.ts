/** React hooks and components of Laurel. */
export * from './components/index.ts'
export * from './hooks/index.ts'
export { changesOf, isGain } from './view/changes.ts'
export type * from './view/data.ts'
export { defaultLabels } from './view/default-labels.ts'
export { type Format, formatOf } from './view/format.ts'
export type { Labels } from './view/labels.ts'
export { type LevelView, levelView } from './view/levels.ts'
export {
  type RankChange,
  type RankingView,
  rankChange,
  rankingView,
  withPreviousRanks,
} from './view/ranking.ts'
export { type Run, runOf, type Schedule } from './view/runs.ts'
export { LaurelSettings, type SettingsProps, useLaurelSettings } from './view/settings.tsx'
export {
  type MonthCell,
  monthWeeks,
  type PeriodState,
  type PeriodView,
  periodViews,
  type StreakState,
  streakState,
} from './view/streak.ts'
