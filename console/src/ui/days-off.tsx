import type { ReactNode } from 'react'
import { Toggle } from './button'
import { weekdayName } from './format'
import { Fault } from './page'

const WEEK = [1, 2, 3, 4, 5, 6, 0] as const

/** The names of days of the week (0 is Sunday), from Monday, with commas. It is empty without days. */
export const weekdaysInWords = (days: readonly number[]): string =>
  WEEK.filter((day) => days.includes(day))
    .map(weekdayName)
    .join(', ')

type DaysOffProps = {
  /** From 0 (Sunday) to 6. Null shows no switches. */
  days: readonly number[] | null
  onChange: (days: number[]) => void
  /** The error of these days, if they have one. */
  message: string | undefined
  /** Stands above the switches. */
  children?: ReactNode
}

/** Seven switches for the days off of a streak, from Monday. */
export function DaysOff({ days, onChange, message, children }: DaysOffProps) {
  return (
    <fieldset className="flex max-w-xl flex-col gap-2">
      <legend className="mb-1.5 font-medium">Days off</legend>
      <p className="text-sm text-quiet">A day off without activity keeps the streak and uses no freeze.</p>
      {children}
      {days !== null && (
        <div className="mt-1 grid grid-cols-2 gap-x-6 gap-y-2 sm:grid-cols-4">
          {WEEK.map((day) => (
            <Toggle
              key={day}
              label={weekdayName(day)}
              checked={days.includes(day)}
              onChange={({ target }) =>
                onChange(target.checked ? [...days, day].sort() : days.filter((one) => one !== day))
              }
            />
          ))}
        </div>
      )}
      <Fault>{message}</Fault>
    </fieldset>
  )
}
