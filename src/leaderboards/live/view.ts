import * as z from 'zod'
import type { LeaderboardRanking } from '../../api/shapes/leaderboards'
import { instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { dateOfDay } from '../../lib/zone'
import type { Run } from '../../rules/runs.rules'
import { Definition, groupOf, moment, type Page } from '../board'

/*
 * The messages between a stream's Worker and the leaderboard's object (Y). They go over a WebSocket, which is
 * opened by a request to the object. The object sends whole events of the stream as text.
 */

/** The header with the request, as percent-encoded JSON. */
export const WATCH_HEADER = 'x-laurel-watch'

/** A visible part of a leaderboard: the first places of a group, or of all groups that match (L6). */
const ViewRequest = z.object({
  limit: z.number(),
  /** Values of breakdown attributes that must match, by their place in the breakdown. */
  group: z.array(z.string().nullable()),
})
export type ViewRequest = z.infer<typeof ViewRequest>

/** The holder of a key whose streams are limited; null if they are not (Y3). */
const holder = z.string().nullable()

/** Opens a stream. */
export const WatchRequest = ViewRequest.extend({ definition: Definition, now: moment, holder })

/** The statuses of the object's response. */
export const WATCH_STATUS = { open: 101, gone: 404, many: 429, full: 503 } as const

/**
 * A message of a stream to the object. `seen`: the last `SEEN_EVERY` events have arrived. `definition`: the
 * configuration has changed, or another day has begun, so the object must look.
 */
export const WatcherMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('seen') }),
  z.object({ type: z.literal('definition'), definition: Definition, now: moment }),
])
export type WatcherMessage = z.input<typeof WatcherMessage>

/** How many events a stream receives before it says so. */
export const SEEN_EVERY = 10
/** The most events that the object sends without that message. Then it drops the stream (Y4). */
export const MOST_UNSEEN = 40

/** The note at a socket, so that the object may sleep: the visible part, and the last state that was sent. */
export const WatcherNote = ViewRequest.extend({
  holder,
  /** A hash of the last ranking; null before the first one. */
  shown: z.string().nullable(),
  /** The largest version that was sent, in milliseconds. */
  version: z.number(),
  /** Runs that start before this day, in days since 1970-01-01, are final, and the stream knows it. */
  openFrom: z.number(),
})
export type WatcherNote = z.infer<typeof WatcherNote>

/** The part of a board that is watched. */
export type WatchedBoard = {
  definition: Definition
  progress: { openFrom: number }
  /** The places of a view in a run, by its first day. */
  page: (request: ViewRequest, run: number) => Page
}

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
