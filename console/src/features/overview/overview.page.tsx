import type { AnalyticsOverview } from '@laurel/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { FIGURES_AGAIN, periodOf, useToday } from '../../analytics/period'
import { PeriodPicker } from '../../analytics/period-picker'
import { StreakLengths } from '../../analytics/streak-lengths'
import { useAdmin } from '../../api/laurel'
import { Unread } from '../../api/paging'
import { FirstEvent } from '../../resource/first-event'
import { counted, formatCompact, formatDate, formatMoment, formatNumber } from '../../ui/format'
import { Card, Page, Skeleton } from '../../ui/page'
import { FailingWebhooks } from '../webhooks/health'
import { Charts } from './charts'
import { Checklist, useSetup } from './checklist'
import { RetentionTable } from './retention-table'

/** The same before the first activity, which people wait for. */
const FIRST_FIGURES_AGAIN = 10_000

/** The last date with an event. */
const newestOf = (overview: AnalyticsOverview | undefined) =>
  overview?.series.findLast(({ events }) => events > 0)

/** Whether people use the product, and whether gamification keeps them. */
export default function OverviewPage() {
  const admin = useAdmin()
  const search: Record<string, unknown> = useSearch({ strict: false })
  const today = useToday()
  const period = today === null ? null : periodOf(search, today)
  const overview = useQuery({
    queryKey: ['/', 'analytics', period?.from, period?.to],
    queryFn: ({ signal }) => admin.analytics.overview({ from: period?.from, to: period?.to }, { signal }),
    enabled: period !== null,
    refetchInterval: ({ state }) =>
      newestOf(state.data) === undefined ? FIRST_FIGURES_AGAIN : FIGURES_AGAIN,
    placeholderData: keepPreviousData,
  })
  const setup = useSetup()
  const { data, error } = overview
  const missing = setup?.filter(({ isNeeded, isDone }) => isNeeded && !isDone) ?? []
  return (
    <Page
      name="Overview"
      intro={
        data !== undefined ? (
          <Newest overview={data} />
        ) : (
          error === null && <Skeleton className="w-80 max-w-full" />
        )
      }
      isLoading={overview.isPending || overview.isPlaceholderData || setup === null}
    >
      <FailingWebhooks />
      {setup !== null && missing.length > 0 && (
        <>
          <Checklist items={setup} />
          <FirstEvent />
        </>
      )}
      {period !== null && today !== null ? (
        <PeriodPicker period={period} today={today} />
      ) : (
        <div className="h-10.5" />
      )}
      {error !== null && <Unread of={overview} />}
      {(data !== undefined || error === null) && <Figures overview={data} />}
      {setup !== null && missing.length === 0 && setup.some(({ isDone }) => !isDone) && (
        <Checklist items={setup} />
      )}
    </Page>
  )
}

/** The newest activity that the last pass found, and the time of that pass. */
function Newest({ overview }: { overview: AnalyticsOverview }) {
  const { updated } = overview
  if (updated === null) return 'No figures yet. They appear here a minute after the first event.'
  const newest = newestOf(overview)
  const activity =
    newest === undefined
      ? 'No activity in this period.'
      : `Newest activity: ${formatDate(newest.date)}, ${counted(newest.events, 'event')} by ${counted(newest.activeUsers, 'user')}.`
  return (
    <>
      {activity} Updated <time dateTime={updated}>{formatMoment(updated)}</time>. Figures are counted a minute
      after the first change, and at least each hour.
    </>
  )
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

function Figures({ overview }: { overview: AnalyticsOverview | undefined }) {
  const series = overview?.series ?? []
  const figures = [
    { name: 'Daily active users', value: overview?.active.day },
    { name: 'Weekly active users', value: overview?.active.week },
    { name: 'Monthly active users', value: overview?.active.month },
    { name: 'New users', value: overview && sum(series.map(({ newUsers }) => newUsers)) },
    { name: 'Events', value: overview && sum(series.map(({ events }) => events)) },
    {
      name: 'Achievements completed',
      value: overview && sum(series.map(({ achievements }) => achievements)),
    },
  ]
  return (
    <>
      <dl className="grid grid-cols-2 overflow-hidden rounded-lg border border-line bg-surface shadow-card lg:grid-cols-3">
        {figures.map(({ name, value }) => (
          <div
            key={name}
            className="-mt-px -ml-px flex flex-col justify-between gap-1 border-t border-l border-line px-4 py-4 sm:px-5"
          >
            <dt className="text-sm text-quiet">{name}</dt>
            <dd
              className="text-2xl font-semibold tracking-tight tabular-nums"
              title={value === undefined ? undefined : formatNumber(value)}
            >
              {value === undefined ? (
                <Skeleton className="h-6 w-16" />
              ) : value < 1_000_000 ? (
                formatNumber(value)
              ) : (
                formatCompact(value)
              )}
            </dd>
          </div>
        ))}
      </dl>
      <Charts rows={overview?.series} />
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Card
          title="Retention"
          about="Users who were active again, so many days after their first day."
          flush
        >
          <RetentionTable retention={overview?.retention} />
        </Card>
        <Card title="Streak lengths" about="Users by the length of their streak now.">
          <StreakLengths streaks={overview?.streaks} />
        </Card>
      </div>
    </>
  )
}
