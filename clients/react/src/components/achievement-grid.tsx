'use client'
import { useId } from 'react'
import { Meter } from '../parts/meter.tsx'
import { Picture } from '../parts/picture.tsx'
import { VisuallyHidden } from '../parts/visually-hidden.tsx'
import type { AchievementData, ResourceProps } from '../view/data.ts'
import type { Format } from '../view/format.ts'
import { achievementLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'
import { Card, type CardAttributes } from './card.tsx'
import { CheckIcon, LockIcon, TrophyIcon } from './icons.tsx'

export interface AchievementGridProps extends ResourceProps<readonly AchievementData[]>, CardAttributes {
  /** Grey tiles while achievements are loading. */
  placeholderTiles?: number | undefined
}

const placeholderOf = (tiles: number): AchievementData[] =>
  Array.from({ length: tiles }, (_, index) => ({
    id: `${index}`,
    name: 'Achievement',
    description: 'The condition of it',
    achievedAt: '2026-01-01T00:00:00.000Z',
    rarity: 0,
  }))

/** The achievements of a user, completed or not. */
export function AchievementGrid(props: AchievementGridProps) {
  const { className, id, placeholderTiles = 4, ...resource } = props
  const { labels, format } = useSettings(achievementLabels)
  const title = useId()
  return (
    <Card
      {...{ className, id, resource }}
      kind="achievement-grid"
      label={labels.achievements}
      placeholder={placeholderOf(placeholderTiles)}
    >
      {(achievements) => {
        const done = achievements.filter(({ achievedAt }) => achievedAt !== null).length
        return (
          <>
            <div className="laurel-head">
              <span id={title} className="laurel-title laurel-text">
                {labels.achievements}
              </span>
              {achievements.length > 0 && (
                <span className="laurel-detail laurel-text">
                  {labels.achievementsDone({ done, all: achievements.length }, format)}
                </span>
              )}
            </div>
            {achievements.length === 0 ? (
              <p className="laurel-empty">
                <TrophyIcon />
                {labels.noAchievements}
              </p>
            ) : (
              <ul className="laurel-tiles" aria-labelledby={title}>
                {achievements.map((achievement) => (
                  <Tile key={achievement.id} achievement={achievement} />
                ))}
              </ul>
            )}
          </>
        )
      }}
    </Card>
  )
}

/** A whole percentage. Only exactly 0 is shown as 0 %, and only exactly 100 as 100 %. */
function rarityOf(rarity: number, { percent }: Format): string {
  if (rarity > 0 && rarity < 1) return `<\u00a0${percent(1)}`
  return percent(rarity < 100 ? Math.min(99, Math.round(rarity)) : 100)
}

function Tile({ achievement }: { achievement: AchievementData }) {
  const { name, description, badgeUrl, achievedAt, rarity, progress } = achievement
  const { labels, format } = useSettings(achievementLabels)
  const isDone = achievedAt !== null
  return (
    <li className="laurel-tile" data-done={isDone || undefined}>
      <span className="laurel-badge">
        <Picture src={badgeUrl} fallback={<TrophyIcon />} />
        <span className="laurel-mark">{isDone ? <CheckIcon /> : <LockIcon />}</span>
      </span>
      <span className="laurel-tile-name laurel-text" title={name}>
        <bdi>{name}</bdi>
      </span>
      {description && (
        <span className="laurel-tile-description laurel-text" title={description}>
          <bdi>{description}</bdi>
        </span>
      )}
      <span className="laurel-tile-foot">
        {!isDone && progress !== undefined ? (
          <>
            <Meter
              className="laurel-bar"
              label={name}
              value={progress.value}
              max={progress.goal}
              text={`${format.number(progress.value)} / ${format.number(progress.goal)}`}
            />
            <span className="laurel-detail" aria-hidden="true">
              {format.shortNumber(progress.value)} / {format.shortNumber(progress.goal)}
            </span>
          </>
        ) : (
          <span className="laurel-detail laurel-text">
            <VisuallyHidden>{isDone ? labels.achieved : labels.notAchieved} </VisuallyHidden>
            {isDone && format.instant(achievedAt)}
          </span>
        )}
        {rarity !== undefined && (
          <span className="laurel-detail laurel-text">
            {labels.rarity({ percent: rarityOf(rarity, format) })}
          </span>
        )}
      </span>
    </li>
  )
}
