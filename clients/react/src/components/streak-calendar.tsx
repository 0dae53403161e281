'use client'
import { useId, useState } from 'react'
import { MonthTable, PeriodList } from '../parts/streak-table.tsx'
import { VisuallyHidden } from '../parts/visually-hidden.tsx'
import type { ResourceProps, StreakData } from '../view/data.ts'
import { calendarLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'
import { addMonths, monthOf, type PeriodState, type PeriodView, periodViews } from '../view/streak.ts'
import { Card, type CardAttributes } from './card.tsx'
import { BackIcon, CheckIcon, CloseIcon, FreezeIcon, PauseIcon } from './icons.tsx'

const PLACEHOLDER: StreakData = {
  length: 0,
  frequency: 'daily',
  started: null,
  periodStart: null,
  periodEnd: null,
  expires: null,
  streakHistory: [{ periodStart: '2026-08-31', periodEnd: '2026-08-31', length: 0, usedPause: false }],
}

export type StreakCalendarProps = ResourceProps<StreakData> & CardAttributes

/**
 * The periods of a streak: a month with its days, or the last weeks or months. A daily streak has buttons for
 * earlier months, as far as `streakHistory` reaches.
 */
export function StreakCalendar({ className, id, ...resource }: StreakCalendarProps) {
  const { labels } = useSettings(calendarLabels)
  return (
    <Card
      {...{ className, id, resource }}
      kind="streak-calendar"
      label={labels.calendar}
      placeholder={PLACEHOLDER}
    >
      {(streak, isReady) => {
        const periods = periodViews(streak.streakHistory ?? [])
        return streak.frequency === 'daily' ? (
          <Days periods={periods} isReady={isReady} />
        ) : (
          <Periods periods={periods} frequency={streak.frequency} />
        )
      }}
    </Card>
  )
}

const SYMBOLS: Partial<Record<PeriodState, typeof CheckIcon>> = {
  frozen: FreezeIcon,
  paused: PauseIcon,
  reset: CloseIcon,
}

function Days({ periods, isReady }: { periods: readonly PeriodView[]; isReady: boolean }) {
  const { labels, format } = useSettings(calendarLabels)
  const title = useId()
  const [steps, setSteps] = useState(0)
  const last = monthOf(periods.at(-1)?.start ?? '2026-01-01')
  const first = monthOf(periods[0]?.start ?? last)
  const chosen = addMonths(last, -steps)
  const month = chosen < first ? first : chosen
  return (
    <>
      <div className="laurel-calendar-head">
        <span id={title} className="laurel-title laurel-text" aria-live="polite">
          {format.month(`${month}-01`)}
        </span>
        <button
          type="button"
          className="laurel-round"
          aria-label={labels.previousMonth}
          disabled={!isReady || month <= first}
          onClick={() => setSteps(steps + 1)}
        >
          <BackIcon />
        </button>
        <button
          type="button"
          className="laurel-round laurel-forward"
          aria-label={labels.nextMonth}
          disabled={!isReady || month >= last}
          onClick={() => setSteps(steps - 1)}
        >
          <BackIcon />
        </button>
      </div>
      <div className="laurel-month-box">
        <MonthTable className="laurel-month" month={month} periods={periods} aria-labelledby={title}>
          {({ date, period }) => {
            const kind = period?.state ?? 'unknown'
            const Mark = SYMBOLS[kind]
            const state = labels.periodState[kind]
            const text = format.date(date) + (state && `: ${state}`)
            return (
              <span className="laurel-day" title={state ? text : undefined}>
                <span aria-hidden="true">{Mark ? <Mark /> : format.number(Number(date.slice(-2)))}</span>
                <VisuallyHidden>{text}</VisuallyHidden>
              </span>
            )
          }}
        </MonthTable>
      </div>
    </>
  )
}

interface PeriodsProps {
  periods: readonly PeriodView[]
  frequency: 'weekly' | 'monthly'
}

function Periods({ periods, frequency }: PeriodsProps) {
  const { labels, format } = useSettings(calendarLabels)
  return (
    <PeriodList className="laurel-periods" periods={periods} aria-label={labels.calendar}>
      {({ start, end, state }) => {
        const Mark = state === 'active' ? CheckIcon : SYMBOLS[state]
        const isWeekly = frequency === 'weekly'
        const text = `${isWeekly ? format.dateRange(start, end) : format.month(start)}: ${labels.periodState[state]}`
        return (
          <>
            <span className="laurel-day" title={text}>
              {Mark && <Mark />}
            </span>
            <span className="laurel-detail" aria-hidden="true">
              {isWeekly ? format.date(start) : format.month(start, 'short')}
            </span>
            <VisuallyHidden>{text}</VisuallyHidden>
          </>
        )
      }}
    </PeriodList>
  )
}
