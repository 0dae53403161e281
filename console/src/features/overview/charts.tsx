import type { AnalyticsOverview } from '@laurel/client'
import { useToday } from '../../analytics/period'
import { useLookups } from '../../resource/lookups'
import { SeriesChart } from '../../ui/chart'
import { Card } from '../../ui/page'

/** The most points systems in one chart: those with the most points. */
const MOST_SYSTEMS = 5

type Rows = AnalyticsOverview['series']

/** The activity day by day. */
export default function Charts({ series: rows }: { series: Rows }) {
  const lookups = useLookups(['points'])
  const today = useToday() ?? undefined
  const dates = rows.map(({ date }) => date)
  const systems = systemsOf(rows)
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Card title="Active users">
        <SeriesChart
          label="Active users by day"
          dates={dates}
          today={today}
          series={[
            { name: 'Active', values: rows.map(({ activeUsers }) => activeUsers) },
            { name: 'New', values: rows.map(({ newUsers }) => newUsers) },
          ]}
        />
      </Card>
      <Card title="Events">
        <SeriesChart
          label="Events by day"
          dates={dates}
          today={today}
          kind="bars"
          series={[{ name: 'Events', values: rows.map(({ events }) => events) }]}
        />
      </Card>
      <Card title="Points">
        {systems.length === 0 ? (
          <p className="text-quiet">Nobody got points in this period.</p>
        ) : (
          <SeriesChart
            label="Points by day, added less taken"
            dates={dates}
            today={today}
            series={systems.map((key) => ({
              name: lookups.points.nameOf(key),
              values: rows.map(({ points }) => points[key] ?? 0),
            }))}
          />
        )}
      </Card>
      <Card title="Achievements">
        <SeriesChart
          label="Completed achievements by day"
          dates={dates}
          today={today}
          kind="bars"
          series={[{ name: 'Completed', values: rows.map(({ achievements }) => achievements) }]}
        />
      </Card>
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
