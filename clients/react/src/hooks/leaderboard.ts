'use client'
import type {
  LeaderboardRanking,
  LeaderboardResponseWithRankings,
  LiveRanking,
  UserLeaderboardResponseWithHistory,
} from '@laurel/client/app'
import { startTimer } from '@laurel/client/app'
import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { GroupData, LeaderboardData, OwnPlace, RankingRow, Resource } from '../view/data.ts'
import { withPreviousRanks } from '../view/ranking.ts'
import { runOf } from '../view/runs.ts'
import { useLaurelContext } from './provider.tsx'
import { useUser } from './reads.ts'
import { keyOf, useRead } from './resource.ts'

export interface LeaderboardOptions {
  /** Follow the ranking as it changes. False if absent: it is read once, and again on focus. */
  live?: boolean | undefined
  /** Ranks to show, 1 to 100. 10 if absent. */
  limit?: number | undefined
  /** The group to show: a leaderboard with breakdown needs one (L6). With `null` nothing is read yet. */
  group?: GroupData | null | undefined
  initialData?: LeaderboardResponseWithRankings | undefined
}

export interface LeaderboardResource extends Resource<LeaderboardData> {
  /** True while a stream of the ranking is open. */
  isLive: boolean
}

/** The state of a stream in the cache. */
interface LiveState {
  run: string | null
  rankings: RankingRow[]
  isOpen: boolean
}

/** A user's place in the cache. An event's answer adds the rank before. */
export type Place = Pick<UserLeaderboardResponseWithHistory, 'rank' | 'value'> & {
  previousRank?: number | null
}

/** A user who is not on the visible part is looked up again at most this often, in milliseconds. */
const PLACE_INTERVAL = 15_000

const attributesOf = (group: GroupData | null | undefined) =>
  group ? Object.fromEntries(group.userAttributes.map(({ key, value }) => [key, value])) : undefined

/** A ranking, the user's own place in it, and whether it is live (L9, L10, Y1). */
export function useLeaderboard(key: string, options: LeaderboardOptions = {}): LeaderboardResource {
  const { live = false, limit = 10, group, initialData } = options
  const { userId } = useLaurelContext()
  const attributes = useMemo(() => attributesOf(group), [group])
  const board = useRead<LeaderboardResponseWithRankings>({
    parts: ['board', key, limit, attributes],
    read: ({ client }, signal) =>
      client.leaderboards.get(key, { limit, userAttributes: attributes }, { signal }),
    initialData,
    isEnabled: group !== null,
  })
  const place = useRead<Place>({
    parts: ['place', key],
    read: ({ client, userId: id }, signal) =>
      client.users.leaderboards.get(id, key, { numEvents: 0 }, { signal }),
  })
  const user = useUser()
  const state = useLiveState(key, limit, attributes, live && group !== null)
  return useMemo(() => {
    // The own row comes with the others, so that nothing moves. Data of a server is shown without waiting.
    const isWaiting = place.isLoading && initialData === undefined
    const data =
      !isWaiting &&
      board.data &&
      leaderboardOf(board.data, state, {
        date: new Date(board.readAt).toISOString().slice(0, 10),
        own: isOwnGroup(attributes, user.data?.attributes)
          ? ownPlace(userId, user.data?.name, place.data, state?.rankings ?? board.data.rankings, limit)
          : undefined,
      })
    return {
      data: data || undefined,
      error: board.error,
      isLoading: board.isLoading || isWaiting,
      isLive: state?.isOpen ?? false,
      refetch: () => {
        board.refetch()
        place.refetch()
      },
    }
  }, [board, place, user.data, state, userId, attributes, limit, initialData])
}

function leaderboardOf(
  board: LeaderboardResponseWithRankings,
  live: LiveState | undefined,
  { date, own }: { date: string; own: OwnPlace | undefined },
): LeaderboardData {
  const { name, pointsSystemName, metricName, status } = board
  const run = runOf(board, live?.run ?? date)
  return {
    name,
    unit: pointsSystemName ?? metricName,
    status,
    start: run.start,
    end: run.end,
    rankings: live?.rankings ?? board.rankings,
    own,
  }
}

/** True if the shown group is the user's own, or if the user is not known yet. */
function isOwnGroup(
  shown: Record<string, string> | undefined,
  own: Record<string, string> | undefined,
): boolean {
  if (shown === undefined || own === undefined) return true
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
  const { rank, value, previousRank } = place
  // The user has just left the visible part, and the new place is not read yet.
  if (rank !== null && rank <= Math.min(limit, rows.length)) return undefined
  return {
    userId,
    userName,
    rank,
    value,
    ...(previousRank !== undefined && { previousRank }),
  }
}

/** The live state of a ranking, as long as a component wants it. */
function useLiveState(
  key: string,
  limit: number,
  attributes: Record<string, string> | undefined,
  isWanted: boolean,
): LiveState | undefined {
  const { client, userId, cache, streams } = useLaurelContext()
  const id = JSON.stringify([userId, key, limit, attributes])
  const { data } = useRead<LiveState>({
    parts: ['live', id],
    read: () => Promise.reject(new Error('Streams write this.')),
    isEnabled: false,
  })
  useEffect(() => {
    if (!isWanted) return
    const liveKey = keyOf(userId, 'live', id)
    const readBoard = () => void cache.invalidateQueries({ queryKey: keyOf(userId, 'board', key) })
    return streams.join(id, () => {
      const place = placeReader(cache, userId, key)
      const stop = client.leaderboards.live(key, {
        limit,
        userAttributes: attributes,
        onRanking: (ranking) => {
          const before = cache.getQueryData<LiveState>(liveKey)
          cache.setQueryData<LiveState>(liveKey, liveState(ranking, before))
          if (before !== undefined && before.run !== ranking.run) readBoard()
          if (!ranking.rankings.some((row) => row.userId === userId)) place.read()
        },
        onFinished: readBoard,
        onError: () =>
          cache.setQueryData<LiveState>(liveKey, (state) => state && { ...state, isOpen: false }),
      })
      return () => {
        stop()
        place.stop()
        cache.removeQueries({ queryKey: liveKey })
        readBoard()
      }
    })
  }, [isWanted, id, client, userId, cache, streams, key, limit, attributes])
  return isWanted ? data : undefined
}

/** Ranks of another run say nothing about this one. */
const liveState = ({ run, rankings }: LiveRanking, before: LiveState | undefined): LiveState => ({
  run,
  rankings: withPreviousRanks(rankings, before?.run === run ? (before?.rankings ?? []) : []),
  isOpen: true,
})

/** Reads the user's place again, but not for every change of the ranking. */
function placeReader(cache: QueryClient, userId: string, key: string) {
  let readAt = 0
  let stopTimer: (() => void) | undefined
  const read = () => {
    stopTimer = undefined
    readAt = Date.now()
    void cache.invalidateQueries({ queryKey: keyOf(userId, 'place', key) })
  }
  return {
    read: () => {
      stopTimer ??= startTimer(read, Math.max(0, readAt + PLACE_INTERVAL - Date.now()))
    },
    stop: () => stopTimer?.(),
  }
}
