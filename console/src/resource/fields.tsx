import { type ComponentProps, useEffect } from 'react'
import { Controller, type FieldValues, type UseFormReturn, useFormState } from 'react-hook-form'
import { Toggle } from '../ui/button'
import { Labelled } from '../ui/labelled'
import { Fault } from '../ui/page'
import { type Options, optionsOf, Select } from '../ui/select'
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
  const { label, isOptional = false } = field
  const fixed = initial === null ? null : fixedBy(field, values, initial)
  const isDisabled = fixed !== null
  const hint = fixed ?? (typeof field.hint === 'function' ? field.hint(values) : field.hint)
  const shared = { label, hint, message, isOptional }
  const chosen = { ...shared, control, name: field.name, isDisabled }
  const input = (props?: ComponentProps<'input'>, unit = '') => (
    <Labelled {...shared}>
      {(tied) => (
        <span className="flex items-center gap-2">
          <input
            className="control"
            autoComplete="off"
            disabled={isDisabled}
            {...tied}
            {...props}
            {...form.register(field.name)}
          />
          {unit !== '' && <span className="text-quiet whitespace-nowrap">{unit}</span>}
        </span>
      )}
    </Labelled>
  )
  switch (field.kind) {
    case 'text':
      return input({ placeholder: field.placeholder })
    case 'key':
      return input({ spellCheck: false, autoCapitalize: 'off', className: 'control font-mono' })
    case 'date':
    case 'time':
      return input({ type: field.kind })
    case 'number':
      return input(
        { className: 'control tabular-nums', inputMode: 'decimal' },
        typeof field.unit === 'function' ? field.unit(values, lookups) : field.unit,
      )
    case 'long-text':
      return (
        <Labelled {...shared}>
          {(tied) => (
            <textarea
              className="control"
              rows={3}
              disabled={isDisabled}
              {...tied}
              {...form.register(field.name)}
            />
          )}
        </Labelled>
      )
    case 'choice':
      return (
        <Choice
          {...chosen}
          options={typeof field.options === 'function' ? field.options(initial) : field.options}
        />
      )
    case 'reference': {
      const { all, isLoading } = lookups[field.to]
      const first = isLoading ? 'Loading…' : all.length === 0 ? 'There is none yet' : 'Choose…'
      return (
        <>
          {field.isFirstChosen && <FirstChosen form={form} name={field.name} value={all[0]?.id} />}
          <Choice {...chosen} none={first} options={choicesOf(all)} />
        </>
      )
    }
    case 'switch':
      return (
        <Controller
          control={control}
          name={field.name}
          render={({ field: { value, onChange, ref, name, onBlur } }) => (
            <Toggle
              label={label}
              hint={hint}
              ref={ref}
              name={name}
              onBlur={onBlur}
              checked={value === true}
              onChange={({ target }) => onChange(target.checked)}
              disabled={isDisabled}
            />
          )}
        />
      )
    case 'references':
      return <Several {...chosen} options={field.options(lookups, initial)} none={field.none} />
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

/** Fills an empty field with a value as soon as the value is known. */
function FirstChosen({
  form: { getValues, resetField },
  name,
  value,
}: {
  form: UseFormReturn
  name: string
  value: string | undefined
}) {
  useEffect(() => {
    // It is no entry of the person. A reset of the whole form would take the messages away.
    if (value !== undefined && getValues(name) === '') resetField(name, { defaultValue: value })
  }, [getValues, resetField, name, value])
  return null
}

type ChosenProps = Omit<ComponentProps<typeof Labelled>, 'children'> & {
  name: string
  control: UseFormReturn['control']
  options: Options
  /** The empty choice, or the next step if there are no options. */
  none?: string | undefined
  isDisabled: boolean
}

function Choice({ name, control, options, none, isDisabled, ...shared }: ChosenProps) {
  return (
    <Labelled {...shared}>
      {(tied) => (
        // Controlled, so that a value shows once its option has been loaded.
        <Controller
          control={control}
          name={name}
          render={({ field }) => (
            <Select options={options} none={none} {...tied} {...field} disabled={isDisabled} />
          )}
        />
      )}
    </Labelled>
  )
}

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
}: ChosenProps) {
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
