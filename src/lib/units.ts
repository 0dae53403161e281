/*
 * Lengths of time, in milliseconds. A day has 24 hours, as in UTC. A local day may be an hour longer or
 * shorter.
 */

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/* Offsets, in minutes by which local time is ahead of UTC. Events store them in this form (E8). */

/**
 * The offset at which a date begins first. It decides when leaderboards, runs and boosts for everyone begin
 * (L7, L8, P5).
 */
export const FIRST_OFFSET = 14 * 60

/**
 * The offset at which a date ends last. It decides when runs are final, when boosts for everyone end, and
 * when days are over for travellers (L8, P5, S11).
 */
export const LAST_OFFSET = -12 * 60

/**
 * No local time has ever been further from UTC than this, ahead or behind (Manila was 15:56 behind). It
 * limits the part of a log that must be read to find all rows of some local days. It is wider than the two
 * offsets above on purpose: an hour too many costs a few rows, and an hour too few would lose rows.
 */
export const FURTHEST_OFFSET = 16 * 60
