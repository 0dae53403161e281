import type { AdminPointsLevel, AdminPointsTrigger, PointsAnalytics } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { DayChart, FiguresOf } from '../../analytics/figures'
import { BarTable } from '../../analytics/streak-lengths'
import { useAdmin } from '../../api/laurel'
import { useLookups } from '../../resource/lookups'
import type { System } from '../../resource/parts'
import { type Listed, type Thing, titleOf } from '../../resource/resource'
import { formatDate } from '../../ui/format'
import { Card, Skeleton } from '../../ui/page'
import { say } from '../../ui/text'

type Rows = readonly PointsAnalytics['series'][number][]

type FiguresProps = {
  system: System
  triggers: Listed<AdminPointsTrigger>
  levels: Listed<AdminPointsLevel>
}

/** The points of a system by day and by trigger, and the users of each level (I2). */
export function PointsFigures({ system: { key, name }, triggers, levels }: FiguresProps) {
  const byTrigger = useNames(triggers)
  const byLevel = useNames(levels, (a, b) => a.points - b.points)
  return (
    <FiguresOf
      queryKey={['/points', 'analytics', key]}
      read={(admin, period, options) => admin.points.analytics(key, period, options)}
    >
      {(rows) => (
        <div className="grid items-start gap-6 lg:grid-cols-2">
          <div className="lg:col-span-2">
            <DayChart
              title="Added"
              label={say`${name} by day, added less taken`}
              kind="bars"
              rows={rows}
              series={[{ name, value: ({ added }) => added }]}
            />
          </div>
          <Card title="By trigger" about="Added less taken, in the whole period.">
            <BarTable
              isWide
              label={say`${name} by trigger`}
              columns={['Trigger', name]}
              empty="Nothing gives points yet. Create a trigger first."
              bars={rows && byTrigger && sumsOf(rows, byTrigger)}
            />
          </Card>
          <Card title="Users by level" about={rows === undefined ? <Skeleton /> : endOf(rows)}>
            <BarTable
              isWide
              label="Users by level"
              columns={['Level', 'Users']}
              empty="There are no levels yet. Create one first."
              bars={rows && byLevel && countsOf(rows, byLevel)}
            />
          </Card>
        </div>
      )}
    </FiguresOf>
  )
}

/** The names of all items of a part by their keys, also of those that its table does not show yet. */
function useNames<Item extends Thing & { key: string }>(
  part: Listed<Item>,
  order?: (a: Item, b: Item) => number,
) {
  const admin = useAdmin()
  const lookups = useLookups(part.needs)
  const { data } = useQuery({
    queryKey: [part.path, 'all'],
    queryFn: () => part.operations(admin).list().toArray(),
  })
  if (data === undefined || lookups.isLoading) return undefined
  return new Map(data.toSorted(order ?? (() => 0)).map((one) => [one.key, titleOf(part, one, lookups)]))
}

const endOf = (rows: Rows) => {
  const { date } = rows.at(-1) ?? {}
  return date === undefined ? undefined : `At the end of ${formatDate(date)}.`
}

/** Keys with their names. Those without one are deleted: they have their key. */
const named = (keys: Iterable<string>, names: ReadonlyMap<string, string>) =>
  [...keys].map((key) => ({ key, name: names.get(key) ?? `${key} (deleted)` }))

/** The points of each trigger in all rows, most first: also of one that the figures do not know yet. */
function sumsOf(rows: Rows, names: ReadonlyMap<string, string>) {
  const sums = new Map([...names.keys()].map((key) => [key, 0]))
  for (const { byTrigger } of rows)
    for (const [key, amount] of Object.entries(byTrigger)) sums.set(key, (sums.get(key) ?? 0) + amount)
  return named(sums.keys(), names)
    .map((one) => ({ ...one, value: sums.get(one.key) ?? 0 }))
    .toSorted((a, b) => b.value - a.value)
}

/** The users of each level in the last row: in the order of the levels, then those of deleted ones. */
function countsOf(rows: Rows, names: ReadonlyMap<string, string>) {
  const { byLevel = {} } = rows.at(-1) ?? {}
  const keys = new Set([...names.keys(), ...Object.keys(byLevel)])
  return named(keys, names).map((one) => ({ ...one, value: byLevel[one.key] ?? 0 }))
}
