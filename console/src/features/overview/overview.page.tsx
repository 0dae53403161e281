import type { AnalyticsOverview } from '@laurel/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { DayChart, updatedInWords } from '../../analytics/figures'
import { FIGURES_AGAIN, usePeriod } from '../../analytics/period'
import { StreakLengths } from '../../analytics/streak-lengths'
import { useAdmin } from '../../api/laurel'
import { Unread } from '../../api/paging'
import { FirstEvent } from '../../resource/first-event'
import { useLookups } from '../../resource/lookups'
import { counted, formatCompact, formatDate, formatNumber, formatPercent } from '../../ui/format'
import { Card, Page, Skeleton } from '../../ui/page'
import { Table } from '../../ui/table'
import { FailingWebhooks } from '../webhooks/health'
import { Checklist, useSetup } from './checklist'

/** The same before the first activity, which people wait for. */
const FIRST_FIGURES_AGAIN = 10_000

/** The last date with an event. */
const newestOf = (overview: AnalyticsOverview | undefined) =>
  overview?.series.findLast(({ events }) => events > 0)

/** Whether people use the product, and whether gamification keeps them. */
export default function OverviewPage() {
  const admin = useAdmin()
  const { period, picker } = usePeriod()
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
      intro={data ? newestInWords(data) : error === null && <Skeleton className="w-80 max-w-full" />}
      isLoading={overview.isPending || overview.isPlaceholderData || setup === null}
    >
      <FailingWebhooks />
      {setup !== null && missing.length > 0 && (
        <>
          <Checklist items={setup} />
          <FirstEvent />
        </>
      )}
      {picker}
      {error !== null && <Unread of={overview} />}
      {(data !== undefined || error === null) && <Figures overview={data} />}
      {setup !== null && missing.length === 0 && setup.some(({ isDone }) => !isDone) && (
        <Checklist items={setup} />
      )}
    </Page>
  )
}

/** The newest activity that the last pass found, and the time of that pass. */
function newestInWords(overview: AnalyticsOverview): string {
  const updated = updatedInWords(overview.updated)
  if (overview.updated === null) return updated
  const newest = newestOf(overview)
  const activity =
    newest === undefined
      ? 'No activity in this period.'
      : `Newest activity: ${formatDate(newest.date)}, ${counted(newest.events, 'event')} by ${counted(newest.activeUsers, 'user')}.`
  return `${activity} ${updated}`
}

function Figures({ overview }: { overview: AnalyticsOverview | undefined }) {
  const sumOf = (name: 'newUsers' | 'events' | 'achievements') =>
    overview?.series.reduce((total, { [name]: value }) => total + value, 0)
  const figures = [
    { name: 'Daily active users', value: overview?.active.day },
    { name: 'Weekly active users', value: overview?.active.week },
    { name: 'Monthly active users', value: overview?.active.month },
    { name: 'New users', value: sumOf('newUsers') },
    { name: 'Events', value: sumOf('events') },
    { name: 'Achievements completed', value: sumOf('achievements') },
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

/** The most points systems in one chart: those with the most points. */
const MOST_SYSTEMS = 5

type Rows = AnalyticsOverview['series']

/** The activity day by day. The rows are undefined while they are loading. */
function Charts({ rows }: { rows: Rows | undefined }) {
  const lookups = useLookups(['points'])
  const systems = systemsOf(rows ?? [])
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <DayChart
        title="Active users"
        rows={rows}
        series={[
          { name: 'Active', value: ({ activeUsers }) => activeUsers },
          { name: 'New', value: ({ newUsers }) => newUsers },
        ]}
      />
      <DayChart title="Events" kind="bars" rows={rows} value={({ events }) => events} />
      {rows !== undefined && systems.length === 0 ? (
        <Card title="Points">
          <p className="text-quiet">Nobody got points in this period.</p>
        </Card>
      ) : (
        <DayChart
          title="Points"
          label="Points by day, added less taken"
          rows={rows}
          series={systems.map((key) => ({
            name: lookups.points.nameOf(key),
            value: ({ points }: Rows[number]) => points[key] ?? 0,
          }))}
        />
      )}
      <DayChart
        title="Achievements"
        label="Completed achievements by day"
        kind="bars"
        rows={rows}
        series={[{ name: 'Completed', value: ({ achievements }) => achievements }]}
      />
    </div>
  )
}

/** The keys of the points systems with the most points, either way. */
function systemsOf(rows: Rows): string[] {
  const totals = new Map<string, number>()
  for (const { points } of rows)
    for (const [key, amount] of Object.entries(points))
      totals.set(key, (totals.get(key) ?? 0) + Math.abs(amount))
  return [...totals]
    .filter(([, total]) => total > 0)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_SYSTEMS)
    .map(([key]) => key)
}

type Retention = AnalyticsOverview['retention']

const DAYS = [
  { key: 'd1', days: 1 },
  { key: 'd7', days: 7 },
  { key: 'd30', days: 30 },
] as const

/** The days of the table: the usual ones, and the one of the settings if it is another. */
function columnsOf(retention: Retention | undefined) {
  const days = retention?.others.window.days
  const isUsual = days === undefined || DAYS.some((one) => one.days === days)
  return [...DAYS, ...(isUsual ? [] : [{ key: 'window', days } as const])].sort((a, b) => a.days - b.days)
}

const GROUPS = [
  { id: 'others', name: 'With notifications' },
  { id: 'control', name: 'Control group' },
] as const

/** How many users came back, with and without notifications, and how many users each figure is of. */
const RetentionTable = ({ retention }: { retention: Retention | undefined }) => (
  <div className="overflow-x-auto px-1 pb-2 sm:px-2">
    <Table
      isDense
      label="Retention with and without notifications"
      rows={retention && GROUPS}
      expected={2}
      hasTwoLines
      columns={[
        {
          name: 'Users',
          cell: ({ id, name }) => (
            <>
              {name}
              <p className="text-sm text-quiet">{retention && counted(retention[id].users, 'user')}</p>
            </>
          ),
        },
        ...columnsOf(retention).map(({ key, days }) => ({
          name: `Day ${days}`,
          cell: ({ id }: (typeof GROUPS)[number]) => retention && <Kept {...retention[id][key]} />,
          isNumber: true,
        })),
      ]}
    />
  </div>
)

/** A share with the users that it is of. Without users there is none. */
const Kept = ({ users, kept }: { users: number; kept: number }) =>
  users === 0 ? (
    <span className="text-quiet">–</span>
  ) : (
    <>
      <strong className="font-semibold">{formatPercent(kept / users)}</strong>
      <p className="text-sm whitespace-nowrap text-quiet">
        {formatNumber(kept)} of {formatNumber(users)}
      </p>
    </>
  )
