import { type Control, Controller, type FieldPath, type FieldValues } from 'react-hook-form'
import { Fault } from '../ui/page'
import { type Options, optionsOf } from '../ui/select'

/** A box to tick for each of several options. */
export function Several<Values extends FieldValues>({
  control,
  name,
  options,
  label,
  hint,
  message,
  none = 'There is none yet.',
  isDisabled,
}: {
  control: Control<Values>
  name: FieldPath<Values>
  options: Options
  label: string
  hint?: string | undefined
  message?: string | undefined
  /** The next step if there are no options. */
  none?: string | undefined
  isDisabled: boolean
}) {
  return (
    <Controller
      control={control}
      name={name}
      render={({ field: { value, onChange } }) => {
        const all = optionsOf(options)
        const chosen: readonly string[] = Array.isArray(value) ? value : []
        return (
          <fieldset className="flex flex-col gap-1.5" disabled={isDisabled}>
            <legend className="mb-1.5 font-medium">{label}</legend>
            {all.length === 0 && <p className="text-quiet">{none}</p>}
            <div className="flex max-h-56 flex-col gap-1 overflow-y-auto rounded-md border border-line p-2 empty:hidden">
              {all.map((option) => (
                <label
                  key={option.value}
                  className="flex items-center gap-2.5 rounded-sm px-1.5 py-1 hover:bg-hover"
                >
                  <input
                    type="checkbox"
                    className="accent-accent"
                    checked={chosen.includes(option.value)}
                    onChange={({ target }) =>
                      onChange(
                        target.checked
                          ? [...chosen, option.value]
                          : chosen.filter((one) => one !== option.value),
                      )
                    }
                  />
                  {option.label}
                </label>
              ))}
            </div>
            <Fault>{message}</Fault>
            {hint !== undefined && <p className="text-sm text-quiet">{hint}</p>}
          </fieldset>
        )
      }}
    />
  )
}
