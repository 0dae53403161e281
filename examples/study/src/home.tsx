import {
  AchievementGrid,
  Leaderboard,
  periodViews,
  StreakCounter,
  streakState,
  useAchievements,
  useLeaderboard,
  useLevel,
  useStreak,
  useUser,
} from '@laurel/react'
import { useEffect, useState } from 'react'
import { getFinishedToday } from './api.ts'
import { LESSONS, type Lesson } from './lessons.ts'
import { LevelRing } from './level.tsx'
import { isOurs } from './ours.ts'
import { Art, Failure, PageTitle } from './parts.tsx'

export function Home({ onSignOut }: { onSignOut: () => Promise<void> }) {
  const streak = useStreak({ periods: 7 })
  const board = useLeaderboard('study-week', { live: true })
  const [error, setError] = useState<Error | null>(null)
  const signOut = () => {
    setError(null)
    onSignOut().catch(setError)
  }
  return (
    <div className="page">
      <header className="bar">
        <span className="brand">
          <Art name="logo" size={36} />
          Stargazer
        </span>
        <button type="button" className="quiet button" onClick={signOut}>
          Sign out
        </button>
      </header>
      {error && <Failure error={error} retry={signOut} />}
      <main className="home">
        <Welcome />
        <Lessons />
        <aside aria-label="You and others">
          <StreakCounter {...streak} />
          <Leaderboard {...board} maxHeight="26rem" />
        </aside>
        <Achievements />
      </main>
    </div>
  )
}

/** Greets the user, and says what to do today. */
function Welcome() {
  const user = useUser().data
  const streak = useStreak({ periods: 7 }).data
  const level = useLevel('study-xp')
  const state = streak === undefined ? 'none' : streakState(streak)
  return (
    <section className="welcome">
      <div>
        <PageTitle title="">{user?.name ? `Hello, ${user.name}` : 'Hello'}</PageTitle>
        <p>
          {state === 'safe' && 'Today counts. Come back tomorrow, or go on now.'}
          {state === 'open' && `Finish a lesson today, and your streak is ${(streak?.length ?? 0) + 1} days.`}
          {state === 'none' && 'Finish a lesson today, and your streak begins.'}
        </p>
        <ol className="week" aria-label="Your last seven days">
          {periodViews(streak?.streakHistory ?? []).map(({ start, state, isCurrent }) => (
            <li key={start} data-state={state} data-current={isCurrent || undefined}>
              <span aria-hidden="true">{weekdayOf(start, 'narrow')}</span>
              <span className="hidden">
                {weekdayOf(start, 'long')}: {DAYS[state] ?? 'no lesson'}
              </span>
            </li>
          ))}
        </ol>
      </div>
      {level.data ? <LevelRing {...level.data} /> : <div className="ring" />}
    </section>
  )
}

/** The words for the days of a streak. */
const DAYS: Record<string, string> = {
  active: 'lesson finished',
  frozen: 'saved by a freeze',
  paused: 'paused',
  open: 'still open',
}

const weekdayOf = (date: string, weekday: 'narrow' | 'long') =>
  new Date(`${date}T00:00:00Z`).toLocaleDateString('en', { weekday, timeZone: 'UTC' })

function Lessons() {
  const [finished, setFinished] = useState<readonly string[]>([])
  const [error, setError] = useState<Error | null>(null)
  const load = () => {
    setError(null)
    getFinishedToday().then(setFinished, setError)
  }
  useEffect(load, [])
  return (
    <section className="lessons" aria-labelledby="lessons">
      <h2 id="lessons">Today's lessons</h2>
      {error && <Failure error={error} retry={load} />}
      <ul>
        {LESSONS.map((lesson) => (
          <LessonCard key={lesson.id} lesson={lesson} isFinished={finished.includes(lesson.id)} />
        ))}
      </ul>
    </section>
  )
}

function LessonCard({ lesson, isFinished }: { lesson: Lesson; isFinished: boolean }) {
  const { id, title, about } = lesson
  return (
    <li>
      <a href={`#/lessons/${id}`} data-finished={isFinished || undefined}>
        <Art name={id} size={56} />
        <span className="texts">
          <strong>{title}</strong>
          <span className="about">{about}</span>
        </span>
        <span className="tag">{isFinished ? 'Done today' : 'Up to 15 XP'}</span>
      </a>
    </li>
  )
}

function Achievements() {
  const { data, ...rest } = useAchievements()
  const own = data?.filter(({ key }) => isOurs(key))
  // The pictures are files of this app.
  return <AchievementGrid {...rest} data={own?.map((one) => ({ ...one, badgeUrl: `/art/${one.key}.svg` }))} />
}
