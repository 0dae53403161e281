import { z } from 'zod'
import { FormSheet } from '../../../resource/form-sheet'
import type { Field } from '../../../resource/resource'
import { optionalText } from '../../../resource/schemas'
import { say } from '../../../ui/text'
import { USERS, writesOf } from '../user-paths'

const Draft = z.object({ reason: optionalText(1000) })

const FIELDS: readonly Field<z.input<typeof Draft>>[] = [
  { kind: 'long-text', name: 'reason', label: 'Reason', isOptional: true, placeholder: 'Sent twice' },
]

/** Asks for the reason, then voids an event. */
export function VoidEventForm({
  userId,
  eventId,
  event,
  onClose,
}: {
  userId: string
  eventId: string
  /** The event in words. Undefined if it has not been loaded. */
  event: string | undefined
  onClose: () => void
}) {
  return (
    <FormSheet
      {...writesOf(userId)}
      name={`${USERS}/${userId}/void/${eventId}`}
      title="Void this event"
      about={
        <>
          {event !== undefined && <strong className="block font-medium text-text">{event}</strong>}
          Totals, points and rankings then count as if the event had never come. The streak and completed
          achievements stay. This cannot be undone.
        </>
      }
      fields={FIELDS}
      schema={Draft}
      values={{ reason: '' }}
      submit="Confirm void"
      write={({ reason }) => ({
        what: say`The event of ${userId}`,
        did: 'was voided',
        act: (admin) => admin.users.voidEvent(userId, eventId, reason === '' ? {} : { reason }),
      })}
      onClose={onClose}
    />
  )
}
