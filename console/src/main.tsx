import { CSPProvider } from '@base-ui/react/csp-provider'
import '@fontsource-variable/inter'
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { newQueryClient } from './api/queries'
import { Connection, ConnectionContext } from './app/connection'
import { Saving } from './app/messages'
import { reloadOnce } from './app/reload'
import { newRouter } from './app/router'
import { Kept } from './session/kept'
import { Session } from './session/session'
import { KeptContext, SessionContext } from './session/session-context'
import './styles/index.css'
import { Toasts } from './ui/toasts'

const kept = new Kept()
const session = new Session(() => {
  kept.clear()
  queries.getMutationCache().clear()
})
const connection: Connection = new Connection(() => {
  queries.invalidateQueries()
  router.invalidate()
})
const queries: QueryClient = newQueryClient(session, connection)
const router = newRouter()

// Nothing that was read in a session is left for the next one. Writes go on until they are answered.
session.subscribe(() => queries.getQueryCache().clear())
addEventListener('vite:preloadError', () => {
  reloadOnce(() => kept.reload()).catch(connection.lose)
})

const place = document.getElementById('root')
if (place === null) throw new Error('The page has no element for the console.')
createRoot(place).render(
  <StrictMode>
    {/* The policy of the page allows no inline styles. */}
    <CSPProvider disableStyleElements>
      <SessionContext value={session}>
        <ConnectionContext value={connection}>
          <KeptContext value={kept}>
            <QueryClientProvider client={queries}>
              <Toasts beside={<Saving />}>
                <RouterProvider router={router} />
              </Toasts>
            </QueryClientProvider>
          </KeptContext>
        </ConnectionContext>
      </SessionContext>
    </CSPProvider>
  </StrictMode>,
)
