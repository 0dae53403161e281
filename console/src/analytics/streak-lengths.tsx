import type { AnalyticsOverview } from '@laurel/client'
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
export const StreakLengths = ({ streaks }: { streaks: Streaks | undefined }) => (
  <BarTable
    label="Users by the length of their streak"
    columns={['Length', 'Users']}
    bars={streaks?.map((one) => ({ key: one.from, name: lengthsOf(one), value: one.users }))}
  />
)

type Bar = { key: string | number; name: string; value: number }

/** Names with numbers, which are drawn as bars. It is a table, so all users can read the numbers. */
export function BarTable({
  label,
  columns: [name, value],
  bars,
  empty,
  isWide = false,
}: {
  /** The name of the table, such as "Users by level". */
  label: string
  /** The names of the two columns, for screen readers. */
  columns: readonly [name: string, value: string]
  /** Undefined while they are loading. */
  bars: readonly Bar[] | undefined
  /** Is said without bars. */
  empty?: string
  /** Is true if the names are long. They have half of the width then. */
  isWide?: boolean
}) {
  if (bars === undefined) return <Waiting className={isWide ? 'h-32' : 'h-44'} />
  if (bars.length === 0) return <p className="text-quiet">{empty}</p>
  const most = Math.max(1, ...bars.map((bar) => Math.abs(bar.value)))
  return (
    <table className="w-full table-fixed text-left">
      <caption className="sr-only">{label}</caption>
      <colgroup>
        <col className={isWide ? 'w-1/2' : 'w-28'} />
        <col />
      </colgroup>
      <thead className="sr-only">
        <tr>
          <th scope="col">{name}</th>
          <th scope="col">{value}</th>
        </tr>
      </thead>
      <tbody>
        {bars.map((bar) => (
          <tr key={bar.key}>
            <th scope="row" className="py-1.5 pr-3 font-normal text-quiet">
              {bar.name}
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
                  <rect
                    width={(Math.abs(bar.value) / most) * 100}
                    height={1}
                    className={bar.value < 0 ? 'fill-series-2' : 'fill-series-1'}
                  />
                </svg>
                <span className="w-16 shrink-0 text-right tabular-nums">{formatNumber(bar.value)}</span>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
