/** The values with which a form begins, by its fields. */
import { type FieldValues, get, set } from 'react-hook-form'
import { asText } from '../ui/locale'
import { optionsOf } from '../ui/select'
import type { Field, Resource, Thing } from './resource'

/** The value of a field that has none. A choice without an empty option has the first one. */
function emptyOf(field: Field) {
  switch (field.kind) {
    case 'choice':
      return optionsOf(typeof field.options === 'function' ? field.options(null) : field.options)[0]?.value
    case 'references':
    case 'rows':
      return []
    case 'switch':
      return false
    default:
      return ''
  }
}

const isPicture = (stored: unknown): stored is { url: string } =>
  typeof stored === 'object' && stored !== null && 'url' in stored

/** Something stored as a field has it: a number is its text, a picture its address. Forms send texts trimmed. */
const asValue = (stored: unknown) => {
  if (typeof stored === 'string') return stored.replaceAll(/\r\n?/g, '\n').trim()
  return typeof stored === 'number' ? asText(stored) : isPicture(stored) ? stored.url : stored
}

/** The values of fields for what is stored, or for something new. */
export function valuesOf<Values extends FieldValues>(
  fields: readonly Field<Values>[],
  stored: object | null,
): Values {
  const values: FieldValues = {}
  for (const field of fields) {
    const { name, first } = field
    set(values, name, (stored === null ? first : asValue(get(stored, name))) ?? emptyOf(field))
  }
  // The fields name all values of their form, which the types can't say.
  return values as Values
}

/** The values of the form of a resource. */
export const valuesIn = ({ fields, values }: Resource['form'], item: Thing | null): FieldValues =>
  values?.(item) ?? valuesOf(fields, item)

/** The values that differ from those at first. */
export function changed<Values extends object>(values: Values, first: Partial<Values> = {}): Partial<Values> {
  const changes: Partial<Values> = { ...values }
  for (const [name, value] of Object.entries(values))
    if (JSON.stringify(value) === JSON.stringify(Reflect.get(first, name)))
      Reflect.deleteProperty(changes, name)
  return changes
}
