import { type FormEvent, useState } from 'react'
import { type Session, signIn } from './api.ts'
import { Art, PageTitle, Sky } from './parts.tsx'

export function SignIn({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  const [name, setName] = useState('')
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setSending(true)
    setError(null)
    try {
      onSignedIn(await signIn(name))
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)))
      setSending(false)
    }
  }
  return (
    <Sky>
      <main className="sheet sign-in">
        <Art name="logo" size={72} />
        <PageTitle title="">Stargazer</PageTitle>
        <p>Learn the night sky, five minutes a day.</p>
        <form onSubmit={submit}>
          <label htmlFor="name">Your name</label>
          <input
            id="name"
            value={name}
            onChange={({ target }) => setName(target.value)}
            maxLength={40}
            autoComplete="given-name"
            aria-describedby="name-note"
            required
          />
          <p id="name-note" className="note">
            Other learners see it on the weekly board.
          </p>
          {error && <p role="alert">{error.message}</p>}
          <button type="submit" className="button" disabled={isSending}>
            Start learning
          </button>
        </form>
      </main>
    </Sky>
  )
}
