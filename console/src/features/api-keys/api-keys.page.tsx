import { Empty, Page } from '../../ui/page'

export default function ApiKeysPage() {
  return (
    <Page name="API keys">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
