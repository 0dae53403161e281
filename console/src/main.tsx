import { CSPProvider } from '@base-ui/react/csp-provider'
import '@fontsource-variable/inter'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { newQueryClient } from './api/queries'
import { Connection } from './app/connection'
import { ConnectionContext } from './app/connection-banner'
import { reloadOnce } from './app/reload'
import { newRouter } from './app/router'
import { Session } from './session/session'
import { SessionContext } from './session/session-context'
import './styles/index.css'
import { Toasts } from './ui/toasts'

const session = new Session()
const connection: Connection = new Connection(() => {
  queries.invalidateQueries()
  router.invalidate()
})
const queries = newQueryClient(session, connection.lose)
const router = newRouter()

// Nothing of a session is left for the next one.
session.subscribe(() => queries.clear())
addEventListener('vite:preloadError', () => {
  reloadOnce().catch(connection.lose)
})

const place = document.getElementById('root')
if (place === null) throw new Error('The page has no element for the console.')
createRoot(place).render(
  <StrictMode>
    {/* The policy of the page allows no inline styles. */}
    <CSPProvider disableStyleElements>
      <SessionContext value={session}>
        <ConnectionContext value={connection}>
          <QueryClientProvider client={queries}>
            <RouterProvider router={router} />
            <Toasts />
          </QueryClientProvider>
        </ConnectionContext>
      </SessionContext>
    </CSPProvider>
  </StrictMode>,
)
