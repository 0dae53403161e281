import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Clock } from 'lucide-react'
import { messageOf } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { Button } from '../ui/button'
import { formatMoment } from '../ui/format'
import { failed } from '../ui/toasts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** From this difference on, the clock does not show real time, in milliseconds. */
const APART = 60_000

type Step = { label: string; to: (now: Date) => number }

/** The steps of the clock. `to` answers the new moment, in milliseconds since 1970. */
const STEPS: readonly Step[] = [
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
    mutationFn: (step: Step | 'real time') =>
      step === 'real time'
        ? admin.testClock.reset()
        : admin.testClock.set({
            now: new Date(step.to(new Date(clock.data?.now ?? Date.now()))).toISOString(),
          }),
    onSuccess: () => queries.invalidateQueries(),
    onError: (error) => failed('The clock was not moved', messageOf(error)),
  })
  const isApart = clock.data !== undefined && Math.abs(Date.parse(clock.data.now) - Date.now()) > APART
  const steps: readonly (Step | 'real time')[] = isApart ? [...STEPS, 'real time'] : STEPS
  return (
    <section
      aria-label="Test clock"
      aria-busy={clock.isPending || move.isPending}
      className="flex flex-wrap items-center justify-center gap-x-4 gap-y-0.5 border-b border-line bg-warning-soft px-3 py-1 text-sm print:hidden"
    >
      <p className="flex items-center gap-1.5">
        <Clock size={14} aria-hidden="true" className="text-warning" />
        Test clock:
        <strong className="min-w-40 font-semibold tabular-nums">
          {move.isPending ? 'moving…' : clock.data ? formatMoment(clock.data.now) : '…'}
        </strong>
      </p>
      <div className="flex flex-wrap justify-center">
        {steps.map((step) => (
          <Button
            key={step === 'real time' ? step : step.label}
            isSmall
            look="quiet"
            className="min-h-7! px-2! text-text! max-sm:px-1! max-sm:text-xs"
            disabled={!clock.data || move.isPending}
            onClick={() => move.mutate(step)}
          >
            {step === 'real time' ? step : step.label}
          </Button>
        ))}
      </div>
    </section>
  )
}
