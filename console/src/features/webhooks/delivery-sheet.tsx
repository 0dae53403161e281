import { useQuery } from '@tanstack/react-query'
import { isNotFound, messageOf } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import { useWrite } from '../../resource/writes'
import { Button } from '../../ui/button'
import { Sheet } from '../../ui/dialog'
import { formatNumber, Moment } from '../../ui/format'
import { Code, Facts, Json, Notice, Skeleton } from '../../ui/page'
import { DeliveryStatus, deliveriesKey, readAgain } from './deliveries'

/** One delivery: what was sent, how it went, and a button to send it again. */
export function DeliverySheet({
  webhookKey,
  deliveryId,
  onClose,
}: {
  webhookKey: string
  deliveryId: string
  onClose: () => void
}) {
  const admin = useAdmin()
  const { data, error } = useQuery({
    queryKey: deliveriesKey(webhookKey, deliveryId),
    queryFn: async ({ signal }) => admin.webhooks.deliveries.get(webhookKey, deliveryId, { signal }),
    refetchInterval: ({ state }) => readAgain(state.data === undefined ? [] : [state.data]) ?? false,
  })
  const { begin, isBusy } = useWrite({ path: '/webhooks', scope: `/webhooks/${webhookKey}/${deliveryId}` })
  return (
    <Sheet title={data?.event ?? 'Delivery'} onClose={onClose}>
      <div className="sheet-body" aria-busy={data === undefined && error === null}>
        {error !== null && (
          <Notice tone="danger">
            {isNotFound(error)
              ? 'There is no delivery with this id. Old deliveries are deleted after a while.'
              : messageOf(error)}
          </Notice>
        )}
        {data === undefined && error === null && <Skeleton className="h-40 w-full" />}
        {data !== undefined && (
          <>
            <Facts
              facts={[
                ['Status', <DeliveryStatus key="status" {...data} />],
                ['Answer', data.lastStatus === null ? 'none' : <Code key="answer">{data.lastStatus}</Code>],
                data.lastError === null ? null : ['Reason', data.lastError],
                ['Attempts', formatNumber(data.attempts)],
                ['Created', <Moment key="created" iso={data.created} />],
                data.nextAttempt === null
                  ? null
                  : ['Next attempt', <Moment key="next" iso={data.nextAttempt} />],
                ['Id', <Code key="id">{data.id}</Code>],
              ]}
            />
            <section aria-label="Body" className="flex flex-col gap-2">
              <h3 className="font-semibold">Body</h3>
              <Json value={data.body} label="Body" />
            </section>
          </>
        )}
      </div>
      <div className="sheet-foot">
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button
            look="primary"
            isBusy={isBusy}
            disabled={data === undefined}
            onClick={() =>
              begin({
                what: 'The delivery',
                did: 'was sent again',
                act: (admin) => admin.webhooks.deliveries.redeliver(webhookKey, deliveryId),
              })
            }
          >
            Send again
          </Button>
        </div>
      </div>
    </Sheet>
  )
}
