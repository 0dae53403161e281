import type { WebhookDelivery } from '@laurel/client'
import { Badge } from '../../ui/page'

const TONES = { pending: 'warning', delivered: 'good', dead: 'danger' } as const
/** The statuses of deliveries with their names. */
export const NAMES = { pending: 'pending', delivered: 'delivered', dead: 'given up' } as const

export const STATUSES = ['pending', 'delivered', 'dead'] as const

/** The state of a delivery. After a failed attempt, a pending one is tried again. */
export const DeliveryStatus = ({ status, attempts }: Pick<WebhookDelivery, 'status' | 'attempts'>) => (
  <Badge tone={TONES[status]}>{status === 'pending' && attempts > 0 ? 'retrying' : NAMES[status]}</Badge>
)

/** The keys of the reads of a webhook's deliveries. */
export const deliveriesKey = (webhookKey: string, ...more: string[]) => [
  '/webhooks',
  'deliveries',
  webhookKey,
  ...more,
]

export const SOON = 2_000
const LATER = 15_000

/** When deliveries are read again: soon if an attempt is due, later if one waits for a retry. */
export function readAgain(
  shown: readonly Pick<WebhookDelivery, 'status' | 'attempts' | 'nextAttempt'>[],
): number | null {
  const pending = shown.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return null
  const isDue = pending.some(
    ({ attempts, nextAttempt }) =>
      attempts === 0 || (nextAttempt !== null && Date.parse(nextAttempt) <= Date.now()),
  )
  return isDue ? SOON : LATER
}
