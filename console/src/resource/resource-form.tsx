import type { FieldValues } from 'react-hook-form'
import { nameOr, say } from '../ui/text'
import { fixedBy } from './fields'
import { FormSheet } from './form-sheet'
import { useLookups } from './lookups'
import { type Field, keyOf, type Resource, type Thing, titleOf } from './resource'
import { REFUSED, refusesEntry } from './schemas'
import { showWritten, useResourceItem } from './shown'
import { valuesIn } from './values'
import { itemOf, named } from './writes'

type FormProps = {
  resource: Resource
  /** The key or id. Null for a new one. */
  itemKey: string | null
  onClose: () => void
  /** After a write, if the form is still open. The key may be another one than before. */
  onWritten(item: Thing): void
}

/** A draft without the fields that can't be changed in an existing item. */
function changeable(fields: readonly Field[], values: FieldValues, initial: FieldValues, draft: object) {
  const fixed = fields.filter((field) => fixedBy(field, values, initial) !== null).map(({ name }) => name)
  return Object.fromEntries(Object.entries(draft).filter(([name]) => !fixed.includes(name)))
}

/** The form of a new or an existing item, as soon as that is known. */
export function ResourceForm({ resource, itemKey, onClose, onWritten }: FormProps) {
  const { one, form, path } = resource
  const lookups = useLookups(resource.needs)
  const { data: item = null } = useResourceItem(resource, itemKey)
  if (itemKey !== null && item === null) return null
  return (
    <FormSheet
      name={`${path}/${item === null ? 'new' : item.id}`}
      title={item === null ? `New ${one}` : say`Edit ${titleOf(resource, item, lookups)}`}
      path={path}
      look={resource.page}
      fields={form.fields}
      schema={form.schema}
      values={valuesIn(form, item)}
      stored={item && { item, queryKey: [path, 'item'], valuesOf: (one: Thing) => valuesIn(form, one) }}
      isNew={item === null}
      preview={
        form.preview &&
        ((values) =>
          refusesEntry(form.schema, values) ? REFUSED : (form.preview?.(values, lookups) ?? null))
      }
      submit={item === null ? `Create ${one}` : 'Save changes'}
      submitAndStay={item === null && form.isRepeated ? 'Save and add another' : undefined}
      needs={resource.needs}
      write={(draft, values) => ({
        what: named(one, nameOr(titleOf(resource, draft, lookups), item ? keyOf(resource, item) : one)),
        did: item === null ? 'was created' : 'was saved',
        act: (admin) => {
          const operations = resource.operations(admin)
          if (item === null) return operations.create([draft])
          return operations.update([
            { ...changeable(form.fields, values, valuesIn(form, item), draft), id: item.id },
          ])
        },
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
