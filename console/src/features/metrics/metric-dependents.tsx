import type { CreatedMetric } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { messageOf } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import { allOf } from '../../resource/lookups'
import type { Admin } from '../../resource/resource'
import { Skeleton } from '../../ui/page'

/** Something that uses a metric, with its page and the effect of a deletion. */
type Dependent = { path: string; name: string; effect: string }

/** How many of them are listed. */
const MOST = 12

/** All things that use a metric. */
async function dependentsOf(admin: Admin, { id, key }: CreatedMetric): Promise<Dependent[]> {
  const [systems, achievements, boards, streaks] = await Promise.all([
    allOf((query) => admin.points.list(query)),
    allOf((query) => admin.achievements.list(query)),
    allOf((query) => admin.leaderboards.list(query)),
    admin.streaks.settings.get(),
  ])
  const triggers = await Promise.all(
    systems.map(async (system) => ({
      system,
      found: (await allOf((query) => admin.points.triggers.list(system.key, query))).filter(
        ({ metricId }) => metricId === id,
      ),
    })),
  )
  const isOnly = streaks.metrics.length === 1
  return [
    ...triggers
      .filter(({ found }) => found.length > 0)
      .map(({ system, found }) => ({
        path: `/points/${encodeURIComponent(system.key)}`,
        name: system.name,
        effect: found.length === 1 ? 'loses a trigger' : `loses ${found.length} triggers`,
      })),
    ...achievements
      .filter(({ metricId }) => metricId === id)
      .map((one) => ({
        path: `/achievements/${encodeURIComponent(one.key)}`,
        name: one.name,
        effect: 'nobody can complete it any more',
      })),
    ...boards
      .filter(({ metricId }) => metricId === id)
      .map((board) => ({
        path: `/leaderboards/${encodeURIComponent(board.key)}`,
        name: board.name,
        effect: 'is deleted',
      })),
    ...(streaks.metrics.some((one) => one.key === key)
      ? [{ path: '/streaks', name: 'Streaks', effect: isOnly ? 'any event counts then' : 'do not count it' }]
      : []),
  ]
}

/** The things that use a metric by their names, in the question before it is deleted. */
export function MetricDependents({ metric }: { metric: CreatedMetric }) {
  const admin = useAdmin()
  const { data, error } = useQuery({
    queryKey: ['/metrics', 'dependents', metric.id],
    queryFn: () => dependentsOf(admin, metric),
  })
  if (error !== null && data === undefined) return <p className="mt-3">{messageOf(error)}</p>
  if (data === undefined)
    return (
      <p className="mt-3" aria-busy="true">
        <Skeleton className="w-full" />
      </p>
    )
  if (data.length === 0) return <p className="mt-3">Nothing else uses it.</p>
  return (
    <>
      <p className="mt-3">These use it:</p>
      <ul className="mt-1 flex max-h-48 flex-col gap-1 overflow-y-auto">
        {data.slice(0, MOST).map(({ path, name, effect }) => (
          <li key={path}>
            <Link to={path} className="text-accent underline wrap-anywhere">
              {name}
            </Link>
            : {effect}
          </li>
        ))}
        {data.length > MOST && <li>and {data.length - MOST} more</li>}
      </ul>
    </>
  )
}
