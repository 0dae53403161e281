import { toNestErrors } from '@hookform/resolvers'
import type { FieldError, FieldValues, Resolver } from 'react-hook-form'
import type { z } from 'zod'

/**
 * Checks the values of a form by a schema. The values stay as they are: the draft is made when they are sent.
 */
export const resolverOf =
  <Values extends FieldValues>(schema: z.ZodType): Resolver<Values> =>
  (values, _context, options) => {
    const result = schema.safeParse(values)
    if (result.success) return { values, errors: {} }
    const messages: Record<string, FieldError> = {}
    for (const { path, code, message } of result.error.issues)
      messages[path.join('.')] ??= { type: code ?? 'invalid', message }
    return { values: {}, errors: toNestErrors<Values>(messages, options) }
  }
