'use client'
import { useState } from 'react'
import { CountUp } from '../parts/count-up.tsx'
import { Picture } from '../parts/picture.tsx'
import type { PointsData, ResourceProps } from '../view/data.ts'
import { useSettings } from '../view/settings.tsx'
import { Card, type CardAttributes } from './card.tsx'
import { PointsIcon } from './icons.tsx'

const PLACEHOLDER: PointsData = { name: 'Points', total: 1000 }

export type PointsCounterProps = ResourceProps<PointsData> & CardAttributes

/** A user's points in one points system. A new total counts up, and the gain appears for a moment. */
export function PointsCounter({ className, id, ...resource }: PointsCounterProps) {
  return (
    <Card
      {...{ className, id, resource }}
      kind="points-counter"
      label={resource.data?.name}
      placeholder={PLACEHOLDER}
    >
      {(points) => <Points points={points} />}
    </Card>
  )
}

function Points({ points: { name, total, badgeUrl } }: { points: PointsData }) {
  const { format } = useSettings({})
  const [seen, setSeen] = useState({ name, total, gain: 0 })
  if (seen.name !== name) setSeen({ name, total, gain: 0 })
  else if (seen.total !== total) setSeen({ name, total, gain: total - seen.total })
  return (
    <div className="laurel-points">
      <span className="laurel-emblem">
        <Picture src={badgeUrl} fallback={<PointsIcon />} />
      </span>
      <span className="laurel-stack">
        <strong className="laurel-figure laurel-text" title={format.number(total)}>
          <CountUp value={total} format={format.shortNumber} text={format.number(total)} />
        </strong>
        <span className="laurel-unit laurel-text laurel-truncate" dir="auto" title={name}>
          {name}
        </span>
      </span>
      {seen.gain !== 0 && (
        <span key={total} className="laurel-gain" data-loss={seen.gain < 0 || undefined} aria-hidden="true">
          {format.signed(seen.gain)}
        </span>
      )}
    </div>
  )
}
