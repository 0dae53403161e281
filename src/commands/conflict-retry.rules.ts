/** How often and how long a commit is tried again after conflicts, and how long it pauses before each further attempt. */
export type ConflictLimits = {
  /** The number of conflicts that ends it. */
  conflicts: number
  /** Milliseconds since its first attempt; the first conflict after that ends it. */
  ms: number
  /** The longest pause after the first conflict, and after any, in milliseconds. */
  pause: { first: number; longest: number }
}

/** In an isolate: three attempts without a pause. Then the user's lane takes over. */
export const IN_ISOLATE: ConflictLimits = {
  conflicts: 3,
  ms: Number.POSITIVE_INFINITY,
  pause: { first: 0, longest: 0 },
}

/**
 * In the user's lane: long enough that isolates, which try three times only, are out of its way. The ten seconds are those that an isolate
 * shows signs of life while it waits for the lane.
 */
export const IN_LANE: ConflictLimits = { conflicts: 30, ms: 10_000, pause: { first: 10, longest: 200 } }

/** True if a commit that began `ms` milliseconds ago and has had so many conflicts is not tried again. */
export const isOver = (
  limits: ConflictLimits,
  { conflicts, ms }: { conflicts: number; ms: number },
): boolean => conflicts >= limits.conflicts || ms >= limits.ms

/**
 * The pause after the n-th conflict (from 1), in milliseconds: its upper bound doubles each time up to the longest, and `random` (0 to 1)
 * says which part of it is taken, so that two who conflict do not stay in step.
 */
export const pauseAfter = ({ pause }: ConflictLimits, nth: number, random: number): number =>
  random * Math.min(pause.longest, pause.first * 2 ** (nth - 1))
