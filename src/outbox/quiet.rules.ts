import { MINUTE } from '../lib/units'

/** For how long nothing more is told of points or of a leaderboard after something was, in milliseconds (W5). */
export const QUIET = 15 * MINUTE
