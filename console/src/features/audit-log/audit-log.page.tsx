import { Empty, Page } from '../../ui/page'

export default function AuditLogPage() {
  return (
    <Page name="Audit log">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
