import { connection } from 'next/server'
import { Suspense } from 'react'
import { isNotFound, LAUREL_URL, laurel } from '@/lib/laurel'
import { signedInUser } from '@/lib/session'
import { signOut } from './actions'
import { Diary } from './diary'
import { Progress } from './progress'
import { SignIn } from './sign-in'

export default function Page() {
  return (
    <>
      <header>
        <p className="brand">Nightstand</p>
        <p>A page a day keeps the streak alive.</p>
      </header>
      <Suspense fallback={<main aria-busy="true" />}>
        <Home />
      </Suspense>
    </>
  )
}

/** The sign-in, or all that the user has. The server reads it, so that the page is complete when it arrives. */
async function Home() {
  // Nothing below is rendered in advance: it needs the user, and the time.
  await connection()
  const userId = await signedInUser()
  const read = userId === null ? null : await readOf(userId)
  if (read === null)
    return (
      <main className="narrow">
        <SignIn />
      </main>
    )
  const { user, ...first } = read
  const timeZone = user.tz ?? 'UTC'
  return (
    <main>
      <div className="bar">
        <h1>Hello, {user.name}</h1>
        <form action={signOut}>
          <button type="submit" className="quiet button">
            Sign out
          </button>
        </form>
      </div>
      {/* The key gives another user new components, without what the one before has entered. */}
      <Progress key={user.id} laurelUrl={LAUREL_URL} userId={user.id} timeZone={timeZone} {...first}>
        <Diary userId={user.id} timeZone={timeZone} />
      </Progress>
    </main>
  )
}

/** The first data of the hooks, or null if the user was erased. */
async function readOf(userId: string) {
  const readAt = Date.now()
  try {
    const [user, streak, points] = await Promise.all([
      laurel.users.get(userId),
      laurel.users.streak(userId, { historyPeriods: 60 }),
      laurel.users.points.get(userId, 'reading-points'),
    ])
    return { user, streak, points, readAt }
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}
