/** How often and how long a commit is tried again after conflicts, and the pause before each attempt (E3). */
export type ConflictLimits = {
  /** The commit gives up at this number of conflicts. */
  conflicts: number
  /** Milliseconds since the first attempt. The first conflict after that time ends the commit. */
  ms: number
  /** The longest pause after the first conflict, and after any conflict, in milliseconds. */
  pause: { first: number; longest: number }
}

/** In an isolate: three attempts without a pause. Then the user's lane takes over. */
export const IN_ISOLATE: ConflictLimits = {
  conflicts: 3,
  ms: Number.POSITIVE_INFINITY,
  pause: { first: 0, longest: 0 },
}

/**
 * In the user's lane (E3): long enough that isolates, which try only three times, have given up. An isolate
 * gives signs of life for the same ten seconds while it waits for the lane.
 */
export const IN_LANE: ConflictLimits = { conflicts: 30, ms: 10_000, pause: { first: 10, longest: 200 } }

/** True if a commit gives up (E3): it began `ms` milliseconds ago and has had `conflicts` conflicts. */
export const isOver = (
  limits: ConflictLimits,
  { conflicts, ms }: { conflicts: number; ms: number },
): boolean => conflicts >= limits.conflicts || ms >= limits.ms

/**
 * The pause after the n-th conflict (from 1), in milliseconds. Its upper limit doubles each time, up to the
 * longest. `random` (0 to 1) is the part of it that is used, so that two commits in conflict do not stay in
 * step.
 */
export const pauseAfter = ({ pause }: ConflictLimits, nth: number, random: number): number =>
  random * Math.min(pause.longest, pause.first * 2 ** (nth - 1))
