import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import type { Session } from '../session/session'
import { isConnectionLost, isKeyRefused } from './errors'

/**
 * The cache of all reads. An answer that the key is not valid ends the session. A failure to reach the server
 * shows the banner.
 */
export function newQueryClient(session: Session, connection: { lose(): void; reach(): void }): QueryClient {
  const onError = (error: unknown) => {
    if (isKeyRefused(error)) session.end('Your key is no longer valid. Sign in again to go on.')
    if (isConnectionLost(error)) connection.lose()
  }
  const onSuccess = () => {
    if (reads.findAll({ type: 'active' }).every(({ state }) => state.status === 'success')) connection.reach()
  }
  const reads: QueryCache = new QueryCache({ onError, onSuccess })
  return new QueryClient({
    queryCache: reads,
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // The client itself tries again.
        retry: false,
        // The connection is judged by the requests themselves: a server on this machine needs no network.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
}
