import type { LevelData, LevelProgressData, LevelView } from '@laurel/react'
import { Meter } from '@laurel/react/parts'
import { type CSSProperties, useEffect, useRef } from 'react'

/** The badge of a level: a planet with as many moons as there are levels below. */
export function LevelBadge({ rank, size }: { rank: number; size: number }) {
  return (
    <svg viewBox="0 0 64 64" width={size} height={size} aria-hidden="true">
      <circle cx="32" cy="32" r="30" fill="#312e81" />
      <circle cx="32" cy="32" r="15" fill="#fbbf24" />
      <path d="M32 17a15 15 0 0 1 0 30 22 22 0 0 0 0-30z" fill="#f59e0b" />
      <circle cx="32" cy="32" r="23" fill="none" stroke="#a5b4fc" strokeWidth="1.5" strokeDasharray="2 3" />
      {Array.from({ length: rank }, (_, moon) => {
        const angle = (moon / Math.max(rank, 1)) * 2 * Math.PI - Math.PI / 2
        const [x, y] = [32 + 23 * Math.cos(angle), 32 + 23 * Math.sin(angle)]
        return <circle key={angle} cx={x} cy={y} r="4.5" fill="#e0e7ff" stroke="#312e81" strokeWidth="1.5" />
      })}
    </svg>
  )
}

/** The level as a ring that fills up until the next one. */
export function LevelRing({ total, levels, level, next, remaining, ratio }: LevelProgressData & LevelView) {
  const rank = levels.filter(({ points }) => points < (level?.points ?? 0)).length
  const goal = next === null ? 'The highest level' : `${remaining} XP to ${next.name}`
  return (
    <div className="level">
      <Meter
        className="ring"
        label={`Level: ${level?.name ?? 'none yet'}`}
        text={goal}
        value={ratio}
        max={1}
      />
      <LevelBadge rank={rank} size={96} />
      <p>
        <strong>{level?.name}</strong> <span>{total} XP</span>
        <small>{goal}</small>
      </p>
    </div>
  )
}

/** The moment of a new level. The browser keeps the focus in it, and Escape closes it. */
export function LevelUp({ level, rank, onClose }: { level: LevelData; rank: number; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="level-up" aria-labelledby="level-up" onClose={onClose}>
      <div className="confetti" aria-hidden="true">
        {Array.from({ length: 28 }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces differ in nothing but their place.
          <i key={index} style={{ '--index': index } as CSSProperties} />
        ))}
      </div>
      <LevelBadge rank={rank} size={144} />
      <p>Level up</p>
      <h2 id="level-up">
        You are {/^[aeiou]/i.test(level.name) ? 'an' : 'a'} {level.name} now
      </h2>
      <form method="dialog">
        <button type="submit" className="button">
          Continue
        </button>
      </form>
    </dialog>
  )
}
