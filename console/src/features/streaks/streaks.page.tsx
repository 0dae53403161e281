import { useQuery } from '@tanstack/react-query'
import { useToday } from '../../analytics/period'
import { StreakLengths } from '../../analytics/streak-lengths'
import { useAdmin } from '../../api/laurel'
import { Loaded } from '../../api/paging'
import { streakSettingsRead } from '../../api/tagged'
import { useLookups } from '../../resource/lookups'
import { useEntriesId } from '../../session/session-context'
import { formatMoment } from '../../ui/format'
import { Card, Page } from '../../ui/page'
import { StreakForm } from './streak-form'

export default function StreaksPage() {
  const admin = useAdmin()
  const lookups = useLookups(['metrics'])
  const id = useEntriesId('/streaks')
  const settings = useQuery(streakSettingsRead(admin))
  return (
    <Page
      name="Streaks"
      intro="How many days, weeks or months in a row a user is active. Each user has one streak."
      isLoading={settings.isPending || lookups.isLoading}
    >
      <Card title="Settings" about="A change takes effect from the current period on. It takes nothing back.">
        <Loaded query={{ ...settings, data: lookups.isLoading ? undefined : settings.data }} className="h-96">
          {(data) => <StreakForm key={id} id={id} settings={data} lookups={lookups} />}
        </Loaded>
      </Card>
      <Lengths />
    </Page>
  )
}

/** How long the streaks of all users are now. */
function Lengths() {
  const admin = useAdmin()
  const today = useToday()
  const overview = useQuery({
    queryKey: ['/streaks', 'lengths', today],
    // The lengths are those of now. So one day is enough.
    queryFn: async ({ signal }) =>
      admin.analytics.overview(today === null ? {} : { from: today, to: today }, { signal }),
    enabled: today !== null,
  })
  const updated = overview.data?.updated
  return (
    <Card
      title="Streak lengths"
      about={
        updated == null
          ? 'Users by the length of their streak.'
          : `Users by the length of their streak, at ${formatMoment(updated)}.`
      }
    >
      <Loaded query={overview} className="h-44">
        {({ streaks }) => <StreakLengths streaks={streaks} />}
      </Loaded>
    </Card>
  )
}
