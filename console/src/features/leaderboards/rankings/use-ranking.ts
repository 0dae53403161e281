import type { AdminLeaderboard, LiveRanking } from '@laurel/client'
import { type GroupData, type LeaderboardResource, runOf, withPreviousRanks } from '@laurel/react'
import { focusManager, useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { DAY, daysBefore } from '../../../analytics/period'
import { useLaurel } from '../../../api/laurel'
import { formatDate } from '../../../ui/format'

type Rankings = NonNullable<LeaderboardResource['data']>['rankings']

/** The part of a leaderboard that is shown. */
export type Shown = {
  board: Pick<AdminLeaderboard, 'key'>
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

/** Whether the tab can be seen. */
const useIsVisible = () => useSyncExternalStore(focusManager.subscribe, () => focusManager.isFocused())

/** The state of a stream. `id` names the part of the leaderboard that it shows. */
type Live = { id: string; run: string | null; rankings: Rankings; isOpen: boolean }

/**
 * The ranking of a run, which follows the leaderboard while the tab can be seen (L9, Y1). It is not read
 * until the group is known.
 */
export function useRanking(
  { board: { key }, run, isPresent, group, places }: Shown,
  isReady: boolean,
): LeaderboardResource {
  const laurel = useLaurel()
  const id = JSON.stringify([key, isPresent ? null : run.start, group, places])
  const part = { limit: places, userAttributes: group }
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ['/leaderboards', 'ranking', key, id],
    queryFn: ({ signal }) =>
      laurel.leaderboards.get(key, { ...part, ...(!isPresent && { run: run.start }) }, { signal }),
    enabled: isReady,
  })
  const [newest, setNewest] = useState<Live>()
  const isVisible = useIsVisible()
  const isWanted = isReady && isPresent && data?.status === 'active'
  const isOpen = isWanted && isVisible
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id stands for all that is shown.
  useEffect(() => {
    if (!isOpen) return
    return laurel.leaderboards.live(key, {
      ...part,
      onRanking: (ranking) => setNewest((before) => stateOf(id, ranking, before)),
      onError: () => setNewest((before) => before && { ...before, isOpen: false }),
    })
  }, [laurel, id, isOpen])
  const live = isWanted && newest?.id === id ? newest : undefined
  return {
    data: data && {
      ...{ name: data.name, unit: data.pointsSystemName ?? data.metricName, ...run },
      // A run of the past needs no status: the leaderboard itself goes on.
      ...(isPresent && { status: data.status }),
      rankings: live?.rankings ?? data.rankings,
    },
    error,
    isLoading,
    isLive: live?.isOpen === true && isVisible,
    refetch,
  }
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
/** How long after its last date in UTC a run is final, in milliseconds: twelve hours (L8). */
const FINAL_AFTER = DAY / 2

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
    const run = runHolding(board, daysBefore(start, 1))
    runs.push(run)
    start = run.start
  }
  return runs
}

/** When a run is final, in milliseconds since 1970. Null for a run without an end (L8). */
export const finalAt = ({ end }: Run): number | null =>
  end === null ? null : Date.parse(end) + DAY + FINAL_AFTER

/** The dates of a run, such as "Nov 23, 2026 – Nov 29, 2026". */
export const datesOf = ({ start, end }: Run): string =>
  end === null
    ? `from ${formatDate(start)}`
    : start === end
      ? formatDate(start)
      : `${formatDate(start)} – ${formatDate(end)}`
