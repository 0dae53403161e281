import { type FieldPath, type FieldValues, type UseFormReturn, useWatch } from 'react-hook-form'
import { messagesByField, objectionsOf } from '../api/errors'
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

/**
 * Shows what the server objects to at these fields of a form. The first of them gets the focus. Returns what is
 * about no field.
 */
export function showRefusal<Values extends FieldValues>(
  form: UseFormReturn<Values>,
  error: unknown,
  names: readonly FieldPath<Values>[],
): readonly string[] {
  const { byField, others } = messagesByField(objectionsOf(error), names)
  for (const name of names.toReversed()) {
    const message = byField.get(name)
    if (message !== undefined) form.setError(name, { type: 'server', message }, { shouldFocus: true })
  }
  return others
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
