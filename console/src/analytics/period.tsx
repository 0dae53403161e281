import { useQuery } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import { useLaurel } from '../api/laurel'
import { useSignedIn } from '../session/session-context'
import { useAddress } from '../ui/address'
import { classes } from '../ui/classes'
import { TypedInput } from '../ui/labelled'
import { Skeleton } from '../ui/page'

/** Local dates, both included. */
type Period = { from: string; to: string; days: number }

/** A day in milliseconds. */
export const DAY = 86_400_000

/** How many days the page shows at first, and how many the interface gives at most. */
const DEFAULT_DAYS = 30
const MOST_DAYS = 400

/** The milliseconds between two reads of figures that are shown. They change each minute at most (I1). */
export const FIGURES_AGAIN = 60_000

const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10)
/** Returns true if a part of an address is a date, such as 2026-01-31. Browsers read 2026-02-30 as 2 March. */
export const isDate = (text: unknown): text is string =>
  typeof text === 'string' && /^(?!0000)\d{4}-/.test(text) && new Date(text).toJSON()?.slice(0, 10) === text

/** The date that is `days` before another one. */
export const daysBefore = (date: string, days: number): string => dateOf(Date.parse(date) - days * DAY)

/**
 * The period that an address names: `?days=90` up to today, or `?from=…&to=…`. Anything else is the last 30
 * days. A period that is too long keeps its end.
 */
function periodOf(search: Readonly<Record<string, unknown>>, today: string): Period {
  const to = isDate(search.to) ? search.to : today
  const wanted = Number(search.days)
  const days = Number.isInteger(wanted) && wanted > 0 ? Math.min(wanted, MOST_DAYS) : DEFAULT_DAYS
  const from = isDate(search.from) && search.from <= to ? search.from : daysBefore(to, days - 1)
  const earliest = daysBefore(to, MOST_DAYS - 1)
  const first = from < earliest ? earliest : from
  return { from: first, to, days: Math.round((Date.parse(to) - Date.parse(first)) / DAY) + 1 }
}

/** The present moment by the clock of the server, or its test clock. Null while that is loading. */
export function useNow(): number | null {
  const laurel = useLaurel()
  const { testClock } = useSignedIn()
  const clock = useQuery({
    queryKey: ['test-clock'],
    queryFn: () => laurel.admin.testClock.get(),
    enabled: testClock,
  })
  if (!testClock || clock.isError) return laurel.now()
  return clock.data === undefined ? null : Date.parse(clock.data.now)
}

/** Today in UTC. Null while that is loading. */
export function useToday(): string | null {
  const now = useNow()
  return now === null ? null : dateOf(now)
}

const CHOICES = [
  { days: 7, name: '7 days' },
  { days: 30, name: '30 days' },
  { days: 90, name: '90 days' },
  { days: 365, name: '1 year' },
] as const

/** The period that the address of a page names, with its picker. It is null until the present day is known. */
export function usePeriod() {
  const { search } = useAddress()
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
}: Omit<ComponentProps<typeof TypedInput>, 'onType'> & { label: string; onPick: (date: string) => void }) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: it has a field.
  <label className="flex items-center gap-2 max-sm:min-w-0 max-sm:flex-1 max-sm:flex-col max-sm:items-stretch max-sm:gap-1">
    <span className="text-quiet">{label}</span>
    {/* While a year is typed, it begins with zeros. */}
    <TypedInput
      type="date"
      className="sm:w-auto!"
      {...props}
      onType={(date) => date >= '1' && onPick(date)}
    />
  </label>
)
