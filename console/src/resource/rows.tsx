import { Controller, get, type UseFormReturn, useFieldArray, useFormState } from 'react-hook-form'
import { Button, IconButton } from '../ui/button'
import { Icon } from '../ui/icon'
import { Fault } from '../ui/page'
import { Select } from '../ui/select'
import { messageAt } from './form-values'
import type { Lookups } from './lookups'
import type { Field } from './resource'

/** A list in a form. */
export function Rows({
  field: { name, label, one, choice, text, add, none = '' },
  form,
  hint,
  lookups,
  isDisabled,
}: {
  field: Field & { kind: 'rows' }
  form: UseFormReturn
  hint: string | undefined
  lookups: Lookups
  isDisabled: boolean
}) {
  const { control } = form
  const { errors, touchedFields, isSubmitted } = useFormState({ control, name })
  const list = useFieldArray({ control, name })
  const options = choice.options(lookups)
  return (
    <fieldset className="flex flex-col gap-2" disabled={isDisabled}>
      <legend className="mb-1.5 font-medium">{label}</legend>
      {hint !== undefined && <p className="text-sm text-quiet">{hint}</p>}
      {list.fields.map(({ id }, index) => {
        const at = (part: string) => `${name}.${index}.${part}`
        // A new row has an error at once. It is shown after the row was left, or after a try to save.
        const message = [choice.part, text.part]
          .filter((part) => isSubmitted || get(touchedFields, at(part)) === true)
          .map((part) => messageAt(errors, at(part)))
          .find((found) => found !== undefined)
        return (
          <div key={id} className="flex flex-col gap-1">
            <div className="flex items-center gap-2">
              <Controller
                control={control}
                name={at(choice.part)}
                render={({ field }) => (
                  <Select
                    aria-label={choice.labelOf(index)}
                    none={choice.none}
                    options={options}
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
      {options.length === 0 && none !== '' ? (
        <p className="text-sm text-quiet">{none}</p>
      ) : (
        <div>
          <Button isSmall onClick={() => list.append({ [choice.part]: '', [text.part]: text.first })}>
            <Icon name="plus" size={15} />
            {add}
          </Button>
        </div>
      )}
    </fieldset>
  )
}
