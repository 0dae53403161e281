import type { WebhookDelivery } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useAdmin } from '../../api/laurel'
import { Loaded } from '../../api/paging'
import { useWrite } from '../../resource/writes'
import { Button } from '../../ui/button'
import { DetailSheet } from '../../ui/dialog'
import { formatNumber, Moment } from '../../ui/format'
import { Badge, Code, Facts, Json } from '../../ui/page'

const TONES = { pending: 'warning', delivered: 'good', dead: 'danger' } as const
/** The statuses of deliveries with their names. */
export const STATUSES = { pending: 'pending', delivered: 'delivered', dead: 'given up' } as const
export const isStatus = (given: string): given is WebhookDelivery['status'] => Object.hasOwn(STATUSES, given)

/** The state of a delivery. After a failed attempt, a pending one is tried again. */
export const DeliveryStatus = ({ status, attempts }: Pick<WebhookDelivery, 'status' | 'attempts'>) => (
  <Badge tone={TONES[status]}>{status === 'pending' && attempts > 0 ? 'retrying' : STATUSES[status]}</Badge>
)

/** The keys of the reads of a webhook's deliveries. */
export const deliveriesKey = (webhookKey: string, ...more: string[]) =>
  ['/webhooks', 'deliveries', webhookKey].concat(more)

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

type SheetProps = { webhookKey: string; deliveryId: string; onClose: () => void }

/** One delivery: what was sent, how it went, and a button to send it again. */
export function DeliverySheet({ webhookKey, deliveryId, onClose }: SheetProps) {
  const admin = useAdmin()
  const delivery = useQuery({
    queryKey: deliveriesKey(webhookKey, deliveryId),
    queryFn: async ({ signal }) => admin.webhooks.deliveries.get(webhookKey, deliveryId, { signal }),
    refetchInterval: ({ state }) => readAgain(state.data === undefined ? [] : [state.data]) ?? false,
  })
  const { begin, isBusy } = useWrite({ path: '/webhooks', scope: `/webhooks/${webhookKey}/${deliveryId}` })
  const sendAgain = () =>
    begin({
      what: 'The delivery',
      did: 'was sent again',
      act: (admin) => admin.webhooks.deliveries.redeliver(webhookKey, deliveryId),
    })
  return (
    <DetailSheet
      title={delivery.data?.event ?? 'Delivery'}
      onClose={onClose}
      buttons={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button look="primary" isBusy={isBusy} disabled={delivery.data === undefined} onClick={sendAgain}>
            Send again
          </Button>
        </>
      }
    >
      <Loaded
        query={delivery}
        none="There is no delivery with this id. Old deliveries are deleted after a while."
      >
        {({ status, attempts, lastStatus, lastError, created, nextAttempt, id, body }) => (
          <>
            <Facts
              facts={[
                ['Status', <DeliveryStatus key="status" status={status} attempts={attempts} />],
                ['Answer', lastStatus === null ? 'none' : <Code key="answer">{lastStatus}</Code>],
                lastError === null ? null : ['Reason', lastError],
                ['Attempts', formatNumber(attempts)],
                ['Created', <Moment key="created" iso={created} />],
                nextAttempt === null ? null : ['Next attempt', <Moment key="next" iso={nextAttempt} />],
                ['Id', <Code key="id">{id}</Code>],
              ]}
            />
            <section aria-label="Body" className="flex flex-col gap-2">
              <h3 className="font-semibold">Body</h3>
              <Json value={body} label="Body" />
            </section>
          </>
        )}
      </Loaded>
    </DetailSheet>
  )
}
