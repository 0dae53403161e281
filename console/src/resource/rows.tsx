import type { ReactNode } from 'react'
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
import { Icon } from '../ui/icon'
import { Fault } from '../ui/page'
import { type Options, Select } from '../ui/select'
import { messageAt } from './form-values'

/** A list in a form. Each row has a choice and a text, which are parts of its value. */
export function Rows<Values extends FieldValues>({
  form,
  name,
  label,
  about,
  one,
  choice,
  text,
  add,
  isDisabled = false,
}: {
  form: UseFormReturn<Values>
  name: FieldPath<Values>
  label: string
  about?: ReactNode
  /** The name of a row, such as "filter". */
  one: string
  choice: { part: string; none: string; options: Options; labelOf: (index: number) => string }
  text: {
    part: string
    before?: string
    isNumber?: boolean
    first: string
    labelOf: (index: number) => string
  }
  /** The button that adds a row, or why there is none. */
  add: { label: string } | { none: string }
  isDisabled?: boolean
}) {
  const { errors, touchedFields, isSubmitted } = useFormState({ control: form.control, name })
  // The types of the library can't say that this path is a list.
  const list = useFieldArray({
    control: form.control as unknown as Control<FieldValues>,
    name: name as string,
  })
  return (
    <fieldset className="flex flex-col gap-2" disabled={isDisabled}>
      <legend className="mb-1.5 font-medium">{label}</legend>
      {about}
      {list.fields.map(({ id }, index) => {
        const at = (part: string) => `${name}.${index}.${part}` as FieldPath<Values>
        // A new row has an error at once. It is shown after the row was left, or after a try to save.
        const message = [choice.part, text.part]
          .filter((part) => isSubmitted || get(touchedFields, at(part)) === true)
          .map((part) => messageAt(errors, at(part)))
          .find((found) => found !== undefined)
        return (
          <div key={id} className="flex flex-col gap-1">
            <div className="flex items-center gap-2">
              <Controller
                control={form.control}
                name={at(choice.part)}
                render={({ field }) => (
                  <Select
                    aria-label={choice.labelOf(index)}
                    none={choice.none}
                    options={choice.options}
                    {...field}
                  />
                )}
              />
              {text.before !== undefined && <span className="text-quiet">{text.before}</span>}
              <input
                className={text.isNumber ? 'control max-w-32 tabular-nums' : 'control'}
                inputMode={text.isNumber ? 'decimal' : undefined}
                aria-label={text.labelOf(index)}
                autoComplete="off"
                {...form.register(at(text.part))}
              />
              <IconButton label={`Remove ${one} ${index + 1}`} onClick={() => list.remove(index)}>
                <Icon name="trash" size={16} />
              </IconButton>
            </div>
            <Fault>{message}</Fault>
          </div>
        )
      })}
      {'none' in add ? (
        <p className="text-sm text-quiet">{add.none}</p>
      ) : (
        <div>
          <Button isSmall onClick={() => list.append({ [choice.part]: '', [text.part]: text.first })}>
            <Icon name="plus" size={15} />
            {add.label}
          </Button>
        </div>
      )}
    </fieldset>
  )
}
