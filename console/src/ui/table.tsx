import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { classes } from './classes'
import { Skeleton } from './page'

export type Column<Row> = {
  name: string
  cell: (row: Row) => ReactNode
  /** Numbers are at the right. */
  isNumber?: boolean
  /** Is left out on a phone. */
  isMinor?: boolean
}

type TableProps<Row> = {
  /** Says what the table lists, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  /** Undefined while they are loading. */
  rows: readonly Row[] | undefined
  keyOf: (row: Row) => string
  /** The path of a row's page. The first cell is the link to it. */
  hrefOf?: (row: Row) => string
  /** How many rows the table shows while it loads. */
  expected?: number
}

/** An address as the router takes it. A place on the same page keeps the scroll position. */
function targetOf(href: string) {
  const [to = '', query] = href.split('?')
  const search = Object.fromEntries(new URLSearchParams(query))
  return { to, search, resetScroll: query === undefined }
}

/** A table of rows, of which each may lead to a page. */
export function Table<Row>({ label, columns, rows, keyOf, hrefOf, expected = 5 }: TableProps<Row>) {
  const cell = ({ isNumber, isMinor }: Column<Row>) =>
    classes('px-5 py-3 align-middle', isNumber && 'text-right tabular-nums', isMinor && 'max-sm:hidden')
  return (
    <div className="overflow-x-auto">
      <table className="w-full border-collapse text-left" aria-busy={rows === undefined}>
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="border-b border-line text-sm text-quiet">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classes(cell(column), 'py-2.5! font-medium whitespace-nowrap')}
              >
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map((row) => (
            <tr
              key={keyOf(row)}
              className={classes('border-b border-line last:border-b-0', hrefOf && 'relative hover:bg-hover')}
            >
              {columns.map((column, index) => (
                <td key={column.name} className={cell(column)}>
                  {index === 0 && hrefOf ? (
                    <Link
                      {...targetOf(hrefOf(row))}
                      className="font-medium text-text after:absolute after:inset-0 hover:underline focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
                    >
                      {column.cell(row)}
                    </Link>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          )) ??
            Array.from({ length: expected }, (_, line) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same.
              <tr key={line} className="border-b border-line last:border-b-0">
                {columns.map((column, index) => (
                  <td key={column.name} className={cell(column)}>
                    <Skeleton className={index === 0 ? 'w-32' : 'w-16'} />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}
