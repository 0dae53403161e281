'use client'
import { useActionState, useSyncExternalStore } from 'react'
import { signIn } from './actions'

/**
 * The time zone of the browser. The server does not know it, so it is empty until the page has started. A browser that
 * does not know its zone has one that Laurel refuses.
 */
const useTimeZone = () =>
  useSyncExternalStore(
    () => () => {},
    () => Intl.DateTimeFormat().resolvedOptions().timeZone.replace('Etc/Unknown', ''),
    () => '',
  )

export function SignIn() {
  const [{ name, error }, action, isSending] = useActionState(signIn, { name: '' })
  return (
    <form className="card" action={action}>
      <h1>Open your diary</h1>
      <label>
        Your name
        <input name="name" maxLength={40} autoComplete="given-name" defaultValue={name} required />
      </label>
      <p className="note">Other readers see it on the weekly board.</p>
      <input type="hidden" name="timeZone" value={useTimeZone()} />
      {error && <p role="alert">{error}</p>}
      <button type="submit" className="button" disabled={isSending}>
        Start reading
      </button>
    </form>
  )
}
