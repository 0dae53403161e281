import { Laurel } from '@laurel/client/app'
import { LaurelProvider } from '@laurel/react'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { getLaurelToken, getSession, type Session, SIGNED_OUT, signOut } from './api.ts'
import { Home } from './home.tsx'
import { LessonPage } from './lesson.tsx'
import { LESSONS } from './lessons.ts'
import { Failure, Sky } from './parts.tsx'
import { SignIn } from './sign-in.tsx'

type State =
  | { step: 'loading' }
  | { step: 'failed'; error: Error }
  | { step: 'ready'; session: Session | null }

export function App() {
  const [state, setState] = useState<State>({ step: 'loading' })
  const load = () => {
    setState({ step: 'loading' })
    getSession().then(
      (session) => setState({ step: 'ready', session }),
      (error) => setState({ step: 'failed', error }),
    )
  }
  useEffect(load, [])
  useEffect(() => {
    const leave = () => setState({ step: 'ready', session: null })
    addEventListener(SIGNED_OUT, leave)
    return () => removeEventListener(SIGNED_OUT, leave)
  }, [])

  if (state.step === 'loading') return <Sky />
  if (state.step === 'failed')
    return (
      <Sky>
        <main className="sheet">
          <Failure error={state.error} retry={load} />
        </main>
      </Sky>
    )
  const setSession = (session: Session | null) => setState({ step: 'ready', session })
  if (state.session === null) return <SignIn onSignedIn={setSession} />
  return <SignedIn session={state.session} onSignedOut={() => setSession(null)} />
}

/** The part of the address after `#`, so that the buttons of the browser work. */
const useHash = () =>
  useSyncExternalStore(
    (onChange) => {
      addEventListener('hashchange', onChange)
      return () => removeEventListener('hashchange', onChange)
    },
    () => location.hash,
  )

function SignedIn({ session, onSignedOut }: { session: Session; onSignedOut: () => void }) {
  const { userId, laurelUrl } = session
  const client = useMemo(() => new Laurel({ url: laurelUrl, apiKey: getLaurelToken }), [laurelUrl])
  const hash = useHash()
  const lesson = LESSONS.find(({ id }) => hash === `#/lessons/${id}`)
  const leave = async () => {
    await signOut()
    location.hash = ''
    onSignedOut()
  }
  return (
    <LaurelProvider
      client={client}
      userId={userId}
      timeZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
    >
      {lesson === undefined ? <Home onSignOut={leave} /> : <LessonPage key={lesson.id} lesson={lesson} />}
    </LaurelProvider>
  )
}
