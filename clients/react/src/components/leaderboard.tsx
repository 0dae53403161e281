'use client'
import { type ReactNode, useMemo } from 'react'
import { Announcer } from '../parts/announcer.tsx'
import { GroupPicker } from '../parts/group-picker.tsx'
import { Picture } from '../parts/picture.tsx'
import { RankingTable, type RankingTableRow } from '../parts/ranking-table.tsx'
import { VisuallyHidden } from '../parts/visually-hidden.tsx'
import type { GroupData, LeaderboardData, ResourceProps } from '../view/data.ts'
import { leaderboardLabels } from '../view/labels.ts'
import { rankChange, rankingView } from '../view/ranking.ts'
import { useSettings } from '../view/settings.tsx'
import { Card, type CardAttributes } from './card.tsx'
import { ChartIcon, UpIcon } from './icons.tsx'

export interface LeaderboardProps extends ResourceProps<LeaderboardData>, CardAttributes {
  /** Shows that the ranking is live. */
  isLive?: boolean | undefined
  /** The groups of a board with breakdown. With them, a picker is above the ranking. */
  groups?: readonly GroupData[] | undefined
  group?: GroupData | undefined
  onGroupChange?: ((group: GroupData) => void) | undefined
  /** Pixels, or a CSS length. A longer ranking scrolls in it, and the own row stays in view. */
  maxHeight?: number | string | undefined
  /** Grey rows while the ranking is loading. */
  placeholderRows?: number | undefined
  /** Draws the name of a user, for example as a link to the profile. The name alone if absent. */
  renderName?: RenderName | undefined
}

type RenderName = (row: Pick<RankingTableRow, 'userId'>, name: string) => ReactNode

const placeholderOf = (rows: number): LeaderboardData => ({
  name: 'Leaderboard',
  start: '2026-01-05',
  end: '2026-01-11',
  rankings: Array.from({ length: rows }, (_, index) => ({
    userId: `${index}`,
    userName: 'Name of a user',
    rank: index + 1,
    value: 1000,
  })),
})

/** A ranking with medals, rank changes and the user's own row, which is always in view. */
export function Leaderboard(props: LeaderboardProps) {
  const {
    className,
    id,
    isLive,
    groups,
    group,
    onGroupChange,
    maxHeight,
    placeholderRows = 5,
    renderName,
    ...resource
  } = props
  return (
    <Card
      {...{ className, id, resource }}
      kind="leaderboard"
      label={resource.data?.name}
      placeholder={placeholderOf(placeholderRows)}
      head={(board, isReady) => <Head board={board} isLive={isLive === true && isReady} />}
      controls={
        groups !== undefined &&
        groups.length > 0 && (
          <GroupPicker
            className="laurel-group-picker"
            groups={groups}
            value={group}
            onChange={(chosen) => onGroupChange?.(chosen)}
          />
        )
      }
    >
      {(board, isReady) => (
        <Ranking
          board={board}
          maxHeight={maxHeight}
          isReady={isReady}
          renderName={isReady ? renderName : undefined}
        />
      )}
    </Card>
  )
}

function Head({ board, isLive }: { board: LeaderboardData; isLive: boolean }) {
  const { labels, format } = useSettings(leaderboardLabels)
  const { name, start, end, status } = board
  const badge = status === 'finished' ? labels.final : status === 'scheduled' ? labels.scheduled : undefined
  return (
    <div className="laurel-head">
      <span className="laurel-stack">
        <span className="laurel-title laurel-text laurel-truncate" dir="auto" title={name}>
          {name}
        </span>
        {start && end && <span className="laurel-detail laurel-text">{format.dateRange(start, end)}</span>}
      </span>
      {badge && <span className="laurel-tag">{badge}</span>}
      {!badge && isLive && (
        <span className="laurel-tag laurel-live">
          <span className="laurel-pulse" />
          {labels.live}
        </span>
      )}
    </div>
  )
}

interface RankingProps {
  board: LeaderboardData
  maxHeight: number | string | undefined
  isReady: boolean
  renderName: RenderName | undefined
}

function Ranking({ board, maxHeight, isReady, renderName }: RankingProps) {
  const { labels, format } = useSettings(leaderboardLabels)
  const { rankings, own, name, unit } = board
  const view = useMemo(() => rankingView(rankings, own), [rankings, own])
  const { rank = null, value = null } = view.rows.find(({ isOwn }) => isOwn) ?? view.pinned ?? {}
  const announcement =
    isReady && rank !== null && value !== null ? labels.ownRank({ rank, value }, format) : undefined
  const score = unit ?? labels.score
  const height = typeof maxHeight === 'number' ? `${maxHeight}px` : (maxHeight ?? 'none')
  // A page of a server may forbid styles in its HTML (`Content-Security-Policy`). Scripts may set them.
  const limit = (box: HTMLElement | null) => box?.style.setProperty('max-block-size', height)
  const table = (
    <RankingTable
      className="laurel-ranking"
      view={view}
      caption={name}
      columns={[labels.rank, labels.player, score]}
    >
      {(row) => <Cells row={row} unit={unit} renderName={renderName} />}
    </RankingTable>
  )
  const nobody = rankings.length === 0 && (
    <p className="laurel-empty">
      <ChartIcon />
      {labels.noRanking}
    </p>
  )
  if (nobody && view.pinned === undefined) return nobody
  return (
    <>
      {nobody}
      {maxHeight === undefined ? (
        table
      ) : (
        <section
          ref={limit}
          className="laurel-scroll"
          style={{ maxBlockSize: height }}
          aria-label={name}
          tabIndex={isReady ? 0 : undefined}
        >
          {table}
        </section>
      )}
      <Announcer text={announcement} />
    </>
  )
}

function Cells({
  row,
  unit,
  renderName,
}: {
  row: RankingTableRow
  unit: string | undefined
  renderName: RenderName | undefined
}) {
  const { labels, format, avatar } = useSettings(leaderboardLabels)
  const { rank, value, isOwn } = row
  // A name can be empty.
  const name = row.userName || (isOwn ? labels.you : row.userId)
  return (
    <>
      <td className="laurel-rank">
        {rank === null ? (
          <span className="laurel-detail" aria-hidden="true">
            –
          </span>
        ) : (
          <span className="laurel-rank-number laurel-text" data-medal={rank <= 3 ? rank : undefined}>
            {format.shortNumber(rank)}
          </span>
        )}
      </td>
      <th scope="row" className="laurel-player" colSpan={value === null ? 2 : undefined}>
        <span className="laurel-player-box">
          <span className="laurel-avatar" aria-hidden="true">
            <Picture
              src={row.imageUrl ?? avatar?.(row.userId)}
              fallback={<span>{initials(name, format.locale)}</span>}
            />
          </span>
          <span className="laurel-truncate laurel-text" dir="auto" title={name}>
            {renderName === undefined ? name : renderName(row, name)}
          </span>
          {isOwn && name !== labels.you && <span className="laurel-tag">{labels.you}</span>}
          {rank === null ? (
            <span className="laurel-detail">{labels.notRanked}</span>
          ) : (
            <Change row={{ rank, previousRank: row.previousRank }} />
          )}
        </span>
      </th>
      {value !== null && (
        <td className="laurel-value">
          <span className="laurel-text" title={format.number(value)}>
            {format.shortNumber(value)}
            {unit !== undefined && (
              <>
                {' '}
                <span className="laurel-value-unit" dir="auto" aria-hidden="true">
                  {unit}
                </span>
              </>
            )}
          </span>
        </td>
      )}
    </>
  )
}

function Change({ row }: { row: { rank: number; previousRank: number | null | undefined } }) {
  const { labels, format } = useSettings(leaderboardLabels)
  const change = rankChange(row)
  if (change === null) return null
  if (change.type === 'new') return <span className="laurel-change">{labels.rankNew}</span>
  const text = change.type === 'up' ? labels.rankUp(change, format) : labels.rankDown(change, format)
  return (
    <span className="laurel-change" data-direction={change.type} title={text}>
      <UpIcon />
      <span aria-hidden="true">{format.shortNumber(change.places)}</span>
      <VisuallyHidden>{text}</VisuallyHidden>
    </span>
  )
}

/** The first letters of the first and the last word, as a reader of the language sees letters. */
function initials(name: string, locale: string): string {
  const words = name.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : words
  // Not every engine has it.
  const segmenter = Intl.Segmenter ? new Intl.Segmenter(locale, { granularity: 'grapheme' }) : undefined
  return chosen
    .map((word = '') => (segmenter === undefined ? [...word][0] : [...segmenter.segment(word)][0]?.segment))
    .join('')
    .toLocaleUpperCase(locale)
}
