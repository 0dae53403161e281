import { Empty, Page } from '../../ui/page'

export default function StatusPage() {
  return (
    <Page name="Status">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
