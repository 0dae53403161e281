'use client'
import { type ComponentProps, type ReactNode, useRef } from 'react'
import type { OwnPlace, RankingRow } from '../view/data.ts'
import type { RankingView } from '../view/ranking.ts'
import { useBrowserLayoutEffect, useReducedMotion } from './browser.ts'
import { VisuallyHidden } from './visually-hidden.tsx'

export type RankingTableRow = (RankingRow | OwnPlace) & { isOwn: boolean }

export interface RankingTableProps extends Omit<ComponentProps<'table'>, 'children' | 'ref'> {
  view: RankingView
  caption: string
  /** Names of the columns, for screen readers. */
  columns: readonly string[]
  /** The cells of a row: one `td` (or `th` with scope `row`) for each column. */
  children: (row: RankingTableRow) => ReactNode
}

const MOVE = { duration: 400, easing: 'cubic-bezier(0.2, 0, 0, 1)' }

/**
 * The table of a ranking. The user's own row has `aria-current` and `data-own`. If the page does not hold it,
 * it follows in a body of its own, with `data-pinned`. Rows move to their new places, unless the user wants
 * less motion.
 */
export function RankingTable({ view, caption, columns, children, ...rest }: RankingTableProps) {
  const rows = useMovingRows(view)
  const row = (one: RankingTableRow) => (
    <tr
      key={one.userId}
      data-user={one.userId}
      data-rank={one.rank ?? undefined}
      data-own={one.isOwn || undefined}
      aria-current={one.isOwn || undefined}
    >
      {children(one)}
    </tr>
  )
  return (
    <table {...rest}>
      <caption>
        <VisuallyHidden>{caption}</VisuallyHidden>
      </caption>
      <thead>
        <tr>
          {columns.map((column, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns can have the same name.
            <th key={index} scope="col">
              <VisuallyHidden>{column}</VisuallyHidden>
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={rows}>{view.rows.map(row)}</tbody>
      {view.pinned && <tbody data-pinned="">{row(view.pinned)}</tbody>}
    </table>
  )
}

/** Lets rows glide from their earlier places to their present ones. */
function useMovingRows(view: RankingView) {
  const body = useRef<HTMLTableSectionElement>(null)
  const places = useRef(new Map<string, number>())
  const isReduced = useReducedMotion()
  useBrowserLayoutEffect(() => {
    const before = places.current
    const now = new Map<string, number>()
    for (const row of body.current?.rows ?? []) {
      const user = row.dataset.user ?? ''
      now.set(user, row.offsetTop)
      const was = before.get(user)
      const isMoved = was !== undefined && was !== row.offsetTop
      if (!isMoved || isReduced || typeof row.animate !== 'function') continue
      row.animate([{ transform: `translateY(${was - row.offsetTop}px)` }, { transform: 'none' }], MOVE)
    }
    places.current = now
  }, [view, isReduced])
  return body
}
