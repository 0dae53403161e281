import * as z from 'zod'
import { firstDayOf } from '../../rules/runs.rules'
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
  /** When the last comparison began, in milliseconds. It goes back with work that comes late. */
  compared: z.number(),
  /** For which epoch the scores were read from D1 (M1). Boards of early versions have none. */
  epoch: z.number().default(0),
  /** Whether all scores are being read again from D1, which was brought back to an earlier moment (M2). */
  isRefilling: z.boolean().default(false),
  /**
   * D1 has noted a comparison of this moment or a later one; 0 if that is unknown. An earlier note means a
   * restore (M2).
   */
  noted: z.number().default(0),
})
export type Progress = z.infer<typeof Progress>

/** The progress of a new board. */
export const newProgress = ({ start, epoch }: Definition): Progress => ({
  openFrom: firstDayOf({ start }),
  day: null,
  comparison: null,
  mustCompareAll: true,
  compared: 0,
  epoch,
  isRefilling: false,
  noted: 0,
})
