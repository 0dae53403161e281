import { AxisBottom, AxisLeft } from '@visx/axis'
import { useParentSize } from '@visx/responsive'
import { scaleBand, scaleLinear } from '@visx/scale'
import { AreaClosed, Bar, LinePath } from '@visx/shape'
import { type PointerEvent, useState } from 'react'
import { classes } from './classes'
import { formatCompact, formatDate, formatNumber, startOf } from './format'
import { LOCALE } from './locale'
import { Table } from './table'
import { say } from './text'

/** One line or one kind of bars. */
export type Series = { name: string; values: readonly number[] }

type ChartProps = {
  /** The name of the chart, such as "Events by day". */
  label: string
  /** Civil dates, `2026-01-31`, one for each value. */
  dates: readonly string[]
  series: readonly Series[]
  /** Bars for what is counted by day, lines for what goes on. */
  kind?: 'bars' | 'lines'
  /** The noun of the values, such as "events". */
  unit?: string
  height?: number
  /** A date that is not over. Its values still grow, so they are drawn faintly. */
  today?: string | undefined
}

const MARGIN = { top: 10, right: 8, bottom: 28 }
/** The place of a label at the left: one figure, and what is beside all of them, in pixels. */
const FIGURE = 7.5
const BESIDE = 12
/** The look of the labels at the axes. */
const LABEL = { fontSize: 12, fontFamily: 'inherit', fill: 'currentColor' }
const COLOURS = ['text-series-1', 'text-series-2', 'text-series-3', 'text-series-4', 'text-series-5']
/** The lines differ by their dashes too, for people who see few colours. */
const DASHES = ['none', '7 3', '2 3', '9 3 2 3', '4 5']
const at = (list: readonly string[], index: number) => list[index % list.length] ?? ''

const SHORT = new Intl.DateTimeFormat(LOCALE, { month: 'short', day: 'numeric' })

/** A sample of the line or the bar of a series. */
const Mark = ({ kind, index }: { kind: 'bars' | 'lines'; index: number }) => (
  <svg width={16} height={10} aria-hidden="true" className={classes('shrink-0', at(COLOURS, index))}>
    {kind === 'bars' ? (
      <rect x={3} width={10} height={10} rx={3} fill="currentColor" />
    ) : (
      <path d="M0 5h16" stroke="currentColor" strokeWidth={2.5} strokeDasharray={at(DASHES, index)} />
    )}
  </svg>
)

type Point = { date: string; value: number }

/** The chart in words, for readers who do not see it. */
function described({ label, dates, series, unit, today }: ChartProps): string {
  const [first, last] = [dates[0], dates.at(-1)]
  if (first === undefined || last === undefined) return `${label}: no data.`
  const parts = series.map(({ name, values }) => {
    const most = Math.max(...values)
    const day = dates[values.indexOf(most)] ?? first
    const latest = values.at(-1) ?? 0
    const when = last === today ? 'today so far' : 'on the last day'
    return say`${name}: ${formatNumber(latest)} ${when}, at most ${formatNumber(most)} on ${formatDate(day)}.`
  })
  return `${label}${unit === undefined ? '' : ` in ${unit}`}, from ${formatDate(first)} to ${formatDate(last)}. ${parts.join(' ')}`
}

/** Values by day as an image, with a text alternative and a table of the same values. */
export function SeriesChart(props: ChartProps) {
  const { label, dates, series, kind = 'lines', unit, height = 220, today } = props
  const { parentRef, width } = useParentSize({ initialSize: { width: 0, height }, debounceTime: 50 })
  const [pointed, setPointed] = useState<number | null>(null)
  const all = series.flatMap(({ values }) => values)
  const hasData = all.some((value) => value !== 0)
  const most = all.reduce((one, other) => Math.max(one, other), hasData ? 1 : 4)
  const least = all.reduce((one, other) => Math.min(one, other), 0)
  const y = scaleLinear({
    domain: [least, most],
    range: [height - MARGIN.top - MARGIN.bottom, 0],
    nice: 4,
  })
  const ticks = y.ticks(4).filter(Number.isInteger)
  const left = Math.max(...ticks.map((tick) => formatCompact(tick).length)) * FIGURE + BESIDE
  const inner = {
    width: Math.max(0, width - left - MARGIN.right),
    height: height - MARGIN.top - MARGIN.bottom,
  }
  // So many days have bars without a gap.
  const isDense = inner.width / Math.max(1, dates.length) < 4
  const x = scaleBand({
    domain: [...dates],
    range: [0, inner.width],
    paddingInner: isDense ? 0 : 0.3,
    paddingOuter: isDense ? 0 : 0.15,
  })
  const middle = (date: string) => (x(date) ?? 0) + x.bandwidth() / 2
  const isUnfinished = today !== undefined && dates.at(-1) === today && dates.length > 1
  const shown = pointed ?? dates.length - 1
  // A line of one day would not be seen.
  const dot = dates.length === 1 ? 0 : (pointed ?? -1)
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const offset = event.clientX - event.currentTarget.getBoundingClientRect().left - left
    const index = Math.floor((offset / Math.max(1, inner.width)) * dates.length)
    setPointed(index >= 0 && index < dates.length ? index : null)
  }
  const barsOf = (points: Point[], index: number) => {
    const wide = x.bandwidth() / series.length
    return points.map(({ date, value }) => (
      <Bar
        key={date}
        x={(x(date) ?? 0) + index * wide}
        y={Math.min(y(value), y(0))}
        width={wide}
        height={Math.abs(y(0) - y(value))}
        rx={Math.min(3, wide / 4)}
        fill="currentColor"
        opacity={date === today ? 0.5 : 1}
      />
    ))
  }
  const lineOf = (points: Point[], index: number) => {
    const finished = isUnfinished ? points.slice(0, -1) : points
    const place = { x: ({ date }: Point) => middle(date), y: ({ value }: Point) => y(value) }
    const look = { fill: 'none', stroke: 'currentColor', strokeWidth: 2 }
    const marked = points[dot]
    return (
      <>
        {index === 0 && hasData && (
          <AreaClosed {...place} data={finished} y0={y(0)} yScale={y} fill="currentColor" opacity={0.08} />
        )}
        {isUnfinished && (
          <LinePath
            {...place}
            {...look}
            data={points.slice(-2)}
            strokeDasharray="1 4"
            strokeLinecap="round"
            opacity={0.7}
          />
        )}
        <LinePath
          {...place}
          {...look}
          data={finished}
          strokeLinejoin="round"
          strokeDasharray={at(DASHES, index)}
        />
        {marked && (
          <circle
            cx={middle(marked.date)}
            cy={y(marked.value)}
            r={4}
            strokeWidth={2}
            fill="currentColor"
            className="stroke-surface"
          />
        )}
      </>
    )
  }
  const every = Math.max(1, Math.ceil(dates.length / Math.max(2, Math.floor(inner.width / 80))))
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <figcaption className="flex flex-wrap items-baseline gap-x-4 gap-y-1 text-sm" aria-hidden="true">
        {dates[shown] !== undefined && (
          <span className="min-w-22 text-quiet tabular-nums">
            {/* One text: React could not remove a second one from a page that the browser translates. */}
            {`${formatDate(dates[shown])}${dates[shown] === today ? ' so far' : ''}`}
          </span>
        )}
        {series.map(({ name, values }, index) => (
          <span key={name} className="flex min-w-0 items-center gap-1.5">
            <Mark kind={kind} index={index} />
            <span className="truncate">{name}</span>
            <strong className="font-semibold tabular-nums">{formatNumber(values[shown] ?? 0)}</strong>
          </span>
        ))}
      </figcaption>
      <div ref={parentRef} className="w-full contain-inline-size" style={{ height }}>
        {width > 0 && (
          <svg
            role="img"
            aria-label={described(props)}
            width={width}
            height={height}
            className="touch-pan-y"
            onPointerMove={point}
            onPointerLeave={() => setPointed(null)}
          >
            <g transform={`translate(${left},${MARGIN.top})`}>
              {ticks.map((tick) => (
                <path
                  key={tick}
                  d={`M0 ${y(tick)}h${inner.width}`}
                  className={tick === 0 ? 'stroke-line-button' : 'stroke-line'}
                />
              ))}
              {!hasData && (
                <text
                  x={inner.width / 2}
                  y={inner.height / 2}
                  textAnchor="middle"
                  className="fill-quiet text-sm"
                >
                  No data in this period
                </text>
              )}
              {pointed !== null && (
                <rect
                  x={(x(dates[pointed] ?? '') ?? 0) - (x.step() - x.bandwidth()) / 2}
                  width={x.step()}
                  height={inner.height}
                  className="fill-hover"
                />
              )}
              {series.map(({ name, values }, index) => {
                const points = dates.map((date, day) => ({ date, value: values[day] ?? 0 }))
                return (
                  <g key={name} className={at(COLOURS, index)}>
                    {kind === 'bars' ? barsOf(points, index) : lineOf(points, index)}
                  </g>
                )
              })}
              <AxisLeft
                scale={y}
                tickValues={ticks}
                hideAxisLine
                hideTicks
                tickFormat={(value) => formatCompact(Number(value))}
                tickClassName="text-quiet tabular-nums"
                tickLabelProps={{ ...LABEL, textAnchor: 'end', dx: -2, dy: 4 }}
              />
              <AxisBottom
                scale={x}
                top={inner.height}
                hideTicks
                hideAxisLine
                tickValues={dates.filter((_, day) => day % every === 0)}
                tickFormat={(date) => SHORT.format(startOf(String(date)))}
                tickClassName="text-quiet tabular-nums"
                tickLabelProps={{ ...LABEL, textAnchor: 'middle', dy: 4 }}
              />
            </g>
          </svg>
        )}
      </div>
      <details className="text-sm">
        <summary className="w-fit rounded-sm text-quiet hover:text-text">Show as a table</summary>
        <section
          className="mt-2 max-h-72 overflow-auto rounded-md border border-line"
          aria-label={`${label} as a table`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard.
          tabIndex={0}
        >
          <Table
            isDense
            label={unit === undefined ? label : `${label}, in ${unit}`}
            rows={dates.map((date, day) => ({ id: date, day }))}
            columns={[
              { name: 'Date', cell: ({ id }) => formatDate(id) },
              ...series.map(({ name, values }) => ({
                name,
                cell: ({ day }: { id: string; day: number }) => formatNumber(values[day] ?? 0),
                isNumber: true,
              })),
            ]}
          />
        </section>
      </details>
    </figure>
  )
}
