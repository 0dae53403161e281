import { Plus, Trash2 } from 'lucide-react'
import {
  type Control,
  Controller,
  type FieldPath,
  type FieldValues,
  get,
  type UseFormReturn,
  useFieldArray,
  useFormState,
} from 'react-hook-form'
import { Button, IconButton } from '../ui/button'
import { messageAt } from './form-values'
import type { Lookups } from './lookups'

/** Attributes with the values that they must have. */
export function Filters<Values extends FieldValues>({
  form,
  name,
  label,
  hint,
  of,
  lookups,
  isDisabled,
}: {
  form: UseFormReturn<Values>
  name: FieldPath<Values>
  label: string
  hint?: string | undefined
  of: 'user' | 'event'
  lookups: Lookups
  isDisabled: boolean
}) {
  const attributes = lookups.attributes.all.filter(({ type }) => type === of)
  const { errors, touchedFields, isSubmitted } = useFormState({ control: form.control, name })
  const rows = useRows(form, name)
  return (
    <fieldset className="flex flex-col gap-2" disabled={isDisabled}>
      <legend className="mb-1.5 font-medium">{label}</legend>
      {hint !== undefined && <p className="text-sm text-quiet">{hint}</p>}
      {rows.all.map(({ id }, index) => {
        // A new row has an error at once. It is shown after the row was left, or after a try to save.
        const message = ['attributeId', 'attributeValue']
          .map((part) => `${name}.${index}.${part}` as FieldPath<Values>)
          .filter((path) => isSubmitted || get(touchedFields, path) === true)
          .map((path) => messageAt(errors, path))
          .find((found) => found !== undefined)
        const at = (part: string) => form.register(`${name}.${index}.${part}` as FieldPath<Values>)
        return (
          <div key={id} className="flex flex-col gap-1">
            <div className="flex items-center gap-2">
              <Controller
                control={form.control}
                name={`${name}.${index}.attributeId` as FieldPath<Values>}
                render={({ field }) => (
                  <select className="control" aria-label={`Attribute ${index + 1}`} {...field}>
                    <option value="">Attribute…</option>
                    {attributes.map((attribute) => (
                      <option key={attribute.id} value={attribute.id}>
                        {attribute.name}
                      </option>
                    ))}
                  </select>
                )}
              />
              <span className="text-quiet">is</span>
              <input
                className="control"
                aria-label={`Value ${index + 1}`}
                autoComplete="off"
                {...at('attributeValue')}
              />
              <IconButton label={`Remove filter ${index + 1}`} onClick={() => rows.remove(index)}>
                <Trash2 size={16} aria-hidden="true" />
              </IconButton>
            </div>
            {message !== undefined && (
              <p role="alert" className="text-sm text-danger">
                {message}
              </p>
            )}
          </div>
        )
      })}
      {attributes.length === 0 ? (
        <p className="text-sm text-quiet">There are no {of} attributes yet. Create one under Attributes.</p>
      ) : (
        <div>
          <Button isSmall onClick={rows.add}>
            <Plus size={15} aria-hidden="true" />
            Filter
          </Button>
        </div>
      )}
    </fieldset>
  )
}

/** The rows of a list in a form. */
function useRows<Values extends FieldValues>(form: UseFormReturn<Values>, name: FieldPath<Values>) {
  // The types of the library can't say that this path is a list.
  const list = useFieldArray({
    control: form.control as unknown as Control<FieldValues>,
    name: name as string,
  })
  return {
    all: list.fields,
    remove: (index: number) => list.remove(index),
    add: () => list.append({ attributeId: '', attributeValue: '' }),
  }
}
