import type { AnalyticsOverview } from '@laurel/client'
import { formatNumber } from '../../ui/format'
import { Skeleton } from '../../ui/page'

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

/** How many users have streaks of which length: a table whose numbers are drawn as bars. */
export function StreakLengths({ streaks }: { streaks: Streaks | undefined }) {
  if (streaks === undefined)
    return (
      <div aria-busy="true">
        <Skeleton className="h-44 w-full" />
      </div>
    )
  const most = Math.max(1, ...streaks.map(({ users }) => users))
  return (
    <table className="w-full table-fixed text-left">
      <caption className="sr-only">Users by the length of their streak</caption>
      <colgroup>
        <col className="w-28" />
        <col />
      </colgroup>
      <thead className="sr-only">
        <tr>
          <th scope="col">Length</th>
          <th scope="col">Users</th>
        </tr>
      </thead>
      <tbody>
        {streaks.map((one) => (
          <tr key={one.from}>
            <th scope="row" className="py-1.5 pr-3 font-normal whitespace-nowrap text-quiet">
              {lengthsOf(one)}
            </th>
            <td className="py-1.5">
              <span className="flex items-center gap-3">
                <svg
                  aria-hidden="true"
                  className="h-3.5 w-full min-w-0"
                  preserveAspectRatio="none"
                  viewBox="0 0 100 1"
                >
                  <rect width={100} height={1} className="fill-sunken" />
                  <rect width={(one.users / most) * 100} height={1} className="fill-series-1" />
                </svg>
                <span className="w-16 shrink-0 text-right tabular-nums">{formatNumber(one.users)}</span>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
