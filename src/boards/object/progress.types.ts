import * as z from 'zod'
import { firstDayOf } from '../../engine/runs.rules'
import type { Definition } from '../board.messages'

/** How far the upkeep of a board has got. */
export const Progress = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null where they never did. */
  day: z.number().nullable(),
  /** A comparison with D1 that is under way: since when users must have changed (0: all), when it began, and how far it is. */
  comparison: z.object({ since: z.number(), began: z.number(), after: z.string() }).nullable(),
  /** Whether all must be compared before anything else. */
  mustCompareAll: z.boolean(),
  /** When the last comparison began, in milliseconds. */
  compared: z.number(),
})
export type Progress = z.infer<typeof Progress>

/** That of a board on which nothing was done yet. */
export const newProgress = ({ start }: Definition): Progress => ({
  openFrom: firstDayOf({ start }),
  day: null,
  comparison: null,
  mustCompareAll: true,
  compared: 0,
})
