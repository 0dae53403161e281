import type { AdminAchievement } from '@laurel/client'
import { DayChart, FiguresOf } from '../../analytics/figures'

/** How many users completed an achievement, by day (I2). */
export const AchievementFigures = ({ item: { key } }: { item: AdminAchievement }) => (
  <FiguresOf
    queryKey={['/achievements', 'analytics', key]}
    read={(admin, period, options) => admin.achievements.analytics(key, period, options)}
  >
    {(rows) => (
      <DayChart title="Completions" kind="bars" rows={rows} value={({ completions }) => completions} />
    )}
  </FiguresOf>
)
