import { Empty, Page } from '../../ui/page'

export default function UsersPage() {
  return (
    <Page name="Users">
      <Empty title="This page is not built yet">Use the admin interface meanwhile: see /docs.</Empty>
    </Page>
  )
}
