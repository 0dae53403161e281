import * as z from 'zod'

/**
 * The progress of the work `analytics`. Moments are in milliseconds.
 *
 * - `updated`: when the last finished pass began; null before the first one.
 * - `since`: all rows of the logs that were stored since then are of this moment or a later one. Null if that
 *   is not known.
 * - `ladder`: names the levels by which users are counted. If the levels change, all users are visited.
 * - `pass`: the pass in progress. It has visited the users up to the id `after`.
 */
const Progress = z.object({
  updated: z.number().nullable().default(null),
  since: z.number().nullable().default(null),
  ladder: z.string().nullable().default(null),
  pass: z
    .object({ began: z.number(), since: z.number(), ladder: z.string(), after: z.string() })
    .nullable()
    .default(null),
})

/** See `Progress`. */
export type Progress = z.infer<typeof Progress>

/** The stored progress of the work `analytics`. */
export const parseProgress = (text: string | null): Progress => Progress.parse(JSON.parse(text ?? '{}'))

/** The text that is stored. */
export const progressText = (progress: Progress): string => JSON.stringify(progress)

/** A patch that makes the next pass read the whole logs of changed users, and starts it again. */
export const RESTART = JSON.stringify({ since: null, pass: null })
