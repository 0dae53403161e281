import { type FieldErrors, type FieldValues, get, type UseFormReturn, useWatch } from 'react-hook-form'
import type { Field } from './resource'

/** The message at a path of the errors, which may be nested. */
export const messageAt = (errors: FieldErrors, path: string): string | undefined =>
  Object(get(errors, path)).message || undefined

/** The values of a form, kept up to date. A key follows the name until it is edited. */
export function useFormValues(form: UseFormReturn, fields: readonly Field[], isNew: boolean): FieldValues {
  useWatch({ control: form.control })
  const values = form.getValues()
  for (const field of isNew ? fields : []) {
    if (field.kind !== 'key' || form.getFieldState(field.name).isDirty) continue
    const slug = slugOf(String(form.getValues(field.from ?? 'name') ?? ''))
    if (form.getValues(field.name) !== slug) form.resetField(field.name, { defaultValue: slug })
  }
  return values
}

/** A key made of a name: "Lessons done" becomes `lessons-done`. */
const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 255)
