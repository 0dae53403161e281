import { Sections } from '../gallery/sections.tsx'
import { LaurelProvider } from '../src/index.ts'
import { FakeServer } from './fake-server.ts'

/** All components in all states, inside of a provider, as an app has them. */
export const Gallery = () => (
  <LaurelProvider client={new FakeServer().client} userId="ada" locale="de">
    <Sections />
  </LaurelProvider>
)
