import { Empty, Page } from '../../ui/page'

export default function WebhooksPage() {
  return (
    <Page name="Webhooks">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
