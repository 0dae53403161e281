/* Lengths of time, in milliseconds. A day is one of UTC: the day of a zone may be an hour longer or shorter. */

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/* Offsets, in minutes by which local time is ahead of UTC, as events store them (E8). */

/** The offset at which a date begins first. Leaderboards, runs and boosts of everyone begin by it (L7, L8, P5). */
export const FIRST_OFFSET = 14 * 60

/** The offset at which a date ends last. Runs are final by it, boosts of everyone end, and days are over for travellers (L8, P5, S11). */
export const LAST_OFFSET = -12 * 60

/**
 * No local time has ever been further from UTC than this, ahead or behind (Manila was 15:56 behind). It bounds what must be read of a log to
 * find all that falls on some local days. It is wider than the two above on purpose: an hour too many costs a few rows, and an hour too few
 * would lose some.
 */
export const FURTHEST_OFFSET = 16 * 60
