import { useSearch } from '@tanstack/react-router'
import type { ComponentProps } from 'react'
import { useAddress } from '../ui/address'
import { classes } from '../ui/classes'
import { Skeleton } from '../ui/page'
import { DEFAULT_DAYS, daysBefore, MOST_DAYS, type Period, periodOf, useToday } from './period'

const CHOICES = [
  { days: 7, name: '7 days' },
  { days: 30, name: '30 days' },
  { days: 90, name: '90 days' },
  { days: 365, name: '1 year' },
] as const

/** The period that the address of a page names, with its picker. It is null until the present day is known. */
export function usePeriod() {
  const search: Record<string, unknown> = useSearch({ strict: false })
  const today = useToday()
  if (today === null) return { period: null, picker: <Skeleton className="h-10.5 w-full" /> }
  const period = periodOf(search, today)
  return { period, picker: <PeriodPicker period={period} today={today} /> }
}

/** Chooses the days of the figures of a page. The choice is part of the address. */
function PeriodPicker({ period: { from, to, days }, today }: { period: Period; today: string }) {
  const { show } = useAddress()
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
      <fieldset className="flex gap-1 rounded-md border border-line bg-surface p-1 shadow-card max-sm:w-full">
        <legend className="sr-only">Period</legend>
        {CHOICES.map(({ days: one, name }) => {
          const isChosen = to === today && days === one
          return (
            <button
              key={one}
              type="button"
              aria-pressed={isChosen}
              onClick={() => show({ days: one === DEFAULT_DAYS ? '' : one, from: '', to: '' })}
              className={classes(
                'min-h-7 rounded-sm px-3 text-sm font-medium whitespace-nowrap max-sm:flex-1 pointer-coarse:min-h-9',
                isChosen ? 'bg-accent-soft text-accent' : 'text-quiet hover:bg-hover hover:text-text',
              )}
            >
              {name}
            </button>
          )
        })}
      </fieldset>
      <div className="flex items-center gap-2 text-sm max-sm:w-full">
        <DateField
          label="From"
          value={from}
          min={daysBefore(to, MOST_DAYS - 1)}
          max={to}
          onPick={(value) => show({ days: '', from: value, to })}
        />
        <DateField
          label="To"
          value={to}
          max={today}
          onPick={(value) =>
            show({ days: '', from: value < from ? daysBefore(value, days - 1) : from, to: value })
          }
        />
      </div>
    </div>
  )
}

const DateField = ({
  label,
  onPick,
  ...props
}: ComponentProps<'input'> & { label: string; onPick: (date: string) => void }) => (
  <label className="flex items-center gap-2 max-sm:min-w-0 max-sm:flex-1 max-sm:flex-col max-sm:items-stretch max-sm:gap-1">
    <span className="text-quiet">{label}</span>
    <input
      type="date"
      className="control sm:w-auto!"
      {...props}
      onChange={({ target: { value } }) => value !== '' && onPick(value)}
    />
  </label>
)
