import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    isLong: boolean
  }
}

/** How many random worlds a property plays: a few in `npm test`, and many in `npm run test:long`. */
export const runs = (few: number, many: number): number => (inject('isLong') ? many : few)

/** The first few of some cases that are alike in `npm test`, and all of them in `npm run test:long`. */
export const casesOf = <T>(few: number, all: readonly T[]): T[] => all.slice(0, runs(few, all.length))
