import { type Change, isGain, useLevel } from '@laurel/react'
import { useState } from 'react'
import type { Lesson } from './lessons.ts'
import { LevelUp } from './level.tsx'
import { isOurs } from './ours.ts'
import { Art, PageTitle } from './parts.tsx'

interface FinishedProps {
  lesson: Lesson
  answers: readonly number[]
  /** All that the lesson has changed. */
  changes: readonly Change[]
}

/** The end of a lesson: what it brought, and the moment of a new level. */
export function Finished({ lesson, answers, changes }: FinishedProps) {
  const { title, questions } = lesson
  const right = questions.filter((question, index) => question.right === answers[index]).length
  const gains = changes.filter((change) => isGain(change) && isOurs(keyOf(change)))
  const level = gains.find((gain) => gain.type === 'level')?.level ?? null
  const { levels } = useLevel('study-xp').data ?? {}
  const [isCelebrated, setCelebrated] = useState(false)
  return (
    <section className="finished">
      <Art name={lesson.id} size={112} />
      <PageTitle title={title}>{right === questions.length ? 'Clear sky!' : 'Lesson finished'}</PageTitle>
      <p>
        {right} of {questions.length} answers were right.
      </p>
      {gains.length === 0 && <p>This lesson counts once a day. Come back tomorrow for more XP.</p>}
      <ul className="gains">
        {gains.map((gain) => (
          <Gain key={`${gain.type} ${keyOf(gain)}`} gain={gain} />
        ))}
      </ul>
      <a href="#/" className="button">
        Back to the lessons
      </a>
      {level !== null && !isCelebrated && (
        <LevelUp
          level={level}
          rank={levels?.filter(({ points }) => points < level.points).length ?? 1}
          onClose={() => setCelebrated(true)}
        />
      )}
    </section>
  )
}

/** The key of what has changed. The streak is the user's own. */
function keyOf(change: Change) {
  if (change.type === 'streak') return 'study-streak'
  return change.type === 'achievement' ? change.achievement.key : change.key
}

function Gain({ gain }: { gain: Change }) {
  const { art, text, about } = wordsOf(gain)
  return (
    <li>
      <Art name={art} size={40} />
      <span className="texts">
        <strong>{text}</strong>
        {about && <span className="about">{about}</span>}
      </span>
    </li>
  )
}

/** A picture and the words for a change. */
function wordsOf(gain: Change): { art: string; text: string; about?: string | null } {
  switch (gain.type) {
    case 'points':
      return { art: 'xp', text: `+${gain.added} XP` }
    case 'streak':
      return {
        art: 'streak',
        text: gain.length === 1 ? 'Your streak has begun' : `${gain.length} days in a row`,
      }
    case 'achievement': {
      const { key, name, description } = gain.achievement
      return { art: key ?? 'xp', text: name, about: description }
    }
    case 'rank':
      return { art: 'rank', text: `Number ${gain.rank} in “${gain.name}”` }
    case 'level':
      return { art: 'level', text: `New level: ${gain.level?.name}` }
  }
}
