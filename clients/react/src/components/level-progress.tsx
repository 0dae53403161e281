'use client'
import { Meter } from '../parts/meter.tsx'
import { Picture } from '../parts/picture.tsx'
import type { LevelProgressData, ResourceProps } from '../view/data.ts'
import { levelLabels } from '../view/labels.ts'
import { levelView } from '../view/levels.ts'
import { useSettings } from '../view/settings.tsx'
import { Card, type CardAttributes } from './card.tsx'
import { LevelIcon } from './icons.tsx'

const PLACEHOLDER: LevelProgressData = {
  name: 'Points',
  total: 0,
  levels: [
    { key: 'first', name: 'Level one', points: 0 },
    { key: 'second', name: 'Level two', points: 1000 },
  ],
}

export type LevelProgressProps = ResourceProps<LevelProgressData> & CardAttributes

/** A user's level, and the way to the next one. */
export function LevelProgress({ className, id, ...resource }: LevelProgressProps) {
  const { labels, format } = useSettings(levelLabels)
  return (
    <Card
      {...{ className, id, resource }}
      kind="level-progress"
      label={labels.level}
      placeholder={PLACEHOLDER}
    >
      {({ name: unit, total, levels }) => {
        const { level, next, from, to, remaining } = levelView(total, levels)
        const name = level?.name ?? labels.noLevel
        const top = level === null ? `${format.number(total)} ${unit}` : labels.levelTop
        const goal = next === null ? top : labels.levelNext({ level: next, remaining, unit }, format)
        const text = labels.levelText({ total, goal: to, unit }, format)
        return (
          <div className="laurel-level">
            <span className="laurel-emblem">
              <Picture src={level?.badgeUrl} fallback={<LevelIcon />} />
            </span>
            <span className="laurel-stack">
              <span className="laurel-level-head">
                <strong className="laurel-title laurel-text laurel-truncate" dir="auto" title={name}>
                  {name}
                </strong>
                <span className="laurel-amount laurel-text" title={format.number(total)}>
                  <b>{format.shortNumber(total)}</b>
                </span>
              </span>
              <Meter
                className="laurel-bar"
                label={`${labels.level}: ${name}`}
                value={next === null ? Number(level !== null) : total}
                min={next === null ? 0 : from}
                max={next === null ? 1 : to}
                text={next === null ? goal : `${text}. ${goal}`}
              />
              <span className="laurel-detail laurel-text laurel-truncate" dir="auto" title={goal}>
                {goal}
              </span>
            </span>
          </div>
        )
      }}
    </Card>
  )
}
