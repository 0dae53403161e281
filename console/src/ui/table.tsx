import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { classes } from './classes'
import { Skeleton } from './page'
import { nameOr } from './text'

export type Column<Row> = {
  name: string
  cell(row: Row): ReactNode
  /** Numbers are at the right. */
  isNumber?: boolean
  /** Is left out on a phone. */
  isMinor?: boolean
}

export type TableProps<Row> = {
  /** Says what the table lists, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  /** Undefined while they are loading. */
  rows: readonly Row[] | undefined
  /** The path of a row's page. The first cell is the link to it. */
  hrefOf?: (row: Row) => string
  /** How many rows the table shows while it loads. */
  expected?: number
  /** Is true if the first cell has two lines: so do the rows that are shown while it loads. */
  hasTwoLines?: boolean
  /** Is true for a small table inside of something else. Its first cells name their rows. */
  isDense?: boolean
}

/** How many characters of a text surely fit. */
const LONG = 60

/** An address as the router takes it. A place on the same page keeps the scroll position. */
export function targetOf(href: string) {
  const [to = '', query] = href.split('?')
  const search = Object.fromEntries(new URLSearchParams(query))
  return { to, search, resetScroll: query === undefined }
}

/** A table of rows, of which each may lead to a page. */
export function Table<Row extends { id: string }>({
  label,
  columns,
  rows,
  hrefOf,
  expected = 5,
  hasTwoLines = false,
  isDense = false,
}: TableProps<Row>) {
  const cell = ({ isNumber, isMinor }: Column<Row>) =>
    classes(
      isDense
        ? 'px-3 py-1.5 align-top'
        : 'h-12 py-2.5 align-middle max-sm:px-2 max-sm:first:pl-4 max-sm:last:pr-4 sm:min-w-28 sm:px-5',
      isNumber && 'text-right whitespace-nowrap tabular-nums',
      isMinor && 'max-sm:hidden',
    )
  // A long text takes two lines, and is whole in the hint.
  const content = (column: Column<Row>, row: Row) => {
    const read = column.cell(row)
    if (typeof read !== 'string') return read
    // The text of a link, which is never empty.
    const shown = column === columns[0] ? nameOr(read, row.id) : read
    return (
      <span className="line-clamp-2" title={shown.length > LONG ? shown : undefined}>
        {shown}
      </span>
    )
  }
  return (
    <div className={isDense ? undefined : 'overflow-x-auto'}>
      <table className="w-full border-collapse text-left" aria-busy={rows === undefined}>
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="border-b border-line text-sm text-quiet">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classes(cell(column), !isDense && 'h-10!', 'font-medium whitespace-nowrap')}
              >
                {/* The width of the columns is known with the rows. */}
                <span className={rows === undefined ? 'invisible' : undefined}>{column.name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map((row) => (
            <tr
              key={row.id}
              className={classes('border-b border-line last:border-b-0', hrefOf && 'relative hover:bg-hover')}
            >
              {columns.map((column, index) => {
                const isName = isDense && index === 0
                const Cell = isName ? 'th' : 'td'
                return (
                  <Cell
                    key={column.name}
                    scope={isName ? 'row' : undefined}
                    className={classes(cell(column), isName && 'font-normal')}
                  >
                    {index === 0 && hrefOf ? (
                      <Link
                        {...targetOf(hrefOf(row))}
                        className="font-medium text-text after:absolute after:inset-0 hover:underline focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
                      >
                        {content(column, row)}
                      </Link>
                    ) : (
                      content(column, row)
                    )}
                  </Cell>
                )
              })}
            </tr>
          )) ??
            Array.from({ length: expected }, (_, line) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same.
              <tr key={line} className="border-b border-line last:border-b-0">
                {columns.map((column, index) => (
                  <td key={column.name} className={cell(column)}>
                    <Skeleton className={index === 0 ? 'w-32' : 'w-16'} />
                    {index === 0 && hasTwoLines && (
                      <span className="block text-sm">
                        <Skeleton className="w-48 max-w-full" />
                      </span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}
