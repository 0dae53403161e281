import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { buttonClasses } from '../../ui/button'
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
      intro="Keys give access to Laurel. Everyone who has a key can use it, so keep keys like passwords."
      actions={
        <>
          <Link to="/api-keys/new-admin" className={buttonClasses('plain')}>
            <Plus size={16} aria-hidden="true" />
            New admin key
          </Link>
          <Link to="/api-keys/new" className={buttonClasses('primary')}>
            <Plus size={16} aria-hidden="true" />
            New application key
          </Link>
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
