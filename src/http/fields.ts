import { z } from 'zod'

/** The largest whole number that typed clients read (G11). */
export const INT32_MAX = 2_147_483_647

/** An optional field of a request: null counts as absent, since client libraries send it for undefined (U2). */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined)
}
