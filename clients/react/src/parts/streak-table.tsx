'use client'
import type { ComponentProps, ReactNode } from 'react'
import { useSettings } from '../view/settings.tsx'
import { type MonthCell, monthWeeks, type PeriodView, weekDates } from '../view/streak.ts'

type Day = NonNullable<MonthCell>

export interface MonthTableProps extends Omit<ComponentProps<'table'>, 'children' | 'ref'> {
  /** `YYYY-MM`. */
  month: string
  /** Periods of a daily streak, from `periodViews`. */
  periods: readonly PeriodView[]
  /** Content of a day. */
  children: (day: Day) => ReactNode
}

/** The attributes by which a stylesheet knows a period. */
export const periodAttributes = (period: PeriodView | undefined) => ({
  'data-state': period?.state ?? 'unknown',
  'data-current': period?.isCurrent || undefined,
  'data-joins-before': period?.joins.before || undefined,
  'data-joins-after': period?.joins.after || undefined,
})

/**
 * One month of a daily streak, as a table of weeks. Its name comes from `aria-labelledby` or `aria-label`.
 */
export function MonthTable({ month, periods, children, ...rest }: MonthTableProps) {
  const { format, firstDayOfWeek } = useSettings({})
  return (
    <table {...rest}>
      <thead>
        <tr>
          {weekDates(firstDayOfWeek).map((date) => (
            <th
              key={date}
              scope="col"
              abbr={format.weekday(date, 'long')}
              title={format.weekday(date, 'long')}
            >
              {format.weekday(date, 'narrow')}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {monthWeeks(month, firstDayOfWeek, periods).map((week, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the weeks of a month have a fixed order.
          <tr key={row}>
            {week.map((day, column) =>
              day === null ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: empty cells have nothing else.
                <td key={column} />
              ) : (
                <td
                  key={day.date}
                  {...periodAttributes(day.period)}
                  aria-current={day.period?.isCurrent ? 'date' : undefined}
                >
                  {children(day)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export interface PeriodListProps extends Omit<ComponentProps<'ol'>, 'children' | 'ref'> {
  periods: readonly PeriodView[]
  children: (period: PeriodView) => ReactNode
}

/** The periods of a weekly or monthly streak as a list, oldest first. */
export function PeriodList({ periods, children, ...rest }: PeriodListProps) {
  return (
    <ol {...rest}>
      {periods.map((period) => (
        <li
          key={period.start}
          {...periodAttributes(period)}
          aria-current={period.isCurrent ? 'date' : undefined}
        >
          {children(period)}
        </li>
      ))}
    </ol>
  )
}
