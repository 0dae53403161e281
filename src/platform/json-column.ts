import * as z from 'zod'

/** Parses a column, or another value, that is JSON text. */
export const json = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)
