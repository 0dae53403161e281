import type * as z from 'zod'
import type { LeaderboardRanking } from '../../api/shapes/leaderboard.schemas'
import { instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { dateOfDay } from '../../lib/zone'
import type { Run } from '../../rules/runs.rules'
import { type Definition, groupOf, type PageReply } from '../board.messages'
import type { ViewRequest } from './live.messages'

/** The part of a board that is watched. */
export type WatchedBoard = {
  definition: Definition
  progress: { openFrom: number }
  /** The places of a view in a run, by its first day. */
  page: (request: ViewRequest, run: number) => Page
}

/** Places of a ranking, without names. */
export type Page = z.output<typeof PageReply>

/** A visible part of the board that is watched. */
export class View {
  /** The group in one text; null if the view mixes groups. */
  readonly whole: string | null
  /** The open sockets, and the ones that are about to open. */
  watchers = 0
  /** Whether it may differ from `content`. */
  isOutdated = true
  /** The users who have changed since `content` was made. Their names may have changed too. */
  readonly changed = new Set<string>()
  /** The places as last read, without names; null if they must be read again. */
  pageKey: string | null = null
  /** The ranking as last made: JSON of all its fields except `version`. */
  content = ''
  /** A hash of the content. */
  hash: string | null = null

  constructor(
    readonly key: string,
    readonly request: ViewRequest,
  ) {
    this.whole = groupOf(request.group)
  }

  /** Whether it shows these places already, of users who have not changed. */
  hasPage(key: string, page: Page): boolean {
    return key === this.pageKey && !page.some(({ iid }) => this.changed.has(iid))
  }

  set(key: string, ranking: object): void {
    this.pageKey = key
    this.content = JSON.stringify(ranking)
    this.hash = namedId(instant(0), this.content)
  }
}

/** The key of a view: the same for all watchers of the same places. */
export const keyOf = ({ limit, group }: ViewRequest): string => JSON.stringify([limit, group])

/** The places of a view in a run, and a text that differs if they or `served` differ. */
export function pageOf(
  board: WatchedBoard,
  { request }: View,
  run: Run,
  served: string,
): { page: Page; key: string } {
  const page = board.page(request, run.start)
  return { page, key: served + JSON.stringify(page) }
}

/** The places as `GET /leaderboards/{key}` shows them (Y1). `names` has names by internal id. */
export const named = (
  page: Page,
  names: ReadonlyMap<string, string | null>,
): z.input<typeof LeaderboardRanking>[] =>
  page.map(({ userId, iid, rank, value }) => ({ userId, userName: names.get(iid) ?? null, rank, value }))

/** The first date of a run; null if the board has no runs (Y1). */
export const firstDate = ({ definition }: WatchedBoard, run: Run): string | null =>
  definition.runUnit === null ? null : dateOfDay(run.start)
