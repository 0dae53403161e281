import type { AdminLeaderboard, LeaderboardResponseWithRankings, LiveRanking } from '@laurel/client'
import { type GroupData, type LeaderboardResource, runOf, withPreviousRanks } from '@laurel/react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useLaurel } from '../../../api/laurel'
import { formatDate } from '../../../ui/format'

type Rankings = NonNullable<LeaderboardResource['data']>['rankings']

/** The part of a leaderboard that is shown. */
export type Shown = {
  /** The key of the leaderboard. */
  boardKey: string
  /** The dates of the run. */
  run: Run
  /** Whether it is the present run, whose ranking still moves. */
  isPresent: boolean
  /** The values of the group by the keys of their attributes; undefined if the leaderboard has no groups. */
  group: Readonly<Record<string, string>> | undefined
  /** The number of places, 1 to 100. */
  places: number
}

/** The values of a group, as the interface takes them. */
export const valuesOf = ({ group }: GroupData): Record<string, string> =>
  Object.fromEntries(group.map(({ key, value }) => [key, value]))

function watchVisibility(onChange: () => void): () => void {
  document.addEventListener('visibilitychange', onChange)
  return () => document.removeEventListener('visibilitychange', onChange)
}

/** Whether the tab can be seen. */
const useIsVisible = () => useSyncExternalStore(watchVisibility, () => !document.hidden)

/** The state of a stream. `id` names the part of the leaderboard that it shows. */
type Live = { id: string; run: string | null; rankings: Rankings; isOpen: boolean }

/**
 * The ranking of a run, which follows the leaderboard while the tab can be seen (L9, Y1). It is not read
 * until the group is known.
 */
export function useRanking(
  { boardKey, run, isPresent, group, places }: Shown,
  isReady: boolean,
): LeaderboardResource {
  const laurel = useLaurel()
  const id = JSON.stringify([boardKey, isPresent ? null : run.start, group, places])
  const read = useQuery({
    queryKey: ['/leaderboards', 'ranking', boardKey, id],
    queryFn: ({ signal }) =>
      laurel.leaderboards.get(
        boardKey,
        { limit: places, userAttributes: group, ...(!isPresent && { run: run.start }) },
        { signal },
      ),
    enabled: isReady,
  })
  const live = useLive(
    { id, boardKey, group, places },
    isReady && isPresent && read.data?.status === 'active',
  )
  return {
    data: read.data && {
      ...shownOf(read.data, run, isPresent),
      rankings: live?.rankings ?? read.data.rankings,
    },
    error: read.error,
    isLoading: read.isLoading,
    isLive: live?.isOpen ?? false,
    refetch: read.refetch,
  }
}

/** The texts around a ranking. A run of the past needs no status: the leaderboard itself goes on. */
const shownOf = (
  { name, pointsSystemName, metricName, status }: LeaderboardResponseWithRankings,
  { start, end }: Run,
  isPresent: boolean,
) => ({ name, unit: pointsSystemName ?? metricName, ...(isPresent && { status }), start, end })

/** The newest state of a stream, while it is wanted and the tab can be seen. */
function useLive(
  { id, boardKey, group, places }: { id: string } & Pick<Shown, 'boardKey' | 'group' | 'places'>,
  isWanted: boolean,
): Live | undefined {
  const laurel = useLaurel()
  const [live, setLive] = useState<Live>()
  const isVisible = useIsVisible()
  const isOpen = isWanted && isVisible
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id stands for all that is shown.
  useEffect(() => {
    if (!isOpen) return
    return laurel.leaderboards.live(boardKey, {
      limit: places,
      userAttributes: group,
      onRanking: (ranking) => setLive((before) => stateOf(id, ranking, before)),
      onError: () => setLive((before) => before && { ...before, isOpen: false }),
    })
  }, [laurel, id, isOpen])
  if (live?.id !== id || !isWanted) return undefined
  return { ...live, isOpen: live.isOpen && isVisible }
}

/** Ranks of another run or group say nothing about this one. */
const stateOf = (id: string, { run, rankings }: LiveRanking, before: Live | undefined): Live => ({
  id,
  run,
  rankings: withPreviousRanks(rankings, before?.id === id && before.run === run ? [...before.rankings] : []),
  isOpen: true,
})

/** First and last date of a run. The last one is null without an end. */
export type Run = { start: string; end: string | null }

type Board = Pick<AdminLeaderboard, 'start' | 'end' | 'runUnit' | 'runInterval'>

/** The most earlier runs to choose from. The address can name earlier ones. */
const MOST_RUNS = 52
const DAY = 86_400_000
const HOUR = 3_600_000
/** How long after its last date in UTC a run is final, in hours (L8). */
const FINAL_AFTER = 12

const dayBefore = (date: string) => new Date(Date.parse(date) - DAY).toISOString().slice(0, 10)

/** The run that holds a date: the first one before it begins, the last one after it ended (L2). */
export const runHolding = ({ start, end, runUnit, runInterval }: Board, date: string): Run =>
  runOf(
    { start, end: end ?? null, runUnit: runUnit ?? null, runInterval: runInterval ?? null },
    date < start ? start : date,
  )

/** The runs before the run of a date, newest first. A leaderboard that never begins again has none. */
export function runsBefore(board: Board, date: string): Run[] {
  if (board.runUnit === undefined) return []
  const runs: Run[] = []
  let { start } = runHolding(board, date)
  while (start > board.start && runs.length < MOST_RUNS) {
    const run = runHolding(board, dayBefore(start))
    runs.push(run)
    start = run.start
  }
  return runs
}

/** When a run is final, in milliseconds since 1970. Null for a run without an end (L8). */
export const finalAt = ({ end }: Run): number | null =>
  end === null ? null : Date.parse(end) + DAY + FINAL_AFTER * HOUR

/** The dates of a run, such as "Nov 23, 2026 – Nov 29, 2026". */
export const datesOf = ({ start, end }: Run): string =>
  end === null
    ? `from ${formatDate(start)}`
    : start === end
      ? formatDate(start)
      : `${formatDate(start)} – ${formatDate(end)}`
