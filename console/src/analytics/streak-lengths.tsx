import type { AnalyticsOverview } from '@laurel/client'
import { BarTable } from '../ui/bar-table'
import { formatNumber } from '../ui/format'
import { Waiting } from '../ui/page'

type Streaks = AnalyticsOverview['streaks']

/** The lengths of a class, such as "2–6". */
function lengthsOf({ from, to }: Streaks[number]): string {
  if (to === null) return `${formatNumber(from)} and more`
  return from === to
    ? from === 0
      ? 'no streak'
      : formatNumber(from)
    : `${formatNumber(from)}–${formatNumber(to)}`
}

/** How many users have streaks of which length. */
export function StreakLengths({ streaks }: { streaks: Streaks | undefined }) {
  if (streaks === undefined) return <Waiting className="h-44" />
  return (
    <BarTable
      label="Users by the length of their streak"
      columns={['Length', 'Users']}
      bars={streaks.map((one) => ({ key: one.from, name: lengthsOf(one), value: one.users }))}
    />
  )
}
