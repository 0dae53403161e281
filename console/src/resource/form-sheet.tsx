import { type ReactNode, useState } from 'react'
import { type DefaultValues, type FieldValues, useForm } from 'react-hook-form'
import type { z } from 'zod'
import { Button } from '../ui/button'
import { Sheet } from '../ui/dialog'
import { Notice } from '../ui/page'
import { FormField } from './fields'
import { showRefusal, useFormValues } from './form-values'
import { type LookupName, useLookups } from './lookups'
import { resolverOf } from './resolver'
import type { Field } from './resource'

const NONE: readonly LookupName[] = []

type FormSheetProps<Values extends FieldValues, Draft> = {
  title: string
  about?: ReactNode
  fields: readonly Field<Values>[]
  schema: z.ZodType<Draft, Values>
  values: Values
  /** The text of the button that submits. */
  submit: string
  /** The other resources that the fields name. */
  needs?: readonly LookupName[]
  onSubmit: (draft: Draft) => Promise<unknown>
  onClose: () => void
}

/**
 * A form beside the page, of something that is no resource. Each error of the interface is shown at its
 * field.
 */
export function FormSheet<Values extends FieldValues, Draft>({
  title,
  about,
  fields,
  schema,
  values: initial,
  submit,
  needs = NONE,
  onSubmit,
  onClose,
}: FormSheetProps<Values, Draft>) {
  const lookups = useLookups(needs)
  const [others, setOthers] = useState<readonly string[]>([])
  const form = useForm<Values>({
    resolver: resolverOf(schema),
    defaultValues: initial as DefaultValues<Values>,
    mode: 'onTouched',
  })
  const values = useFormValues(form, fields, true)
  const { isSubmitting } = form.formState
  const send = form.handleSubmit(
    async (given) => {
      setOthers([])
      try {
        await onSubmit(schema.parse(given))
      } catch (error) {
        const names = fields.map(({ name }) => name)
        setOthers(showRefusal(form, error, names))
      }
    },
    () => setOthers([]),
  )
  return (
    <Sheet title={title} about={about} onClose={onClose}>
      <form onSubmit={send} noValidate className="flex min-h-0 flex-1 flex-col" aria-busy={isSubmitting}>
        <div className="sheet-body">
          {fields.map((field) => (
            <FormField key={field.name} field={field} form={form} values={values} lookups={lookups} isNew />
          ))}
        </div>
        <div className="sheet-foot">
          {others.length > 0 && <Notice tone="danger">{others.join(' ')}</Notice>}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="primary" isBusy={isSubmitting}>
              {submit}
            </Button>
          </div>
        </div>
      </form>
    </Sheet>
  )
}
