import { z } from 'zod'
import { FormSheet } from '../../../resource/form-sheet'
import type { Field } from '../../../resource/resource'
import { at, date, isInOrder } from '../../../resource/schemas'
import { say } from '../../../ui/text'
import { USERS, writesOf } from '../user-paths'

const Draft = z
  .object({ start: date(), end: date() })
  .refine(isInOrder, at('end', 'Choose a day that is not before the first one.'))

const FIELDS: readonly Field<z.input<typeof Draft>>[] = [
  { kind: 'date', name: 'start', label: 'First day' },
  { kind: 'date', name: 'end', label: 'Last day', hint: 'Both days are local dates of the user.' },
]

/** Pauses the streak of a user. */
export function PauseForm({ userId, onClose }: { userId: string; onClose: () => void }) {
  return (
    <FormSheet
      {...writesOf(userId)}
      name={`${USERS}/${userId}/pause`}
      title="Pause the streak"
      about="On these days the streak does not end, and does not grow without an event."
      fields={FIELDS}
      schema={Draft}
      values={{ start: '', end: '' }}
      submit="Create pause"
      write={({ start, end }) => ({
        what: say`The pause of ${userId}`,
        did: 'was created',
        act: (admin) => admin.streaks.pauses.create({ pauses: [{ userId, start, end }] }),
      })}
      onClose={onClose}
    />
  )
}
