import type { AdminLeaderboard } from '@laurel/client'
import { DayChart, FiguresOf } from '../../analytics/figures'

/** How many users were ranked at the end of each day, in all groups (I2). */
export const LeaderboardFigures = ({ board: { key } }: { board: AdminLeaderboard }) => (
  <FiguresOf
    queryKey={['/leaderboards', 'analytics', key]}
    read={(admin, period, options) => admin.leaderboards.analytics(key, period, options)}
  >
    {(rows) => <DayChart title="Participants" rows={rows} value={({ participants }) => participants} />}
  </FiguresOf>
)
