import { type ReactNode, useRef, useState } from 'react'
import { type DefaultValues, type FieldValues, useForm } from 'react-hook-form'
import { Button } from '../ui/button'
import { Sheet } from '../ui/dialog'
import { Notice } from '../ui/page'
import { failed } from '../ui/toasts'
import { FormField } from './fields'
import { showRefusal, useFormValues } from './form-values'
import type { Lookups } from './lookups'
import { resolverOf } from './resolver'
import type { Resource, Written } from './resource'
import { REFUSED, refusesEntry } from './schemas'
import { showExpected, showItem } from './shown'
import { useWrite } from './writes'

type FormProps<Item extends object, Values extends FieldValues, Draft> = {
  resource: Resource<Item, Values, Draft>
  /** Null for a new one. */
  item: Item | null
  lookups: Lookups
  onClose: () => void
  /** After a write. The key may be another one than before. */
  onWritten: (item: Item) => void
}

/** The form of a new or an existing item. Each error of the interface is shown at its field. */
export function ResourceForm<Item extends object, Values extends FieldValues, Draft>({
  resource,
  item,
  lookups,
  onClose,
  onWritten,
}: FormProps<Item, Values, Draft>) {
  const { one, form: declared, path } = resource
  const isNew = item === null
  const [others, setOthers] = useState<readonly string[]>([])
  const form = useForm<Values>({
    resolver: resolverOf(declared.schema),
    defaultValues: declared.values(item) as DefaultValues<Values>,
    mode: 'onTouched',
  })
  const values = useFormValues(form, declared.fields, isNew)
  const fields = declared.fields.filter(({ when }) => when === undefined || when(values))
  const write = useWrite<Item>(path)
  const preview = refusesEntry(declared.schema, values) ? REFUSED : declared.preview?.(values, lookups)

  // The page behind shows an edited item at once. If the interface refuses it, the form is back.
  const [isHidden, setHidden] = useState(false)

  const element = useRef<HTMLFormElement>(null)
  /** Empties the form for the next item. */
  const startAgain = () => {
    element.current?.reset()
    form.reset(declared.values(null) as DefaultValues<Values>)
    element.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }

  const submitThen = (isLast: boolean) =>
    form.handleSubmit(
      async (given) => {
        setOthers([])
        const draft = declared.schema.parse(given)
        setHidden(item !== null)
        try {
          const written = await write.mutateAsync({
            act: (admin): PromiseLike<Written<Item>> =>
              item === null ? resource.create(admin, draft) : resource.update(admin, item, draft),
            done: isNew ? `The ${one} was created` : 'Your changes were saved',
            ...(item !== null && {
              expect: (queries) => showExpected(queries, resource, resource.expected(item, draft)),
            }),
            show: (queries, answer) => {
              if (answer !== undefined) showItem(queries, resource, answer)
            },
          })
          if (!isLast) startAgain()
          else if (written !== undefined) onWritten(written)
          else onClose()
        } catch (error) {
          setHidden(false)
          if (item !== null) failed('Your changes were not saved', 'Correct them in the form, or try again.')
          const names = declared.fields.map(({ name }) => name)
          setOthers(showRefusal(form, error, names))
        }
      },
      () => setOthers([]),
    )

  if (isHidden) return null
  return (
    <Sheet title={isNew ? `New ${one}` : `Edit ${resource.nameOf(item, lookups)}`} onClose={onClose}>
      <form
        ref={element}
        onSubmit={submitThen(true)}
        noValidate
        className="flex min-h-0 flex-1 flex-col"
        aria-busy={write.isPending}
      >
        <div className="sheet-body">
          {fields.map((field) => (
            <FormField
              key={field.name}
              field={field}
              form={form}
              values={values}
              lookups={lookups}
              isNew={isNew}
            />
          ))}
        </div>
        <div className="sheet-foot">
          {declared.preview !== undefined && (
            <InWords>{preview ?? 'Fill in the fields to see what happens.'}</InWords>
          )}
          {others.length > 0 && <Notice tone="danger">{others.join(' ')}</Notice>}
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            {isNew && declared.isRepeated && (
              <Button isBusy={write.isPending} onClick={submitThen(false)}>
                Save and add another
              </Button>
            )}
            <Button type="submit" look="primary" isBusy={write.isPending}>
              {isNew ? `Create ${one}` : 'Save changes'}
            </Button>
          </div>
        </div>
      </form>
    </Sheet>
  )
}

/** The item of a form in words. It changes while one types. */
export const InWords = ({ children }: { children: ReactNode }) => (
  <div className="rounded-md bg-accent-soft px-4 py-2.5">
    <p className="text-sm font-medium text-accent">In words</p>
    <p aria-live="polite">{children}</p>
  </div>
)
