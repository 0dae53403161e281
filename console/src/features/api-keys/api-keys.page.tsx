import { useNavigate, useParams } from '@tanstack/react-router'
import { NewButton } from '../../ui/new-button'
import { Page } from '../../ui/page'
import { AdminKeys, NewAdminKey } from './admin-keys'
import { ApplicationKeys, NewApplicationKey } from './application-keys'

/** The page of keys. `/api-keys/new` and `/api-keys/new-admin` are the forms of new ones. */
export default function ApiKeysPage() {
  const { action } = useParams({ strict: false })
  const navigate = useNavigate()
  const close = () => navigate({ to: '/api-keys', resetScroll: false })
  return (
    <Page
      name="API keys"
      intro="The server of your product needs an admin key, for example to send events. An application key acts for one user only, so it can be in an app or a browser."
      actions={
        <>
          <NewButton one="application key" to="/api-keys/new" look="plain" />
          <NewButton one="admin key" to="/api-keys/new-admin" />
        </>
      }
    >
      <AdminKeys />
      <ApplicationKeys />
      {action === 'new' && <NewApplicationKey onClose={close} />}
      {action === 'new-admin' && <NewAdminKey onClose={close} />}
    </Page>
  )
}
