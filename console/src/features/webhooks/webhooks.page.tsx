import { useNavigate, useParams } from '@tanstack/react-router'
import { resourcePage } from '../../resource/resource-page'
import { DeliverySheet } from './delivery-sheet'
import { webhooks } from './webhooks.resource'

const Webhooks = resourcePage(webhooks)

/** The pages of webhooks. `/webhooks/$id/$delivery` shows one delivery. */
export default function WebhooksPage() {
  const { id, action } = useParams({ strict: false })
  const navigate = useNavigate()
  return (
    <>
      <Webhooks />
      {id !== undefined && action !== undefined && action !== 'edit' && (
        <DeliverySheet
          webhookKey={id}
          deliveryId={action}
          onClose={() => navigate({ to: `/webhooks/${encodeURIComponent(id)}`, resetScroll: false })}
        />
      )}
    </>
  )
}
