import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    isLong: boolean
  }
}

/** How many random worlds a property plays: a few in `npm test`, and many in `npm run test:long`. */
export const runs = (few: number, many: number): number => (inject('isLong') ? many : few)
