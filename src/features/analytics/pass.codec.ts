import * as z from 'zod'

/**
 * The progress of the work `analytics`. Moments are in milliseconds.
 *
 * - `until`: if the tenant had no work `analytics` before, the moment of the change that made it due. All
 *   earlier changes are counted. The triggers in migrations/0019_analytics.sql write it.
 * - `pass`: the pass in progress, null before it has begun. `since` is the moment from which on it reads the
 *   logs, and `nextSince` the same for the pass after it. It counts users by the levels that `ladder` names.
 *   `isAll` is true if it visits users without a change too. It has visited the users up to the id `after`,
 *   and `hasCounted` is true if it has counted one of them.
 */
const Progress = z.object({
  until: z.number().nullable().default(null),
  pass: z
    .object({
      began: z.number(),
      since: z.number(),
      nextSince: z.number(),
      ladder: z.string(),
      isAll: z.boolean(),
      after: z.string(),
      hasCounted: z.boolean(),
    })
    .nullable()
    .default(null),
})

/** See `Progress`. */
export type Progress = z.infer<typeof Progress>
/** A pass in progress, see `Progress`. */
export type Pass = NonNullable<Progress['pass']>

/** The stored progress of the work `analytics`. */
export const parseProgress = (text: string | null): Progress => Progress.parse(JSON.parse(text ?? '{}'))

/** The text that is stored. */
export const progressText = (progress: Progress): string => JSON.stringify(progress)
