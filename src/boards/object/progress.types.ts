import * as z from 'zod'
import { firstDayOf } from '../../engine/runs.rules'
import type { Definition } from '../board.messages'

/** How far the upkeep of a board has got. */
export const Progress = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null if they never did. */
  day: z.number().nullable(),
  /**
   * A comparison with D1 in progress: `since` when users must have changed (0: all users), when it began, and
   * the last user id that it has compared.
   */
  comparison: z.object({ since: z.number(), began: z.number(), after: z.string() }).nullable(),
  /** Whether all users must be compared before anything else. */
  mustCompareAll: z.boolean(),
  /** When the last comparison began, in milliseconds. */
  compared: z.number(),
})
export type Progress = z.infer<typeof Progress>

/** The progress of a new board. */
export const newProgress = ({ start }: Definition): Progress => ({
  openFrom: firstDayOf({ start }),
  day: null,
  comparison: null,
  mustCompareAll: true,
  compared: 0,
})
