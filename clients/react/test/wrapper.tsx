import { type ReactNode, StrictMode } from 'react'
import { LaurelProvider } from '../src/index.ts'
import type { FakeServer } from './fake-server.ts'

/** What stands around the components of a test: the provider of Ada, whose client asks the server of the test. */
export const wrapperOf =
  (server: () => FakeServer) =>
  ({ children }: { children: ReactNode }) => (
    <StrictMode>
      <LaurelProvider client={server().client} userId="ada">
        {children}
      </LaurelProvider>
    </StrictMode>
  )
