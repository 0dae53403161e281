import type { GetUserPointsResponse } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { useLaurel } from '../../../api/laurel'
import { FormSheet } from '../../../resource/form-sheet'
import type { Field } from '../../../resource/resource'
import { optionalText, reference, whole } from '../../../resource/schemas'
import { formatNumber } from '../../../ui/format'
import { say } from '../../../ui/text'
import { keyOfUser, USERS, writesOf } from '../user-paths'

/** The most points of one adjustment. */
const MOST = 1_000_000

const Draft = z.object({
  system: reference(),
  amount: whole({ min: -MOST, max: MOST }).refine((given) => given !== 0, 'Use a number other than 0.'),
  reason: optionalText(1000),
})

type Values = z.input<typeof Draft>
type Total = Pick<GetUserPointsResponse, 'id' | 'name' | 'total' | 'maxPoints'>

/** The total after an adjustment: from 0 to the maximum of the system (V1). */
const totalAfter = ({ total, maxPoints }: Total, amount: number): number =>
  amount < 0
    ? Math.max(0, total + amount)
    : Math.max(total, Math.min(total + amount, maxPoints ?? Number.POSITIVE_INFINITY))

const AMOUNT_HINT = 'A negative number takes points, such as -20.'

/** The present total, and the one afterwards, in words. */
function totalInWords({ system, amount }: Values, totals: readonly Total[] | undefined): string {
  const found = totals?.find(({ id }) => id === system)
  if (found === undefined) return AMOUNT_HINT
  const { name, total } = found
  const now = `Now: ${formatNumber(total)} ${name}.`
  const parsed = Draft.shape.amount.safeParse(amount)
  if (!parsed.success) return `${now} ${AMOUNT_HINT}`
  const after = totalAfter(found, parsed.data)
  const then = `${now} Afterwards: ${formatNumber(after)}.`
  if (after === total + parsed.data) return then
  return `${then} ${parsed.data < 0 ? 'A total cannot be below 0.' : 'A total cannot exceed the maximum.'}`
}

/** The fields of the form. Totals are undefined until they have been read. */
const fieldsOf = (totals: readonly Total[] | undefined): readonly Field<Values>[] => [
  { kind: 'reference', name: 'system', label: 'Points system', to: 'points', isFirstChosen: true },
  {
    kind: 'number',
    name: 'amount',
    label: 'Amount',
    unit: 'points',
    hint: (values) => totalInWords(values, totals),
  },
  {
    kind: 'long-text',
    name: 'reason',
    label: 'Reason',
    isOptional: true,
    hint: 'Is shown in the timeline of the user.',
  },
]

/** Gives points to a user by hand, or takes them. */
export function AdjustPointsForm({ userId, onClose }: { userId: string; onClose: () => void }) {
  const laurel = useLaurel()
  const overview = useQuery({
    queryKey: keyOfUser(userId, 'overview'),
    queryFn: () => laurel.users.overview(userId),
  })
  return (
    <FormSheet
      {...writesOf(userId)}
      name={`${USERS}/${userId}/adjust-points`}
      title="Adjust points"
      about="The maximum of the system applies, boosts do not. A total cannot be below 0."
      fields={fieldsOf(overview.data?.points)}
      schema={Draft}
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
