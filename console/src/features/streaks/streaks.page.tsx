import { useQuery } from '@tanstack/react-query'
import { messageOf } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import { useLookups } from '../../resource/lookups'
import { Button } from '../../ui/button'
import { Card, Notice, Page, Skeleton } from '../../ui/page'
import { StreakForm } from './streak-form'

export default function StreaksPage() {
  const admin = useAdmin()
  const lookups = useLookups(['metrics'])
  const settings = useQuery({
    queryKey: ['/streaks', 'settings'],
    queryFn: () => admin.streaks.settings.get(),
  })
  return (
    <Page
      name="Streaks"
      intro="How many days, weeks or months in a row a user is active. Each user has one streak."
      isLoading={settings.isPending || lookups.isLoading}
    >
      <Card title="Settings" about="A change takes effect from the current period on. It takes nothing back.">
        {settings.isError && (
          <Notice tone="danger" action={<Button onClick={() => settings.refetch()}>Try again</Button>}>
            {messageOf(settings.error)}
          </Notice>
        )}
        {!settings.isError && (settings.isPending || lookups.isLoading) && (
          <Skeleton className="h-96 w-full" />
        )}
        {settings.data && !lookups.isLoading && <StreakForm settings={settings.data} lookups={lookups} />}
      </Card>
    </Page>
  )
}
