import type { LeaderboardResponseWithRankings, LiveRanking } from '@laurel/client'
import { type GroupData, type LeaderboardResource, withPreviousRanks } from '@laurel/react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useLaurel } from '../../../api/laurel'
import type { Run } from './runs'

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
) => ({
  name,
  unit: pointsSystemName ?? metricName,
  ...(isPresent && { status }),
  start,
  end,
})

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
