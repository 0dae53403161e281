import { useLocation } from '@tanstack/react-router'
import { createContext, useContext, useSyncExternalStore } from 'react'
import type { Kept } from './kept'
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

export const KeptContext = createContext<Kept | null>(null)

export function useKept(): Kept {
  const kept = useContext(KeptContext)
  if (kept === null) throw new Error('There are no entries above this component.')
  return kept
}

/**
 * The id of the entries of a form. The address may name those of a write that was not done.
 *
 * @param name names the form, such as `/metrics/new`
 */
export function useEntriesId(name: string): string {
  const { signedIn } = useSessionState()
  const { entries }: { entries?: unknown } = Object(useLocation().state)
  const id = `${signedIn?.tenant?.id ?? ''}:${encodeURIComponent(name)}`
  return typeof entries === 'string' && entries.startsWith(`${id}#`) ? entries : id
}
