import { type FieldPath, type FieldValues, type UseFormReturn, useWatch } from 'react-hook-form'
import type { Field } from './resource'
import { slugOf } from './slug'

/** The message at a path of the errors, which may be nested. */
export function messageAt(errors: unknown, path: string): string | undefined {
  let found: unknown = errors
  for (const part of path.split('.'))
    found = typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined
  const message: unknown =
    typeof found === 'object' && found !== null ? Reflect.get(found, 'message') : undefined
  return typeof message === 'string' && message !== '' ? message : undefined
}

/** The values of a form, kept up to date. A key follows the name until it is edited. */
export function useFormValues<Values extends FieldValues>(
  form: UseFormReturn<Values>,
  fields: readonly Field<Values>[],
  isNew: boolean,
): Values {
  useWatch({ control: form.control })
  const values = form.getValues()
  for (const field of isNew ? fields : []) {
    if (field.kind !== 'key' || form.getFieldState(field.name).isDirty) continue
    const from: FieldPath<Values> = field.from ?? ('name' as FieldPath<Values>)
    const slug = slugOf(String(form.getValues(from) ?? ''))
    if (form.getValues(field.name) !== slug) form.resetField(field.name, { defaultValue: slug as never })
  }
  return values
}
