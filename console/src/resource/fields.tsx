import { type ComponentProps, type ReactNode, useEffect } from 'react'
import { Controller, type FieldValues, type UseFormReturn, useFormState } from 'react-hook-form'
import { Toggle } from '../ui/button'
import { Labelled, LongText, PlainInput } from '../ui/labelled'
import { Fault } from '../ui/page'
import { type Option, type Options, optionsOf, Select } from '../ui/select'
import { messageAt } from './form-values'
import { choicesOf, type Lookups } from './lookups'
import type { Field } from './resource'
import { Rows } from './rows'

type FieldProps = {
  field: Field
  form: UseFormReturn
  values: FieldValues
  lookups: Lookups
  isNew: boolean
}

/** The fields of a form that its values show. */
export const FormFields = ({ fields, ...form }: Omit<FieldProps, 'field'> & { fields: readonly Field[] }) =>
  fields
    .filter(({ when }) => when === undefined || when(form.values))
    .map((field) => <FormField key={field.name} field={field} {...form} />)

/** One field of a form, by its kind. */
function FormField({ field, form, values, lookups, isNew }: FieldProps) {
  const { control } = form
  const { errors, defaultValues } = useFormState({ control, name: field.name })
  const initial = isNew ? null : (defaultValues ?? null)
  const message = messageAt(errors, field.name)
  const { name, label, isOptional = false } = field
  const fixed = initial === null ? null : fixedBy(field, values, initial)
  const isDisabled = fixed !== null
  const hint = fixed ?? (typeof field.hint === 'function' ? field.hint(values) : field.hint)
  const first = field.kind === 'reference' && field.isFirstChosen ? lookups[field.to].all[0]?.id : undefined
  useEffect(() => {
    // It is no entry of the person. A reset of the whole form would take the messages away.
    if (first !== undefined && form.getValues(name) === '') form.resetField(name, { defaultValue: first })
  }, [form, name, first])
  const labelled = (children: ReactNode) => (
    <Labelled {...{ label, hint, message, isOptional }}>{children}</Labelled>
  )
  const input = (props?: ComponentProps<'input'>, unit = '') =>
    labelled(
      <span className="flex items-center gap-2">
        <PlainInput spellCheck disabled={isDisabled} {...props} {...form.register(name)} />
        {unit !== '' && <span className="text-quiet whitespace-nowrap">{unit}</span>}
      </span>,
    )
  const select = (options: Options, none?: string) =>
    labelled(
      // Controlled, so that a value shows once its option has been loaded.
      <Controller
        control={control}
        name={name}
        render={({ field: chosen }) => (
          <Select options={options} none={none} {...chosen} disabled={isDisabled} />
        )}
      />,
    )
  switch (field.kind) {
    case 'text':
      return input({ placeholder: field.placeholder })
    case 'key':
      return input({ spellCheck: false, className: 'font-mono' })
    case 'date':
    case 'time':
      return input({ type: field.kind })
    case 'number':
      return input(
        { className: 'tabular-nums', inputMode: field.isSigned ? 'text' : 'decimal' },
        typeof field.unit === 'function' ? field.unit(values, lookups) : field.unit,
      )
    case 'long-text':
      return labelled(<LongText disabled={isDisabled} {...form.register(name)} />)
    case 'choice':
      return select(typeof field.options === 'function' ? field.options(initial) : field.options)
    case 'reference': {
      const { all, isLoading } = lookups[field.to]
      return select(
        choicesOf(all),
        isLoading ? 'Loading…' : all.length === 0 ? 'There is none yet' : 'Choose…',
      )
    }
    case 'switch':
      return (
        <Controller
          control={control}
          name={name}
          render={({ field: { value, onChange, ...rest } }) => (
            <Toggle
              label={label}
              hint={hint}
              {...rest}
              checked={value === true}
              onChange={({ target }) => onChange(target.checked)}
              disabled={isDisabled}
            />
          )}
        />
      )
    case 'references':
      return (
        <Several
          {...{ name, control, label, hint, message, isDisabled }}
          options={optionsOf(field.options(lookups, initial))}
          none={field.none}
        />
      )
    case 'rows':
      return <Rows {...{ field, form, hint, lookups, isDisabled }} />
    case 'custom': {
      const change = (name: string, value: unknown) =>
        form.setValue(name, value, { shouldDirty: true, shouldValidate: true })
      return field.render({ values, change, lookups, label, message })
    }
  }
}

/** Why a field of an existing item can't be changed; null if it can. */
export const fixedBy = ({ fixed }: Field, values: FieldValues, initial: FieldValues): string | null =>
  typeof fixed === 'function' ? fixed(values, initial) : (fixed ?? null)

/** A box to tick for each of several options. */
function Several({
  control,
  name,
  options,
  label,
  hint,
  message,
  none = 'There is none yet.',
  isDisabled,
}: {
  control: UseFormReturn['control']
  name: string
  options: readonly Option[]
  label: string
  hint: string | undefined
  message: string | undefined
  /** The next step if there are no options. */
  none: string | undefined
  isDisabled: boolean
}) {
  return (
    <Controller
      control={control}
      name={name}
      render={({ field: { ref, value, onChange } }) => {
        const chosen: readonly string[] = Array.isArray(value) ? value : []
        return (
          <fieldset className="flex flex-col gap-1.5" disabled={isDisabled}>
            <legend className="mb-1.5 font-medium">{label}</legend>
            <Fault>{message}</Fault>
            {options.length === 0 && <p className="text-quiet">{none}</p>}
            <div className="flex max-h-56 flex-col gap-1 overflow-y-auto rounded-md border border-line p-2 empty:hidden">
              {options.map((option, index) => (
                <label
                  key={option.value}
                  className="flex items-center gap-2.5 rounded-sm px-1.5 py-1 hover:bg-hover"
                >
                  <input
                    type="checkbox"
                    // The first one gets the focus if nothing right is chosen.
                    ref={index === 0 ? ref : undefined}
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
            {hint !== undefined && <p className="text-sm text-quiet">{hint}</p>}
          </fieldset>
        )
      }}
    />
  )
}
