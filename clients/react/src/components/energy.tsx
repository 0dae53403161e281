'use client'
import { Countdown } from '../parts/countdown.tsx'
import { Meter } from '../parts/meter.tsx'
import { Picture } from '../parts/picture.tsx'
import type { EnergyData, ResourceProps } from '../view/data.ts'
import { timeSpan } from '../view/energy.ts'
import { energyLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'
import { Card, type CardAttributes } from './card.tsx'
import { BoltIcon } from './icons.tsx'

const PLACEHOLDER: EnergyData = { name: 'Energy', total: 5, maxPoints: 5 }

/** The most points that are drawn one by one. More points are drawn as a bar. */
const MOST_SEGMENTS = 12

export type EnergyProps = ResourceProps<EnergyData> & CardAttributes

/** Points that grow with time, up to a maximum, with the time of the next gain. */
export function Energy({ className, id, ...resource }: EnergyProps) {
  const { labels, format } = useSettings(energyLabels)
  return (
    <Card
      {...{ className, id, resource }}
      kind="energy"
      label={resource.data?.name}
      placeholder={PLACEHOLDER}
    >
      {({ name, total, maxPoints, badgeUrl, nextAt, nextPoints, clockAhead }) => {
        const isFull = total >= maxPoints
        const hasNext = !isFull && nextAt && nextPoints !== undefined
        return (
          <div className="laurel-level">
            <span className="laurel-emblem">
              <Picture src={badgeUrl} fallback={<BoltIcon />} />
            </span>
            <span className="laurel-stack">
              <span className="laurel-level-head">
                <strong className="laurel-title laurel-text laurel-truncate" dir="auto" title={name}>
                  {name}
                </strong>
                <span className="laurel-amount laurel-text">
                  <b>{format.shortNumber(total)}</b> / {format.shortNumber(maxPoints)}
                </span>
              </span>
              <Meter
                role="meter"
                className="laurel-bar"
                label={name}
                value={total}
                max={maxPoints}
                text={labels.energyText({ total, max: maxPoints }, format)}
              >
                {maxPoints <= MOST_SEGMENTS
                  ? Array.from({ length: maxPoints }, (_, index) => (
                      // biome-ignore lint/suspicious/noArrayIndexKey: points differ only by place.
                      <span key={index} data-part="segment" data-filled={index < total || undefined} />
                    ))
                  : undefined}
              </Meter>
              <span className="laurel-detail laurel-text">
                {isFull && labels.energyFull}
                {hasNext && (
                  <Countdown until={nextAt} clockAhead={clockAhead}>
                    {(seconds) =>
                      labels.energyNext(
                        { points: nextPoints, time: seconds === null ? '–' : timeSpan(seconds, format) },
                        format,
                      )
                    }
                  </Countdown>
                )}
                {!isFull && !hasNext && '\u00a0'}
              </span>
            </span>
          </div>
        )
      }}
    </Card>
  )
}
