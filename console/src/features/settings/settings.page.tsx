import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAdmin } from '../../api/laurel'
import { Unread } from '../../api/paging'
import { settingsRead } from '../../api/tagged'
import { useTenantsResource } from '../../app/tenants.resource'
import { ResourceSection } from '../../resource/resource-section'
import { useEntriesId, useSignedIn } from '../../session/session-context'
import { buttonClasses } from '../../ui/button'
import { Card, Code, Facts, Page, Waiting } from '../../ui/page'
import { SettingsForm } from './settings-form'

/** All tenants of the account: who has an admin key may create, archive and erase them. */
function Tenants() {
  const resource = useTenantsResource()
  return <ResourceSection resource={resource} within="/settings" name="tenants" />
}

export default function SettingsPage() {
  const admin = useAdmin()
  const { tenant, version, testClock } = useSignedIn()
  const id = useEntriesId('/settings')
  const settings = useQuery(settingsRead(admin))
  return (
    <Page
      name="Settings"
      intro={tenant === null ? 'For all users.' : `For all users of ${tenant.name}.`}
      isLoading={settings.isPending}
    >
      {settings.data ? (
        <SettingsForm key={id} id={id} settings={settings.data} />
      ) : (
        <Card title="Brand">
          {settings.isError && <Unread of={settings} />}
          {settings.isPending && <Waiting className="h-96" />}
        </Card>
      )}
      <Card
        title="Streaks"
        actions={
          <Link to="/streaks" className={buttonClasses('plain', true)}>
            Open Streaks
          </Link>
        }
      >
        <p className="text-quiet">
          How often users must be active, which events count, and freezes: on a page of their own.
        </p>
      </Card>
      {tenant !== null && <Tenants />}
      <Card title="This deployment">
        <Facts
          facts={[
            ['Version', version],
            tenant === null ? null : ['Tenant', tenant.name],
            tenant === null ? null : ['Tenant id', <Code key="tenant">{tenant.id}</Code>],
            ['Test clock', testClock ? 'on: time can be moved' : 'off'],
          ]}
        />
      </Card>
    </Page>
  )
}
