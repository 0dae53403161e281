import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { messageOf } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { Button } from '../ui/button'
import { formatMoment } from '../ui/format'
import { failed } from '../ui/toasts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The steps of the clock. `to` answers the new moment, in milliseconds since 1970. */
const STEPS: readonly { label: string; to: (now: Date) => number }[] = [
  { label: '+1 hour', to: (now) => now.getTime() + HOUR },
  { label: '+1 day', to: (now) => now.getTime() + DAY },
  // In the viewer's zone, as the time is shown.
  {
    label: 'next midnight',
    to: (now) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime(),
  },
  { label: 'next week', to: (now) => now.getTime() + 7 * DAY },
]

/** Development only: shows the server's clock, and moves it forward. */
export function ClockBar() {
  const admin = useAdmin()
  const queries = useQueryClient()
  const clock = useQuery({
    queryKey: ['test-clock'],
    queryFn: () => admin.testClock.get(),
    refetchInterval: 30_000,
  })
  const move = useMutation({
    mutationFn: (to: (now: Date) => number) =>
      admin.testClock.set({ now: new Date(to(new Date(clock.data?.now ?? Date.now()))).toISOString() }),
    onSuccess: () => queries.invalidateQueries(),
    onError: (error) => failed('The clock was not moved', messageOf(error)),
  })
  return (
    <section
      aria-label="Test clock"
      aria-busy={clock.isPending || move.isPending}
      className="flex flex-wrap items-center justify-center gap-x-4 gap-y-1 border-b border-line bg-warning-soft px-4 py-1.5 text-sm"
    >
      <p>
        Test clock:{' '}
        <strong className="tabular-nums">{clock.data ? formatMoment(clock.data.now) : '…'}</strong>
      </p>
      <div className="flex flex-wrap gap-1">
        {STEPS.map(({ label, to }) => (
          <Button
            key={label}
            isSmall
            look="quiet"
            className="text-text!"
            disabled={!clock.data || move.isPending}
            onClick={() => move.mutate(to)}
          >
            {label}
          </Button>
        ))}
      </div>
    </section>
  )
}
