import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useAdmin } from '../api/laurel'
import { useWrite } from '../resource/writes'
import { Button } from '../ui/button'
import { formatMoment } from '../ui/format'
import { Icon } from '../ui/icon'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** From this difference on, the clock does not show real time, in milliseconds. */
const APART = 60_000

/** The steps of the clock: the new moment, in milliseconds since 1970. Midnight is in the viewer's zone, as the time. */
const STEPS: Readonly<Record<string, (now: Date) => number>> = {
  '+1 hour': (now) => now.getTime() + HOUR,
  '+1 day': (now) => now.getTime() + DAY,
  'next midnight': (now) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime(),
  'next week': (now) => now.getTime() + 7 * DAY,
}

/** Development only: shows the server's clock, and moves it forward. */
export function ClockBar() {
  const admin = useAdmin()
  const clock = useQuery({
    queryKey: ['test-clock'],
    queryFn: () => admin.testClock.get(),
    refetchInterval: ({ state }) => (state.data?.moving === undefined ? 30_000 : 500),
  })
  const moving = clock.data?.moving
  const queries = useQueryClient()
  const wasMoving = useRef(false)
  // What the pages show may be different once the work is done.
  useEffect(() => {
    if (wasMoving.current && moving === undefined) void queries.invalidateQueries()
    wasMoving.current = moving !== undefined
  }, [moving, queries])
  const { begin, isBusy } = useWrite({ path: '', scope: 'test-clock' })
  const move = (step: string) =>
    begin({
      what: 'The test clock',
      did: 'was moved',
      act: ({ testClock }) => {
        const now = STEPS[step]?.(new Date(clock.data?.now ?? Date.now()))
        if (now === undefined) return testClock.reset()
        return testClock.set({ now: new Date(now).toISOString() }, { headers: { prefer: 'respond-async' } })
      },
      show: (queries) => queries.invalidateQueries(),
      isQuiet: true,
    })
  const isApart = clock.data !== undefined && Math.abs(Date.parse(clock.data.now) - Date.now()) > APART
  const steps = [...Object.keys(STEPS), ...(isApart ? ['real time'] : [])]
  return (
    <section
      aria-label="Test clock"
      aria-busy={clock.isPending || isBusy || moving !== undefined}
      className="flex flex-wrap items-center justify-center gap-x-4 gap-y-0.5 border-b border-line bg-warning-soft px-3 py-1 text-sm print:hidden"
    >
      <p className="flex items-center gap-1.5">
        <Icon name="clock" size={14} className="text-warning" />
        Test clock:
        <strong className="min-w-40 font-semibold tabular-nums">
          {isBusy ? 'moving…' : clock.data ? formatMoment(clock.data.now) : '…'}
        </strong>
        {moving !== undefined && (
          <progress aria-label="Work of the move" className="w-24" value={moving.progress} />
        )}
      </p>
      <div className="flex flex-wrap justify-center">
        {steps.map((step) => (
          <Button
            key={step}
            isSmall
            look="quiet"
            className="min-h-7! px-2! text-text! max-sm:px-1! max-sm:text-xs"
            disabled={!clock.data || isBusy}
            onClick={() => move(step)}
          >
            {step}
          </Button>
        ))}
      </div>
    </section>
  )
}
