/** The ten kills of kill.test.ts with three databases, each while users move from one to another. */
import { vi } from 'vitest'

vi.stubEnv('KILL_DATABASES', '3')
await import('./kill.test')
