import { createContext, useContext, useSyncExternalStore } from 'react'
import type { Session, SessionState, SignedIn } from './session'

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('There is no session above this component.')
  return session
}

export function useSessionState(): SessionState {
  const session = useSession()
  return useSyncExternalStore(session.subscribe, session.state)
}

/** The session of pages, which are shown only to users who are signed in. */
export function useSignedIn(): SignedIn {
  const { signedIn } = useSessionState()
  if (signedIn === null) throw new Error('Nobody is signed in.')
  return signedIn
}
