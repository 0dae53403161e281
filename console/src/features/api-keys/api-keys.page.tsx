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
      intro="Your servers use admin keys. The apps and browsers of your users use application keys. Keep both like passwords."
      actions={
        <>
          <NewButton one="admin key" to="/api-keys/new-admin" look="plain" />
          <NewButton one="application key" to="/api-keys/new" />
        </>
      }
    >
      <AdminKeys />
      <ApplicationKeys />
      <NewApplicationKey isOpen={action === 'new'} onClose={close} />
      <NewAdminKey isOpen={action === 'new-admin'} onClose={close} />
    </Page>
  )
}
