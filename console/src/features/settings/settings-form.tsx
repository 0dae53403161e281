import type { Settings } from '@laurel/client'
import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { z } from 'zod'
import { messagesByField, objectionsOf } from '../../api/errors'
import { FormField } from '../../resource/fields'
import { useFormValues } from '../../resource/form-values'
import { useLookups } from '../../resource/lookups'
import { resolverOf } from '../../resource/resolver'
import type { Field } from '../../resource/resource'
import { InWords } from '../../resource/resource-form'
import { asText, choice, decimal } from '../../resource/schemas'
import { useWrite } from '../../resource/writes'
import { Button } from '../../ui/button'
import { Unsaved } from '../../ui/dialog'
import { Notice } from '../../ui/page'

const Draft = z.object({
  controlRatio: decimal({ min: 0, max: 100 }),
  recapFrequency: choice(['none', 'weekly', 'monthly']),
})

type Values = z.input<typeof Draft>

const FIELDS: readonly Field<Values>[] = [
  {
    kind: 'number',
    name: 'controlRatio',
    label: 'Control group',
    unit: '% of new users',
    hint: 'These users get no messages. So you can see whether messages keep users. It does not move users who exist.',
  },
  {
    kind: 'choice',
    name: 'recapFrequency',
    label: 'Recap',
    options: [
      { value: 'none', label: 'None' },
      { value: 'weekly', label: 'Every week, on Monday' },
      { value: 'monthly', label: 'Every month, on the 1st' },
    ],
  },
]

const RECAPS = {
  none: 'No recaps are sent.',
  weekly: 'Users get a recap each Monday at 09:00.',
  monthly: 'Users get a recap on the 1st of each month at 09:00.',
} as const

const inWords = ({ controlRatio, recapFrequency }: Values) => {
  const share = Number(controlRatio)
  const group = share > 0 ? `${share} of 100 new users get no messages.` : 'All new users may get messages.'
  return `${group} ${RECAPS[recapFrequency]}`
}

/** The settings of a tenant, as one form. */
export function SettingsForm({ settings }: { settings: Settings }) {
  const lookups = useLookups([])
  const form = useForm<Values>({
    resolver: resolverOf(Draft),
    values: {
      controlRatio: asText(settings.controlRatio),
      recapFrequency: settings.recapFrequency,
    },
    resetOptions: { keepDirtyValues: true },
    mode: 'onTouched',
  })
  const values = useFormValues(form, FIELDS, false)
  const write = useWrite<never>('/settings')
  const [others, setOthers] = useState<readonly string[]>([])
  const { isDirty } = form.formState
  const submit = form.handleSubmit(async (given) => {
    setOthers([])
    try {
      await write.mutateAsync({
        act: async (admin) => ({ issues: (await admin.settings.update(Draft.parse(given))).issues ?? [] }),
        done: 'The settings were saved',
      })
      form.reset(given)
    } catch (error) {
      const names = FIELDS.map(({ name }) => name)
      const { byField, others: rest } = messagesByField(objectionsOf(error), names)
      for (const name of names) {
        const message = byField.get(name)
        if (message !== undefined) form.setError(name, { type: 'server', message })
      }
      setOthers(rest)
    }
  })
  return (
    <form onSubmit={submit} noValidate className="flex max-w-xl flex-col gap-5" aria-busy={write.isPending}>
      <Unsaved hasEntries={() => isDirty} />
      {FIELDS.map((field) => (
        <FormField
          key={field.name}
          field={field}
          form={form}
          values={values}
          lookups={lookups}
          isNew={false}
        />
      ))}
      <InWords>{inWords(values)}</InWords>
      {others.length > 0 && <Notice tone="danger">{others.join(' ')}</Notice>}
      <div>
        <Button type="submit" look="primary" isBusy={write.isPending}>
          Save changes
        </Button>
      </div>
    </form>
  )
}
