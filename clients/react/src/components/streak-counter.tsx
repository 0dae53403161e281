'use client'
import { CountUp } from '../parts/count-up.tsx'
import type { ResourceProps, StreakData } from '../view/data.ts'
import { streakLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'
import { streakState } from '../view/streak.ts'
import { Card, type CardAttributes } from './card.tsx'
import { FlameIcon, FreezeIcon } from './icons.tsx'

const PLACEHOLDER: StreakData = {
  length: 10,
  frequency: 'daily',
  started: '2026-01-01',
  periodStart: '2026-01-10',
  periodEnd: '2026-01-10',
  expires: '2026-01-11',
}

/** More freezes than this are shown as a number, with one symbol. */
const MOST_SYMBOLS = 5

/** The length of a user's streak, until when it is safe, and the freezes. */
export function StreakCounter({ className, id, ...resource }: ResourceProps<StreakData> & CardAttributes) {
  const { labels, format } = useSettings(streakLabels)
  return (
    <Card
      {...{ className, id, resource }}
      kind="streak-counter"
      label={labels.streak}
      placeholder={PLACEHOLDER}
    >
      {(streak) => {
        const state = streakState(streak)
        return (
          <div className="laurel-streak" data-streak={state}>
            <span className="laurel-flame">
              <FlameIcon />
            </span>
            <span className="laurel-stack">
              <span className="laurel-line">
                <strong className="laurel-figure laurel-text" title={format.number(streak.length)}>
                  <CountUp
                    value={streak.length}
                    format={format.shortNumber}
                    text={format.number(streak.length)}
                  />
                </strong>{' '}
                <span className="laurel-unit laurel-text">{labels.streakUnit(streak, format)}</span>
              </span>
              <span className="laurel-detail laurel-text">
                {labels.streakState({ state, expires: streak.expires }, format)}
              </span>
            </span>
            {streak.freezes !== undefined && <Freezes count={streak.freezes} max={streak.maxFreezes} />}
          </div>
        )
      }}
    </Card>
  )
}

function Freezes({ count, max }: { count: number; max: number | undefined }) {
  const { labels, format } = useSettings(streakLabels)
  const symbols = Math.max(count, max ?? 0)
  const text = labels.freezes({ count, max }, format)
  return (
    <span className="laurel-freezes">
      <span className="laurel-freeze-symbols" aria-hidden="true">
        {Array.from({ length: symbols <= MOST_SYMBOLS ? symbols : 1 }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: symbols differ in nothing but their place.
          <span key={index} className="laurel-freeze" data-held={index < count || undefined}>
            <FreezeIcon />
          </span>
        ))}
      </span>
      <span className="laurel-detail">{text}</span>
    </span>
  )
}
