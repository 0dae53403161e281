'use client'
import { Laurel } from '@laurel/client/app'
import {
  AwardToast,
  LaurelProvider,
  Leaderboard,
  LevelProgress,
  PointsCounter,
  StreakCalendar,
  StreakCounter,
  useLeaderboard,
  useLevel,
  usePoints,
  useSendEvent,
  useStreak,
} from '@laurel/react'
import { type ComponentProps, type ReactNode, useActionState, useRef, useState } from 'react'
import { logPages } from './actions'

type StreakOptions = NonNullable<Parameters<typeof useStreak>[0]>
type PointsOptions = NonNullable<Parameters<typeof usePoints>[1]>

/** The data that the server has read for the page, and the time of that. */
interface First {
  streak: StreakOptions['initialData']
  points: PointsOptions['initialData']
  readAt: number
}

interface ProgressProps extends First {
  laurelUrl: string
  userId: string
  timeZone: string
  /** Parts that the server renders. */
  children: ReactNode
}

/** Asks the route `laurel-token` for a token. The client does so again before the token ends. */
async function getToken() {
  const response = await fetch('/laurel-token', { method: 'POST' })
  // The session is over. The server shows the sign-in.
  if (response.status === 401) location.reload()
  if (!response.ok) throw new Error('There is no token.')
  return response.json()
}

/** All that moves: the hooks of `@laurel/react`, and the form that sends events by an action of the server. */
export function Progress({ laurelUrl, userId, timeZone, children, ...first }: ProgressProps) {
  const [client] = useState(() => new Laurel({ url: laurelUrl, apiKey: getToken }))
  return (
    // With the language and the time zone, the server and the browser write the same texts.
    <LaurelProvider client={client} userId={userId} locale="en" timeZone={timeZone}>
      <Boxes {...first}>{children}</Boxes>
    </LaurelProvider>
  )
}

function Boxes({ streak, points, readAt, children }: First & { children: ReactNode }) {
  const streakNow = useStreak({ initialData: streak, initialDataUpdatedAt: readAt })
  const pointsNow = usePoints('reading-points', { initialData: points, initialDataUpdatedAt: readAt })
  const event = useSendEvent()
  return (
    <div className="boxes">
      <div>
        <LogForm {...event} />
        {children}
      </div>
      <div>
        <StreakCounter {...streakNow} />
        <PointsCounter {...pointsNow} />
        <LevelProgress {...useLevel('reading-points')} />
        <StreakCalendar {...streakNow} />
      </div>
      <div>
        <Leaderboard {...useLeaderboard('reading-week', { live: true })} />
      </div>
      <AwardToast {...event} />
    </div>
  )
}

/** The texts that the fields show again after a form was sent. */
interface Fields {
  book?: string
  pages?: string
}

function LogForm({ sendVia, error }: Pick<ReturnType<typeof useSendEvent>, 'sendVia' | 'error'>) {
  // An entry keeps its id until it has arrived. So it counts once, also if the first answer was lost.
  const entry = useRef<string>(undefined)
  const [fields, log, isLogging] = useActionState(async (_: Fields, form: FormData): Promise<Fields> => {
    entry.current ??= crypto.randomUUID()
    form.set('entry', entry.current)
    const book = String(form.get('book'))
    try {
      // The hooks take what the event has changed from Laurel's answer, without another request.
      await sendVia(async () => {
        const logged = await logPages(form).catch(() => ({ error: 'You seem to be offline. Try again.' }))
        if ('error' in logged) throw new Error(logged.error)
        return logged.answer
      })
      entry.current = undefined
      return { book }
    } catch {
      // The hook has the error.
      return { book, pages: String(form.get('pages')) }
    }
  }, {})
  return (
    <form
      className="card"
      action={log}
      onChange={() => {
        entry.current = undefined
      }}
    >
      <h2>What have you read?</h2>
      <Field label="Book" name="book" maxLength={80} defaultValue={fields.book} />
      <Field label="Pages" name="pages" inputMode="numeric" autoComplete="off" defaultValue={fields.pages} />
      {error && <p role="alert">{error.message}</p>}
      <button type="submit" className="button" disabled={isLogging}>
        Write it down
      </button>
    </form>
  )
}

const Field = ({ label, ...input }: { label: string } & ComponentProps<'input'>) => (
  <label>
    {label}
    <input {...input} required />
  </label>
)
