import { z } from 'zod'
import { useAdmin } from '../../../api/laurel'
import { FormSheet } from '../../../resource/form-sheet'
import type { Field } from '../../../resource/resource'
import { optionalText, reference, whole } from '../../../resource/schemas'
import { useUserWrite } from '../user-writes'

/** The most points of one adjustment. */
const MOST = 1_000_000

const Draft = z.object({
  system: reference(),
  amount: whole({ min: -MOST, max: MOST }).refine((given) => given !== 0, 'Use a number other than 0.'),
  reason: optionalText(1000),
})

const FIELDS: readonly Field<z.input<typeof Draft>>[] = [
  { kind: 'reference', name: 'system', label: 'Points system', to: 'points', isFirstChosen: true },
  {
    kind: 'number',
    name: 'amount',
    label: 'Amount',
    unit: 'points',
    hint: 'A negative number takes points, such as -20.',
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
  const admin = useAdmin()
  const write = useUserWrite()
  return (
    <FormSheet
      title="Adjust points"
      about="The maximum of the system applies, boosts do not. A total cannot be below 0."
      fields={FIELDS}
      schema={Draft}
      values={{ system: '', amount: '', reason: '' }}
      needs={['points']}
      submit="Adjust points"
      onSubmit={({ system, amount, reason }) =>
        write.mutateAsync({
          act: () =>
            admin.points.adjustments.create(system, [{ userId, amount, ...(reason !== '' && { reason }) }]),
          done: 'The points were adjusted',
          after: onClose,
        })
      }
      onClose={onClose}
    />
  )
}
