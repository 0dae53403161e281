import type { CreatedMetric } from '@laurel/client'
import { DayChart, FiguresOf } from '../../analytics/figures'

/** How often a metric's events came, their total, and how many users sent them (I2). */
export const MetricFigures = ({ item: { key, units } }: { item: CreatedMetric }) => (
  <FiguresOf
    queryKey={['/metrics', 'analytics', key]}
    read={(admin, period, options) => admin.metrics.analytics(key, period, options)}
  >
    {(rows) => (
      <div className="grid gap-6 lg:grid-cols-2">
        <DayChart title="Events" kind="bars" rows={rows} value={({ events }) => events} />
        <DayChart
          title="Total"
          kind="bars"
          {...(units !== '' && { unit: units })}
          rows={rows}
          series={[{ name: units || 'Total', value: ({ total }) => total }]}
        />
        <div className="lg:col-span-2">
          <DayChart title="Active users" rows={rows} value={({ activeUsers }) => activeUsers} />
        </div>
      </div>
    )}
  </FiguresOf>
)
