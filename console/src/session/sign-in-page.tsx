import { type FormEvent, useEffect, useState } from 'react'
import { isKeyRefused, messageOf } from '../api/errors'
import { clientOf } from '../api/laurel'
import icon from '../app/icon.svg'
import { Button } from '../ui/button'
import { Labelled, PlainInput } from '../ui/labelled'
import { Notice } from '../ui/page'
import { trimmed } from '../ui/text'
import { keyFor, watchCodes } from './one-time-code'
import type { Session } from './session'
import { useSession, useSessionState } from './session-context'

/** Asks the server whether it accepts a key, and signs in with it. Throws if it does not. */
async function signIn(session: Session, apiKey: string): Promise<void> {
  const { multiTenancy, testClock } = await clientOf(apiKey).admin.session()
  session.signIn(apiKey, { multiTenancy, testClock })
}

/** What no key has: characters outside of ASCII, blanks, quotes around it, or the name of a header before it. */
const NO_KEY = /[^!-~]|^["'`]|["'`]$|^(?:x-api-key|authorization|bearer)\b/i

const explained = (error: unknown): string =>
  isKeyRefused(error)
    ? 'This key is not valid. Check that you copied all of it, and that it was not deleted.'
    : messageOf(error)

/**
 * The page of users who are not signed in, at every address. Afterwards they see the page that they opened.
 */
export function SignInPage() {
  const session = useSession()
  const { message } = useSessionState()
  const [key, setKey] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)

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
  // biome-ignore lint/correctness/useExhaustiveDependencies: each code is exchanged once.
  useEffect(() => watchCodes((code) => attempt(async () => signIn(session, await keyFor(code)))), [])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const given = trimmed(key)
    if (given === '') setError('Paste your admin key first.')
    else if (NO_KEY.test(given))
      setError(
        'Paste the key alone: without quotes, blanks or special characters, and without a name before it.',
      )
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
        <Labelled label="Admin API key" message={error ?? undefined}>
          <PlainInput
            type="password"
            value={key}
            onChange={({ target }) => setKey(target.value)}
            // The page has only this field.
            autoFocus
          />
        </Labelled>
        <Button type="submit" look="primary" isBusy={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
