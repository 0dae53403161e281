import { Link } from '@tanstack/react-router'
import { messageOf } from '../api/errors'
import { useKept } from '../session/session-context'
import { Button, buttonClasses } from '../ui/button'
import { Empty, Page } from '../ui/page'

/** The page of a path that leads nowhere. */
export const NotFoundPage = () => (
  <Page name="Page not found">
    <Empty
      title="There is no page at this address"
      action={
        <Link to="/" className={buttonClasses('primary')}>
          Go to the overview
        </Link>
      }
    >
      It may have been deleted or renamed.
    </Empty>
  </Page>
)

/** Is shown instead of a page that failed. The rest of the console goes on. */
export function ErrorPage({ error }: { error: unknown }) {
  const kept = useKept()
  // A browser does not ask again for a file of the page that it could not load.
  const again = <Button onClick={() => kept.reload()}>Try again</Button>
  return (
    <Page name="Something went wrong">
      <Empty title="This page could not be shown" action={again}>
        {messageOf(error)}
      </Empty>
    </Page>
  )
}
