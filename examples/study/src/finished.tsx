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
  switch (gain.type) {
    case 'points':
      return (
        <li>
          <Art name="xp" size={40} />
          <strong>+{gain.added} XP</strong>
        </li>
      )
    case 'streak':
      return (
        <li>
          <Art name="streak" size={40} />
          <strong>{gain.length === 1 ? 'Your streak has begun' : `${gain.length} days in a row`}</strong>
        </li>
      )
    case 'achievement':
      return (
        <li>
          <Art name={gain.achievement.key ?? 'xp'} size={40} />
          <span className="texts">
            <strong>{gain.achievement.name}</strong>
            <span className="about">{gain.achievement.description}</span>
          </span>
        </li>
      )
    case 'rank':
      return (
        <li>
          <Art name="rank" size={40} />
          <strong>
            Number {gain.rank} in “{gain.name}”
          </strong>
        </li>
      )
    case 'level':
      return (
        <li>
          <Art name="level" size={40} />
          <strong>New level: {gain.level?.name}</strong>
        </li>
      )
  }
}
