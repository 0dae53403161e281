import type { D1Migration } from '@cloudflare/vitest-plugin'
import type { Bindings } from '../../../src/platform/env'

declare global {
  namespace Cloudflare {
    interface Env extends Bindings {
      MIGRATIONS: D1Migration[]
    }
    interface GlobalProps {
      mainModule: typeof import('../../../src/worker')
    }
  }
}
