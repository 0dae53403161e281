import { MINUTE } from '../../lib/units'

/** The time after a message about points or a leaderboard in which no other is sent, in milliseconds (W5). */
export const QUIET = 15 * MINUTE
