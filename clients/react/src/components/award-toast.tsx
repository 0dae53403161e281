'use client'
import { Picture } from '../parts/picture.tsx'
import { ToastRegion } from '../parts/toast-region.tsx'
import { isGain } from '../view/changes.ts'
import type { Change } from '../view/data.ts'
import { toastLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'
import type { CardAttributes } from './card.tsx'
import { ChartIcon, CloseIcon, FlameIcon, LevelIcon, PointsIcon, TrophyIcon } from './icons.tsx'

export interface AwardToastProps extends CardAttributes {
  /** The changes by an event, from `useSendEvent`. The toast is closed while there is none. */
  changes: readonly Change[]
  onDismiss: () => void
  /** Tells this toast from the one before. A new value starts the time again. */
  toastId?: string | number | undefined
  /** Milliseconds until it closes by itself; `Infinity` for never. 8000 by default. */
  duration?: number | undefined
}

/** The most remarkable changes come first. */
const ORDER: Change['type'][] = ['level', 'achievement', 'streak', 'points', 'rank']

const ICONS: Record<Change['type'], typeof FlameIcon> = {
  level: LevelIcon,
  achievement: TrophyIcon,
  streak: FlameIcon,
  points: PointsIcon,
  rank: ChartIcon,
}

/** A message about points, levels, achievements and ranks that a user has just earned. */
export function AwardToast(props: AwardToastProps) {
  const { changes, onDismiss, toastId, duration = 8000, className, id } = props
  const { labels, format, reducedMotion } = useSettings(toastLabels)
  const ordered = changes.filter(isGain).sort((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type))
  const message = ordered.length > 0 && (
    <ul className="laurel-toast-list">
      {ordered.map((change) => (
        <li key={keyOf(change)} data-type={change.type}>
          <span className="laurel-toast-icon">{iconOf(change)}</span>
          <bdi>{labels.change(change, format)}</bdi>
        </li>
      ))}
    </ul>
  )
  return (
    <ToastRegion
      id={id}
      className={`laurel laurel-toast${className === undefined ? '' : ` ${className}`}`}
      data-motion={reducedMotion ? 'reduced' : undefined}
      label={labels.toast}
      message={message || null}
      actions={
        <button type="button" className="laurel-round" aria-label={labels.dismiss} onClick={onDismiss}>
          <CloseIcon />
        </button>
      }
      toastId={toastId ?? ordered.map(keyOf).join()}
      duration={duration}
      onDismiss={onDismiss}
    />
  )
}

function keyOf(change: Change): string {
  if (change.type === 'streak') return `streak ${change.length}`
  if (change.type === 'achievement') return `achievement ${change.achievement.id}`
  if (change.type === 'points') return `points ${change.key} ${change.total}`
  if (change.type === 'level') return `level ${change.key} ${change.level?.key}`
  return `rank ${change.key} ${change.rank}`
}

function iconOf(change: Change) {
  const Icon = ICONS[change.type]
  const badge =
    change.type === 'achievement'
      ? change.achievement.badgeUrl
      : change.type === 'level' && change.level?.badgeUrl
  return <Picture src={badge || null} fallback={<Icon />} />
}
