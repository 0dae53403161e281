import { Empty, Page } from '../../ui/page'

export default function SettingsPage() {
  return (
    <Page name="Settings">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
