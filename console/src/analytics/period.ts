import { useQuery } from '@tanstack/react-query'
import { useAdmin } from '../api/laurel'
import { useSignedIn } from '../session/session-context'

/** Local dates, both included. */
export type Period = { from: string; to: string; days: number }

const DAY = 86_400_000

/** How many days the page shows at first, and how many the interface gives at most. */
export const DEFAULT_DAYS = 30
export const MOST_DAYS = 400

/** The milliseconds between two reads of figures that are shown. They change each minute at most (I1). */
export const FIGURES_AGAIN = 60_000

const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10)
/** Whether a part of an address is a date. */
export const isDate = (text: unknown): text is string =>
  typeof text === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))

/** The date that is `days` before another one. */
export const daysBefore = (date: string, days: number): string => dateOf(Date.parse(date) - days * DAY)

/**
 * The period that an address names: `?days=90` up to today, or `?from=…&to=…`. Anything else is the last 30
 * days. A period that is too long keeps its end.
 */
export function periodOf(search: Readonly<Record<string, unknown>>, today: string): Period {
  const to = isDate(search.to) ? search.to : today
  const wanted = Number(search.days)
  const days = Number.isInteger(wanted) && wanted > 0 ? Math.min(wanted, MOST_DAYS) : DEFAULT_DAYS
  const from = isDate(search.from) && search.from <= to ? search.from : daysBefore(to, days - 1)
  const earliest = daysBefore(to, MOST_DAYS - 1)
  const first = from < earliest ? earliest : from
  return { from: first, to, days: Math.round((Date.parse(to) - Date.parse(first)) / DAY) + 1 }
}

/** The present moment, by the test clock of the server if it has one. Null while that is loading. */
export function useNow(): number | null {
  const admin = useAdmin()
  const { testClock } = useSignedIn()
  const clock = useQuery({
    queryKey: ['test-clock'],
    queryFn: () => admin.testClock.get(),
    enabled: testClock,
  })
  if (!testClock || clock.isError) return Date.now()
  return clock.data === undefined ? null : Date.parse(clock.data.now)
}

/** Today in UTC. Null while that is loading. */
export function useToday(): string | null {
  const now = useNow()
  return now === null ? null : dateOf(now)
}
