import { Plus, Trash2 } from 'lucide-react'
import { type ComponentProps, type ReactNode, useId } from 'react'
import {
  type Control,
  Controller,
  type FieldPath,
  type FieldValues,
  type UseFormReturn,
  useFieldArray,
  useFormState,
  useWatch,
} from 'react-hook-form'
import { Button, IconButton, Toggle } from '../ui/button'
import type { Lookups } from './lookups'
import type { Field, Option } from './resource'
import { slugOf } from './slug'

/** A label, a control, a hint and a message, tied together for screen readers. */
export function Labelled({
  label,
  hint,
  message,
  isOptional = false,
  children,
}: {
  label: string
  hint?: ReactNode
  message?: string | undefined
  isOptional?: boolean
  children: (props: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': boolean
  }) => ReactNode
}) {
  const id = useId()
  const described = [message !== undefined && `${id}-message`, hint !== undefined && `${id}-hint`]
    .filter(Boolean)
    .join(' ')
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {isOptional && <span className="text-sm text-quiet">optional</span>}
      </div>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': message !== undefined })}
      {message !== undefined && (
        <p id={`${id}-message`} role="alert" className="text-sm text-danger">
          {message}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-quiet">
          {hint}
        </p>
      )}
    </div>
  )
}

type FieldProps<Values extends FieldValues> = {
  field: Field<Values>
  form: UseFormReturn<Values>
  values: Values
  lookups: Lookups
  isNew: boolean
}

/** One field of a form, by its kind. */
export function FormField<Values extends FieldValues>({
  field,
  form,
  values,
  lookups,
  isNew,
}: FieldProps<Values>) {
  const { control } = form
  const { errors } = useFormState({ control, name: field.name })
  const message = messageAt(errors, field.name)
  const isDisabled = !isNew && field.isFixed === true
  const { label, hint, isOptional = false } = field
  const shared = { label, hint, message, isOptional }
  const plain = (props: ComponentProps<'input'>) => (
    <Labelled {...shared}>
      {(tied) => (
        <input
          className="control"
          autoComplete="off"
          disabled={isDisabled}
          {...tied}
          {...props}
          {...form.register(field.name)}
        />
      )}
    </Labelled>
  )
  switch (field.kind) {
    case 'text':
      return plain({ type: 'text', placeholder: field.placeholder })
    case 'key':
      return plain({
        type: 'text',
        spellCheck: false,
        autoCapitalize: 'off',
        className: 'control font-mono',
      })
    case 'date':
    case 'time':
      return plain({ type: field.kind })
    case 'number': {
      const unit = typeof field.unit === 'function' ? field.unit(values, lookups) : field.unit
      return (
        <Labelled {...shared}>
          {(tied) => (
            <span className="flex items-center gap-2">
              <input
                className="control tabular-nums"
                inputMode="decimal"
                autoComplete="off"
                disabled={isDisabled}
                {...tied}
                {...form.register(field.name)}
              />
              {unit !== undefined && unit !== '' && (
                <span className="text-quiet whitespace-nowrap">{unit}</span>
              )}
            </span>
          )}
        </Labelled>
      )
    }
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
        <Choice {...shared} name={field.name} form={form} options={field.options} isDisabled={isDisabled} />
      )
    case 'reference': {
      const { all, isLoading } = lookups[field.to]
      const options = all.map(({ id, name }) => ({ value: id, label: name }))
      const first = isLoading ? 'Loading…' : all.length === 0 ? 'There is none yet' : 'Choose…'
      return (
        <Choice
          {...shared}
          name={field.name}
          form={form}
          options={[{ value: '', label: first }, ...options]}
          isDisabled={isDisabled}
        />
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
      return <Several {...shared} control={control} name={field.name} options={field.options(lookups)} />
    case 'filters':
      return (
        <Filters form={form} name={field.name} label={label} hint={hint} of={field.of} lookups={lookups} />
      )
    case 'custom':
      return <field.render control={control} label={label} />
  }
}

/** The message at a path of the errors, which may be nested. */
export function messageAt(errors: unknown, path: string): string | undefined {
  let found: unknown = errors
  for (const part of path.split('.'))
    found = typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined
  const message: unknown =
    typeof found === 'object' && found !== null ? Reflect.get(found, 'message') : undefined
  return typeof message === 'string' && message !== '' ? message : undefined
}

function Choice<Values extends FieldValues>({
  name,
  form,
  options,
  isDisabled,
  ...shared
}: {
  name: FieldPath<Values>
  form: UseFormReturn<Values>
  options: readonly Option[]
  isDisabled: boolean
  label: string
  hint?: string | undefined
  message?: string | undefined
  isOptional?: boolean
}) {
  return (
    <Labelled {...shared}>
      {(tied) => (
        // Controlled, so that a value shows once its option has been loaded.
        <Controller
          control={form.control}
          name={name}
          render={({ field }) => (
            <select className="control" {...tied} {...field} disabled={isDisabled}>
              {options.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        />
      )}
    </Labelled>
  )
}

/** A box to tick for each of several options. */
function Several<Values extends FieldValues>({
  control,
  name,
  options,
  label,
  hint,
  message,
}: {
  control: Control<Values>
  name: FieldPath<Values>
  options: readonly Option[]
  label: string
  hint?: string | undefined
  message?: string | undefined
}) {
  return (
    <Controller
      control={control}
      name={name}
      render={({ field: { value, onChange } }) => {
        const chosen: readonly string[] = Array.isArray(value) ? value : []
        return (
          <fieldset className="flex flex-col gap-1.5">
            <legend className="mb-1.5 font-medium">{label}</legend>
            {options.length === 0 && <p className="text-quiet">There is none yet.</p>}
            <div className="flex max-h-56 flex-col gap-1 overflow-y-auto rounded-md border border-line p-2 empty:hidden">
              {options.map((option) => (
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
            {message !== undefined && (
              <p role="alert" className="text-sm text-danger">
                {message}
              </p>
            )}
            {hint !== undefined && <p className="text-sm text-quiet">{hint}</p>}
          </fieldset>
        )
      }}
    />
  )
}

/** Attributes with the values that they must have. */
function Filters<Values extends FieldValues>({
  form,
  name,
  label,
  hint,
  of,
  lookups,
}: {
  form: UseFormReturn<Values>
  name: FieldPath<Values>
  label: string
  hint?: string | undefined
  of: 'user' | 'event'
  lookups: Lookups
}) {
  const attributes = lookups.attributes.all.filter(({ type }) => type === of)
  const { errors } = useFormState({ control: form.control, name })
  const rows = useRows(form, name)
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">{label}</legend>
      {hint !== undefined && <p className="text-sm text-quiet">{hint}</p>}
      {rows.all.map(({ id }, index) => {
        const message =
          messageAt(errors, `${name}.${index}.attributeId`) ??
          messageAt(errors, `${name}.${index}.attributeValue`)
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
        <p className="text-sm text-quiet">There are no {of} attributes yet.</p>
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
