import {
  achievementLabels,
  calendarLabels,
  cardLabels,
  energyLabels,
  groupLabels,
  type Labels,
  leaderboardLabels,
  levelLabels,
  streakLabels,
  toastLabels,
} from './labels.ts'

/** English. */
export const defaultLabels: Labels = {
  ...cardLabels,
  ...streakLabels,
  ...calendarLabels,
  ...levelLabels,
  ...energyLabels,
  ...achievementLabels,
  ...groupLabels,
  ...leaderboardLabels,
  ...toastLabels,
}
