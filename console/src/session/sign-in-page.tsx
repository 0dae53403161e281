import { type FormEvent, useEffect, useState } from 'react'
import { isKeyRefused, messageOf } from '../api/errors'
import { clientOf } from '../api/laurel'
import icon from '../app/icon.svg'
import { Button } from '../ui/button'
import { Notice } from '../ui/page'
import type { Session } from './session'
import { useSession, useSessionState } from './session-context'

/** Asks the server whether it accepts a key, and signs in with it. Throws if it does not. */
async function signIn(session: Session, apiKey: string): Promise<void> {
  const { multiTenancy, testClock, version } = await clientOf(apiKey).admin.session()
  session.signIn(apiKey, { multiTenancy, testClock, version })
}

/** The code of a link that `npm start` has printed; null if the address has none. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  // The code is used up at once, and must not stay in the history.
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return code
}

/** Exchanges a code for a key. Throws with the server's message. */
async function keyFor(code: string): Promise<string> {
  const answer = await fetch('/console/one-time-code', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  const body: unknown = await answer.json()
  const text = (name: string) => String(Object(body)[name] ?? '')
  if (!answer.ok) throw new Error(text('error'))
  return text('apiKey')
}

const explained = (error: unknown): string =>
  isKeyRefused(error)
    ? 'This key is not valid. Check that you copied all of it, and that it was not deleted.'
    : messageOf(error)

/** The page of users who are not signed in, at every address. Afterwards they see the page that they opened. */
export function SignInPage() {
  const session = useSession()
  const { message } = useSessionState()
  const [key, setKey] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const [code] = useState(takeCode)

  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure instanceof Error && failure.name === 'Error' ? failure.message : explained(failure))
      setBusy(false)
    }
  }
  useEffect(() => {
    document.title = 'Sign in · Laurel'
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a code is exchanged once.
  useEffect(() => {
    if (code !== null) attempt(async () => signIn(session, await keyFor(code)))
  }, [code])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const given = key.trim()
    if (given === '') setError('Paste your admin key first.')
    else attempt(() => signIn(session, given))
  }
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center gap-6 px-6 pb-[12vh]">
      <div>
        <img src={icon} alt="" width={40} height={40} />
        <h1 className="mt-5 text-2xl font-semibold tracking-tight">Sign in to Laurel</h1>
        <p className="mt-1 text-quiet">Use an admin key of this server. It is kept in this tab only.</p>
      </div>
      {message !== null && error === null && <Notice tone="warning">{message}</Notice>}
      <form onSubmit={submit} noValidate className="flex flex-col gap-4" aria-busy={isBusy}>
        <div className="flex flex-col gap-1.5">
          <label htmlFor="admin-api-key" className="font-medium">
            Admin API key
          </label>
          <input
            id="admin-api-key"
            type="password"
            className="control"
            value={key}
            onChange={({ target }) => setKey(target.value)}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            aria-invalid={error !== null}
            aria-describedby={error === null ? undefined : 'sign-in-error'}
            // biome-ignore lint/a11y/noAutofocus: the page has only this field.
            autoFocus
          />
          {error !== null && (
            <p id="sign-in-error" role="alert" className="text-sm text-danger">
              {error}
            </p>
          )}
        </div>
        <Button type="submit" look="primary" isBusy={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
