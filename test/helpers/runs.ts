import process from 'node:process'
import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    isLong: boolean
  }
}

/** How many random worlds a property plays: a few in `npm test`, and many in `npm run test:long`. */
export const runs = (few: number, many: number): number => (inject('isLong') ? many : few)

const { VITE_WORLDS: WORLDS, VITE_WORLDS_SEED: SEED, VITE_WORLDS_PATH: PATH } = process.env

/** True if the variables of `worldRuns` ask for worlds. */
export const isAsked = WORLDS !== undefined || PATH !== undefined

/**
 * The worlds of a property that plays `count` of them. `VITE_WORLDS=200 VITE_WORLDS_SEED=7` plays others. If a world
 * fails, fast-check prints its path: `VITE_WORLDS_PATH` plays this world alone.
 */
export const worldRuns = (count: number) => ({
  numRuns: Number(WORLDS ?? (PATH === undefined ? count : 1)),
  ...(SEED !== undefined && { seed: Number(SEED) }),
  ...(PATH !== undefined && { path: PATH }),
})

/** The first few of some cases that are alike in `npm test`, and all of them in `npm run test:long`. */
export const casesOf = <T>(few: number, all: readonly T[]): T[] => all.slice(0, runs(few, all.length))

/**
 * The cases for the nth of many things that are alike: a few of them in `npm test`, in turn, so that all things together
 * meet all cases, and all in `npm run test:long`.
 */
export const inTurn = <T>(few: number, all: readonly T[], nth: number): T[] => {
  const first = (nth * few) % all.length
  return casesOf(few, [...all.slice(first), ...all.slice(0, first)])
}
