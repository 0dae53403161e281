import type { AnalyticsOverview } from '@laurel/client'
import { counted, formatNumber, formatPercent } from '../../ui/format'
import { Skeleton } from '../../ui/page'

type Retention = AnalyticsOverview['retention']

const DAYS = [
  { key: 'd1', days: 1 },
  { key: 'd7', days: 7 },
  { key: 'd30', days: 30 },
] as const

/** The days of the table: the usual ones, and the one of the settings if it is another. */
function columnsOf(retention: Retention | undefined) {
  const days = retention?.others.window.days
  const isUsual = days === undefined || DAYS.some((one) => one.days === days)
  return [...DAYS, ...(isUsual ? [] : [{ key: 'window', days } as const])].sort((a, b) => a.days - b.days)
}

const GROUPS = [
  { key: 'others', name: 'With notifications' },
  { key: 'control', name: 'Control group' },
] as const

/** How many users came back, with and without notifications, and how many users each figure is of. */
export function RetentionTable({ retention }: { retention: Retention | undefined }) {
  const columns = columnsOf(retention)
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-left" aria-busy={retention === undefined}>
        <caption className="sr-only">Retention with and without notifications</caption>
        <thead>
          <tr className="border-b border-line text-sm text-quiet">
            <th scope="col" className="py-2.5 pr-2 pl-4 font-medium sm:px-5">
              Users
            </th>
            {columns.map(({ key, days }) => (
              <th
                key={key}
                scope="col"
                className="px-2 py-2.5 text-right font-medium whitespace-nowrap last:pr-4 sm:px-3 sm:last:pr-5"
              >
                Day {days}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {GROUPS.map(({ key, name }) => (
            <tr key={key} className="border-b border-line align-top last:border-b-0">
              <th scope="row" className="min-w-26 py-3 pr-2 pl-4 font-normal sm:px-5">
                {name}
                <p className="text-sm text-quiet">
                  {retention === undefined ? (
                    <Skeleton className="w-14" />
                  ) : (
                    counted(retention[key].users, 'user')
                  )}
                </p>
              </th>
              {columns.map((day) => (
                <td
                  key={day.key}
                  className="px-2 py-3 text-right tabular-nums last:pr-4 sm:px-3 sm:last:pr-5"
                >
                  {retention === undefined ? (
                    <Skeleton className="w-10" />
                  ) : (
                    <Kept {...retention[key][day.key]} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A share with the users that it is of. Without users there is none. */
const Kept = ({ users, kept }: { users: number; kept: number }) =>
  users === 0 ? (
    <span className="text-quiet">–</span>
  ) : (
    <>
      <strong className="font-semibold">{formatPercent(kept / users)}</strong>
      <p className="text-sm whitespace-nowrap text-quiet">
        {formatNumber(kept)} of {formatNumber(users)}
      </p>
    </>
  )
