'use client'
import type {
  LeaderboardRanking,
  LeaderboardResponseWithRankings,
  LiveRanking,
  UserLeaderboardResponseWithHistory,
} from '@laurel/client/app'
import { LaurelError, startTimer } from '@laurel/client/app'
import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react'
import type { GroupData, LeaderboardData, OwnPlace, RankingRow, Resource } from '../view/data.ts'
import { withPreviousRanks } from '../view/ranking.ts'
import { lastDateOf } from '../view/runs.ts'
import { type LaurelContext, useLaurelContext } from './provider.tsx'
import { useUser } from './reads.ts'
import { type InitialData, keyOf, useRead } from './resource.ts'
import type { Sink } from './streams.ts'

export interface LeaderboardOptions extends InitialData<LeaderboardResponseWithRankings> {
  /** Follow the ranking as it changes. False if absent: it is read once, and again on focus. */
  live?: boolean | undefined
  /** Ranks to show, 1 to 100, and not more than the board has (L9). If absent, 10 or all of a smaller board. */
  limit?: number | undefined
  /** The group to show: a leaderboard with breakdown needs one (L6). With `null` nothing is read yet. */
  group?: GroupData | null | undefined
}

export interface LeaderboardResource extends Resource<LeaderboardData> {
  /** True while a stream of the ranking is open. */
  isLive: boolean
}

/** The state of a stream, and the part of a leaderboard that it shows. */
export interface LiveState extends Part {
  run: string | null
  rankings: RankingRow[]
  isOpen: boolean
  /** When the ranking came, by the browser's clock. */
  at: number
}

/** A part of a leaderboard: the first places, of a group if it has attributes. */
interface Part {
  key: string
  limit: number
  attributes: Record<string, string> | undefined
}

/** A user's place in the cache. An event's answer adds the rank before. */
export type Place = Pick<UserLeaderboardResponseWithHistory, 'rank' | 'value' | 'breakdownAttributes'> & {
  previousRank?: number | null | undefined
}

/** Because of a ranking, the rest of a leaderboard is read again at most this often, in milliseconds. */
const INTERVAL = 15_000

/** The values of a group by their keys. */
export const attributesOf = (group: GroupData | null | undefined) =>
  group ? Object.fromEntries(group.group.map(({ key, value }) => [key, value])) : undefined

/** A ranking, the user's own place in it, and whether it is live (L9, L10, Y1). */
export function useLeaderboard(
  ofBoard: string | null,
  options: LeaderboardOptions = {},
): LeaderboardResource {
  const { live = false, limit = 10, group, initialData, initialDataUpdatedAt } = options
  const key = ofBoard ?? ''
  const { userId } = useLaurelContext()
  const attributes = useMemo(() => attributesOf(group), [group])
  const board = useRead<LeaderboardResponseWithRankings>({
    parts: ['board', key, options.limit, attributes],
    read: ({ client }, signal) =>
      client.leaderboards.get(key, { limit: options.limit, userAttributes: attributes }, { signal }),
    initialData,
    initialDataUpdatedAt,
    isEnabled: key !== '' && group !== null,
  })
  // The user's own day may be in another run than that of the board (L2).
  const place = usePlace(board.data ? key : '', board.data?.run.key)
  const user = useUser()
  const stream = useLiveState({
    key,
    limit,
    attributes,
    isWanted: live && key !== '' && userId !== '' && group !== null,
    readAt: board.readAt,
  })
  return useMemo(() => {
    // While the stream is not open, the board may have been read after the last ranking of it.
    const state =
      stream.state && (stream.state.isOpen || stream.state.at > board.readAt) ? stream.state : undefined
    // The own row comes with the others, so that nothing moves. Data of a server is shown without waiting.
    const isOwnUnknown = place.isLoading || (attributes !== undefined && user.isLoading)
    const isWaiting = isOwnUnknown && initialData === undefined
    const data =
      !isWaiting &&
      board.data &&
      leaderboardOf(
        board.data,
        state,
        isOwnGroup(attributes, user.data?.attributes)
          ? ownPlace(userId, user.data?.name, place.data, state?.rankings ?? board.data.rankings, limit)
          : undefined,
      )
    return {
      data: data || undefined,
      error: board.error,
      isLoading: board.isLoading || isWaiting,
      isLive: state?.isOpen ?? false,
      refetch: () => {
        board.refetch()
        place.refetch()
        stream.revive()
      },
      dataKey: board.dataKey,
    }
  }, [board, place, user.data, user.isLoading, stream, userId, attributes, limit, initialData])
}

/** The user's place on a leaderboard (L10): in the run of a date, or in that of the user's day. */
export const usePlace = (key: string, run?: string) =>
  useRead<Place>({
    parts: ['place', key, run],
    read: ({ client, userId }, signal) =>
      client.users.leaderboards.get(userId, key, { numEvents: 0, run }, { signal }),
    isEnabled: key !== '',
  })

function leaderboardOf(
  { name, pointsSystemName, metricName, status, run, rankings }: LeaderboardResponseWithRankings,
  live: LiveState | undefined,
  own: OwnPlace | undefined,
): LeaderboardData {
  // After another run has begun, the board is read again.
  const isOfRun = live === undefined || live.run === null || live.run === run.key
  return {
    name,
    unit: pointsSystemName ?? metricName,
    status,
    ...(isOfRun && { start: run.key, end: lastDateOf(run), run }),
    rankings: live?.rankings ?? rankings,
    own,
  }
}

/** True if the shown group is the user's own. Without groups it is; of an unknown user it is not. */
export function isOwnGroup(
  shown: Record<string, string> | undefined,
  own: Record<string, string> | undefined,
): boolean {
  if (shown === undefined) return true
  if (own === undefined) return false
  return Object.entries(shown).every(([key, value]) => own[key] === value)
}

/** The user's place. The shown rows are newer than the place that was read, so they decide if they can. */
function ownPlace(
  userId: string,
  userName: string | null | undefined,
  place: Place | undefined,
  rows: readonly LeaderboardRanking[],
  limit: number,
): OwnPlace | undefined {
  const row = rows.find((one) => one.userId === userId)
  if (row !== undefined) return row
  if (place === undefined) return undefined
  const { rank } = place
  // The user has just left the visible part, and the new place is not read yet.
  if (rank !== null && rank <= Math.min(limit, rows.length)) return undefined
  return { userId, userName, ...place }
}

interface Watched extends Part {
  isWanted: boolean
  /** When the board was read. A stream that was refused is opened again after each read. */
  readAt: number
}

/** The live state of a ranking, as long as a component wants it, and a function that opens it again if it was refused. */
function useLiveState({ key, limit, attributes, isWanted, readAt }: Watched) {
  const context = useLaurelContext()
  const { streams, userId } = context
  const id = JSON.stringify([userId, key, limit, attributes])
  const current = useCallback(() => (isWanted ? streams.stateOf(id) : undefined), [isWanted, streams, id])
  // A server opens none.
  const state = useSyncExternalStore(streams.subscribe, current, () => undefined)
  const revive = useCallback(() => streams.revive(id), [streams, id])
  useEffect(() => {
    if (!isWanted) return
    return streams.join(id, (sink) => openStream(context, sink, { key, limit, attributes }))
  }, [isWanted, id, context, streams, key, limit, attributes])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a read that succeeds shows that the user may read.
  useEffect(revive, [revive, readAt])
  return useMemo(() => ({ state, revive }), [state, revive])
}

/** Watches a ranking, and brings its state and the user's place up to date. */
function openStream(
  context: LaurelContext,
  { get, set, setRefused }: Sink<LiveState>,
  part: Part,
): () => void {
  const { key, limit, attributes } = part
  const { client, cache, userId } = context
  const readBoard = () => cache.invalidate(keyOf(context, 'board', key))
  const place = readerOf(context, 'place', key)
  const groups = readerOf(context, 'groups', key)
  let isOpen = true
  const stop = client.leaderboards.live(key, {
    limit,
    userAttributes: attributes,
    onRanking: (ranking) => {
      const before = get()
      isOpen = true
      setRefused(false)
      set({ ...liveState(ranking, before), ...part, at: Date.now() })
      if (before !== undefined && before.run !== ranking.run) readBoard()
      if (!ranking.rankings.some((row) => row.userId === userId)) place.read()
      // Users may have come, gone or changed their groups.
      if (before !== undefined && attributes !== undefined) groups.read()
    },
    onFinished: readBoard,
    onError: (error, isOver) => {
      const last = get()
      isOpen = false
      // With a function as the key, the client tries again by itself, but only after a while.
      setRefused(isOver || (error instanceof LaurelError && [401, 403].includes(error.status)))
      if (last !== undefined) set({ ...last, isOpen: false })
    },
  })
  return () => {
    stop()
    place.stop()
    groups.stop()
    // The board is as old as the stream. One that was refused is opened after each read, so it must not read.
    if (isOpen) readBoard()
  }
}

/** Ranks of another run say nothing about this one. */
const liveState = ({ run, rankings }: LiveRanking, before: LiveState | undefined) => ({
  run,
  rankings: withPreviousRanks(rankings, before?.run === run ? (before?.rankings ?? []) : []),
  isOpen: true,
})

/** Reads a part of the cache again, but not for every change of the ranking. */
function readerOf(context: LaurelContext, part: string, key: string) {
  let readAt = 0
  let stopTimer: (() => void) | undefined
  const read = () => {
    stopTimer = undefined
    readAt = Date.now()
    context.cache.invalidate(keyOf(context, part, key))
  }
  return {
    read: () => {
      stopTimer ??= startTimer(read, Math.max(0, readAt + INTERVAL - Date.now()))
    },
    stop: () => stopTimer?.(),
  }
}
