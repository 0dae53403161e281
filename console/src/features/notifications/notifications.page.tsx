import { Empty, Page } from '../../ui/page'

export default function NotificationsPage() {
  return (
    <Page name="Notifications">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
