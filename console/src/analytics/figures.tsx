import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ComponentProps, lazy, type ReactNode, Suspense } from 'react'
import { useAdmin } from '../api/laurel'
import { Unread } from '../api/paging'
import type { Admin } from '../resource/resource'
import type { SeriesChart } from '../ui/chart'
import { formatMoment } from '../ui/format'
import { Card, Skeleton, Waiting } from '../ui/page'
import { FIGURES_AGAIN, usePeriod, useToday } from './period'

/** Charts are loaded after the page, so that the page is small. */
const Chart = lazy(async () => ({ default: (await import('../ui/chart')).SeriesChart }))

/** The figures of one item, as the interface answers them (I2). */
type Figures<Row> = { updated: string | null; series: Row[] }

type Dated = { date: string }

/**
 * The figures of one item in the period that the address names, below a picker of the period.
 *
 * @param props.queryKey begins with the path of the page
 * @param props.children the charts; the rows are undefined while they are loading
 */
export function FiguresOf<Row extends Dated>({
  queryKey,
  read,
  children,
}: {
  queryKey: readonly string[]
  read: (
    admin: Admin,
    period: { from: string; to: string },
    options: { signal: AbortSignal },
  ) => PromiseLike<Figures<Row>>
  children: (rows: readonly Row[] | undefined) => ReactNode
}) {
  const admin = useAdmin()
  const { period, picker } = usePeriod()
  const figures = useQuery({
    queryKey: [...queryKey, period?.from, period?.to],
    queryFn: async ({ signal }) => {
      if (period === null) throw new Error('The period is not known yet.')
      return read(admin, { from: period.from, to: period.to }, { signal })
    },
    enabled: period !== null,
    refetchInterval: FIGURES_AGAIN,
    placeholderData: keepPreviousData,
  })
  const { data, error } = figures
  return (
    <section aria-label="Figures" aria-busy={figures.isPlaceholderData} className="flex flex-col gap-6">
      {picker}
      {error !== null && <Unread of={figures} />}
      {(data !== undefined || error === null) && children(data?.series)}
      <p className="-mt-3 text-sm text-quiet">
        {data === undefined ? <Skeleton className="w-48" /> : updatedInWords(data.updated)}
      </p>
    </section>
  )
}

/** When figures were counted. */
export const updatedInWords = (updated: string | null): string =>
  updated === null
    ? 'No figures yet. They appear here a minute after the first event.'
    : `Updated ${formatMoment(updated)}. Figures are counted a minute after the first change, and at least each hour.`

type DayChartProps<Row> = Partial<Omit<ComponentProps<typeof SeriesChart>, 'dates' | 'series'>> & {
  title: string
  /** Undefined while they are loading. */
  rows: readonly Row[] | undefined
  /** The only series, which has the title as its name. */
  value?: (row: Row) => number
  series?: readonly { name: string; value: (row: Row) => number }[]
}

/** A card with figures by day. It has its final size while it is loading. */
export function DayChart<Row extends Dated>({
  title,
  rows,
  value = () => 0,
  series = [{ name: title, value }],
  ...chart
}: DayChartProps<Row>) {
  const today = useToday()
  return (
    <Card title={title}>
      {rows === undefined ? (
        <ChartIsLoading />
      ) : (
        <Suspense fallback={<ChartIsLoading />}>
          <Chart
            label={`${title} by day`}
            {...chart}
            today={today ?? undefined}
            dates={rows.map(({ date }) => date)}
            series={series.map(({ name, value }) => ({ name, values: rows.map(value) }))}
          />
        </Suspense>
      )}
    </Card>
  )
}

const ChartIsLoading = () => <Waiting className="h-69" />
