/** The forms of what support can do for a user. */
import type { GetUserPointsResponse } from '@laurel/client'
import { z } from 'zod'
import { FormSheet } from '../../../resource/form-sheet'
import { at, date, isInOrder, optionalText, reference, whole } from '../../../resource/schemas'
import { formatNumber } from '../../../ui/format'
import { nameOr, say } from '../../../ui/text'
import { USERS, useOverview, writesOf } from '../user-paths'

/** The most points of one adjustment. */
const MOST = 1_000_000

const Adjustment = z.object({
  system: reference(),
  amount: whole({ min: -MOST, max: MOST }).refine((given) => given !== 0, 'Use a number other than 0.'),
  reason: optionalText(1000),
})

type Total = Pick<GetUserPointsResponse, 'id' | 'key' | 'name' | 'total' | 'maxPoints'>

/** The total after an adjustment: from 0 to the maximum of the system (V1). */
const totalAfter = ({ total, maxPoints }: Total, amount: number): number =>
  amount < 0
    ? Math.max(0, total + amount)
    : Math.max(total, Math.min(total + amount, maxPoints ?? Number.POSITIVE_INFINITY))

const AMOUNT_HINT = 'A negative number takes points, such as -20.'

/** The present total, and the one afterwards, in words. Totals are undefined until they have been read. */
function totalInWords(
  { system, amount }: z.input<typeof Adjustment>,
  totals: readonly Total[] | undefined,
): string {
  const found = totals?.find(({ id }) => id === system)
  if (found === undefined) return AMOUNT_HINT
  const { name, key, total } = found
  const now = say`Now: ${formatNumber(total)} ${nameOr(name, key)}.`
  const parsed = Adjustment.shape.amount.safeParse(amount)
  if (!parsed.success) return `${now} ${AMOUNT_HINT}`
  const after = totalAfter(found, parsed.data)
  const then = `${now} Afterwards: ${formatNumber(after)}.`
  if (after === total + parsed.data) return then
  return `${then} ${parsed.data < 0 ? 'A total cannot be below 0.' : 'A total cannot exceed the maximum.'}`
}

type FormProps = { userId: string; onClose: () => void }

/** Gives points to a user by hand, or takes them. */
export function AdjustPointsForm({ userId, onClose }: FormProps) {
  const { data: overview } = useOverview(userId)
  return (
    <FormSheet
      {...writesOf(userId)}
      name={`${USERS}/${userId}/adjust-points`}
      title="Adjust points"
      about="The maximum of the system applies, boosts do not. A total cannot be below 0."
      fields={[
        { kind: 'reference', name: 'system', label: 'Points system', to: 'points', isFirstChosen: true },
        {
          kind: 'number',
          isSigned: true,
          name: 'amount',
          label: 'Amount',
          unit: 'points',
          hint: (values) => totalInWords(values, overview?.points),
        },
        {
          kind: 'long-text',
          name: 'reason',
          label: 'Reason',
          isOptional: true,
          hint: 'Is shown in the timeline of the user.',
        },
      ]}
      schema={Adjustment}
      values={{ system: '', amount: '', reason: '' }}
      needs={['points']}
      submit="Adjust points"
      write={({ system, amount, reason }) => ({
        what: say`The points of ${userId}`,
        did: 'were adjusted',
        act: (admin) =>
          admin.points.adjustments.create(system, [{ userId, amount, ...(reason !== '' && { reason }) }]),
        more: ({ created: [made] }) =>
          made === undefined || made.awarded === amount
            ? undefined
            : `By ${formatNumber(made.awarded)} instead of ${formatNumber(amount)}: that is the limit of the total.`,
      })}
      onClose={onClose}
    />
  )
}

const Pause = z
  .object({ start: date(), end: date() })
  .refine(isInOrder, at('end', 'Choose a day that is not before the first one.'))

/** Pauses the streak of a user. */
export const PauseForm = ({ userId, onClose }: FormProps) => (
  <FormSheet
    {...writesOf(userId)}
    name={`${USERS}/${userId}/pause`}
    title="Pause the streak"
    about="On these days the streak does not end, and does not grow without an event."
    fields={[
      { kind: 'date', name: 'start', label: 'First day' },
      { kind: 'date', name: 'end', label: 'Last day', hint: 'Both days are local dates of the user.' },
    ]}
    schema={Pause}
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

const Voiding = z.object({ reason: optionalText(1000) })

/** Asks for the reason, then voids an event. `event` says it in words, if it has been loaded. */
export const VoidEventForm = ({
  userId,
  eventId,
  event,
  onClose,
}: FormProps & { eventId: string; event: string | undefined }) => (
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
    fields={[
      { kind: 'long-text', name: 'reason', label: 'Reason', isOptional: true, placeholder: 'Sent twice' },
    ]}
    schema={Voiding}
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
