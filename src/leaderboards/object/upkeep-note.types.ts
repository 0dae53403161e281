import * as z from 'zod'

/**
 * How far the upkeep of a leaderboard had got, as D1 knows it. If D1 is brought back to an earlier moment,
 * this says what the leaderboard's object had done by then (M2).
 */
export const UpkeepNote = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null if they never did. Earlier days are in the history. */
  day: z.number().nullable(),
  /** When the last comparison with D1 began, in milliseconds. */
  compared: z.number(),
})
export type UpkeepNote = z.infer<typeof UpkeepNote>
