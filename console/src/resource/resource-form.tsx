import type { FieldValues } from 'react-hook-form'
import { say } from '../ui/text'
import { FormSheet } from './form-sheet'
import { useLookups } from './lookups'
import type { Resource } from './resource'
import { REFUSED, refusesEntry } from './schemas'
import { showWritten, useResourceItem } from './shown'
import { itemOf, named } from './writes'

type FormProps<Item extends { id: string }, Values extends FieldValues, Draft> = {
  resource: Resource<Item, Values, Draft>
  /** The key or id. Null for a new one. */
  itemKey: string | null
  onClose: () => void
  /** After a write, if the form is still open. The key may be another one than before. */
  onWritten: (item: Item) => void
}

/** The form of a new or an existing item, as soon as that is known. */
export function ResourceForm<Item extends { id: string }, Values extends FieldValues, Draft>({
  resource,
  itemKey,
  onClose,
  onWritten,
}: FormProps<Item, Values, Draft>) {
  const { one, form, path } = resource
  const lookups = useLookups(resource.needs)
  const { data: item = null } = useResourceItem(resource, itemKey)
  if (itemKey !== null && item === null) return null
  return (
    <FormSheet
      name={`${path}/${item === null ? 'new' : item.id}`}
      title={item === null ? `New ${one}` : say`Edit ${resource.nameOf(item, lookups)}`}
      path={path}
      look={resource.page}
      fields={form.fields}
      schema={form.schema}
      values={form.values(item)}
      stored={item && { item, queryKey: [path, 'item'], valuesOf: (one: Item) => form.values(one) }}
      isNew={item === null}
      preview={
        form.preview &&
        ((values) =>
          refusesEntry(form.schema, values) ? REFUSED : (form.preview?.(values, lookups) ?? null))
      }
      submit={item === null ? `Create ${one}` : 'Save changes'}
      submitAndStay={item === null && form.isRepeated ? 'Save and add another' : undefined}
      lookups={lookups}
      write={(draft) => ({
        what: named(one, resource.nameOfDraft?.(draft, lookups) ?? String(Object(draft).name)),
        did: item === null ? 'was created' : 'was saved',
        act: (admin) =>
          item === null ? resource.operations(admin).create([draft]) : resource.update(admin, item, draft),
        show: (queries, answer) => showWritten(queries, resource, itemOf(answer)),
        secret: (answer) => {
          const written = itemOf(answer)
          return written && item === null ? resource.secretOf?.(written) : undefined
        },
      })}
      onDone={(answer) => {
        const written = itemOf(answer)
        if (written === undefined) onClose()
        else onWritten(written)
      }}
      onClose={onClose}
    />
  )
}
