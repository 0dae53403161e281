/** The ten kills of kill.test.ts, for `npm run serve`. */
import { vi } from 'vitest'

vi.stubEnv('KILL_BY', 'serve')
await import('./kill.test')
