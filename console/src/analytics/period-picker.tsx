import { useNavigate } from '@tanstack/react-router'
import { classes } from '../ui/classes'
import { DEFAULT_DAYS, daysBefore, MOST_DAYS, type Period } from './period'

const CHOICES = [
  { days: 7, name: '7 days' },
  { days: 30, name: '30 days' },
  { days: 90, name: '90 days' },
  { days: 365, name: '1 year' },
] as const

/** Chooses the days of the figures of a page. The choice is part of the address. */
export function PeriodPicker({ period: { from, to, days }, today }: { period: Period; today: string }) {
  const navigate = useNavigate()
  const show = (search: Record<string, string | number>) =>
    navigate({
      to: '.',
      search: ({ days: _days, from: _from, to: _to, ...others }: Record<string, unknown>) => ({
        ...others,
        ...search,
      }),
      replace: true,
      resetScroll: false,
    })
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
              onClick={() => show(one === DEFAULT_DAYS ? {} : { days: one })}
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
        <label className="flex items-center gap-2 max-sm:min-w-0 max-sm:flex-1 max-sm:flex-col max-sm:items-stretch max-sm:gap-1">
          <span className="text-quiet">From</span>
          <input
            type="date"
            className="control sm:w-auto!"
            value={from}
            min={daysBefore(to, MOST_DAYS - 1)}
            max={to}
            onChange={({ target: { value } }) => value !== '' && show({ from: value, to })}
          />
        </label>
        <label className="flex items-center gap-2 max-sm:min-w-0 max-sm:flex-1 max-sm:flex-col max-sm:items-stretch max-sm:gap-1">
          <span className="text-quiet">To</span>
          <input
            type="date"
            className="control sm:w-auto!"
            value={to}
            max={today}
            onChange={({ target: { value } }) =>
              value !== '' && show({ from: value < from ? daysBefore(value, days - 1) : from, to: value })
            }
          />
        </label>
      </div>
    </div>
  )
}
