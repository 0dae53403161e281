import { createContext, useContext, useSyncExternalStore } from 'react'
import type { Connection } from './connection'

export const ConnectionContext = createContext<Connection | null>(null)

const none = () => () => {}

const WORDS = {
  fine: null,
  lost: 'Lost connection to the server. Trying again…',
  blocked:
    'The browser blocks requests of this page. Switch your ad blocker off for it, then load the page again.',
}

/** Says that the server cannot be reached, until it can, or that something blocks the requests. */
export function ConnectionBanner() {
  const connection = useContext(ConnectionContext)
  const state = useSyncExternalStore(
    connection?.subscribe ?? none,
    connection?.state ?? (() => 'fine' as const),
  )
  return (
    <div role="status" className="print:hidden">
      {WORDS[state] !== null && (
        <p className="bg-warning-soft px-4 py-2 text-center font-medium text-warning">{WORDS[state]}</p>
      )}
    </div>
  )
}
