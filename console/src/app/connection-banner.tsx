import { createContext, useContext, useSyncExternalStore } from 'react'
import type { Connection } from './connection'

export const ConnectionContext = createContext<Connection | null>(null)

const none = () => () => {}

/** Says that the server cannot be reached, until it can. */
export function ConnectionBanner() {
  const connection = useContext(ConnectionContext)
  const isLost = useSyncExternalStore(connection?.subscribe ?? none, connection?.isLost ?? (() => false))
  return (
    <div role="status">
      {isLost && (
        <p className="bg-warning-soft px-4 py-2 text-center font-medium text-warning">
          Lost connection to the server. Trying again…
        </p>
      )}
    </div>
  )
}
