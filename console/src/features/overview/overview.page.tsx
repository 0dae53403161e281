import { Empty, Page } from '../../ui/page'

export default function OverviewPage() {
  return (
    <Page name="Overview">
      <Empty title="Nothing to show yet">Figures appear here when users are active.</Empty>
    </Page>
  )
}
