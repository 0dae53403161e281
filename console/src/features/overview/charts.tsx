import type { AnalyticsOverview } from '@laurel/client'
import { DayChart } from '../../analytics/figures'
import { useLookups } from '../../resource/lookups'
import { Card } from '../../ui/page'

/** The most points systems in one chart: those with the most points. */
const MOST_SYSTEMS = 5

type Rows = AnalyticsOverview['series']

/** The activity day by day. The rows are undefined while they are loading. */
export function Charts({ rows }: { rows: Rows | undefined }) {
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
