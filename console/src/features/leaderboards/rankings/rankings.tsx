import type { AdminLeaderboard } from '@laurel/client'
import { type GroupData, Leaderboard } from '@laurel/react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isDate, useNow, useToday } from '../../../analytics/period'
import { useLaurel } from '../../../api/laurel'
import { Unread } from '../../../api/paging'
import { useAddress } from '../../../ui/address'
import { Button } from '../../../ui/button'
import { formatDate, formatMoment } from '../../../ui/format'
import { LaurelLook } from '../../../ui/laurel'
import { Card, Empty, Waiting } from '../../../ui/page'
import { Select } from '../../../ui/select'
import { userPath } from '../../../ui/text'
import { datesOf, finalAt, type Run, runHolding, runsBefore, useRanking, valuesOf } from './use-ranking'

/** How many places are shown at first, and at most: the most that a stream sends. */
const FIRST_PLACES = 10
const MOST_PLACES = 100
/** The most groups to choose from, largest first. The address can name others. */
const MOST_GROUPS = 100

const TITLE = 'Rankings'

/** The rankings of a leaderboard by run and by group. Those of the present run move while people look. */
export function Rankings({ board }: { board: AdminLeaderboard }) {
  const today = useToday()
  const laurel = useLaurel()
  const { key, status } = board
  // One that was finished by hand stays at the run of that day (L7).
  const last = useQuery({
    queryKey: ['/leaderboards', 'last', key],
    queryFn: ({ signal }) => laurel.leaderboards.get(key, { limit: 1 }, { signal }),
    enabled: status === 'finished',
  })
  const isLater = status === 'inactive' || status === 'scheduled'
  const day = status === 'finished' && !last.isError ? last.data?.run.key : today
  if (!isLater && day != null) return <Ranking board={board} today={day} />
  return (
    <Card title={TITLE}>
      {isLater ? <Empty title="No rankings yet">{LATER[status]}</Empty> : <Waiting className="h-100" />}
    </Card>
  )
}

/** When the rankings appear. */
const LATER = {
  inactive: 'They appear here once the leaderboard is active. Activate it above.',
  scheduled: 'They appear here once it has started.',
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')

function Ranking({ board, today }: { board: AdminLeaderboard; today: string }) {
  const { key, maxParticipants, status, breakdownAttributes } = board
  const laurel = useLaurel()
  // The choices of the address: `?run=2026-11-16`, and `?group={"plan":"pro"}`.
  const { search: chosen, show } = useAddress()
  const [isLong, setLong] = useState(false)
  const present = runHolding(board, today)
  const run = isDate(chosen.run) ? runHolding(board, chosen.run) : present
  const isPresent = run.start === present.start
  const runs = runsBefore(board, today)
  // The address can name a run before those.
  const listed = isPresent || runs.some(({ start }) => start === run.start) ? runs : [...runs, run]
  const hasGroups = breakdownAttributes.length > 0
  const groups = useQuery({
    queryKey: ['/leaderboards', 'groups', key, isPresent ? null : run.start],
    queryFn: async ({ signal }) =>
      laurel.leaderboards.groups.list(
        key,
        { limit: MOST_GROUPS, ...(!isPresent && { run: run.start }) },
        { signal },
      ),
    enabled: hasGroups,
    // The counts follow the ranking.
    refetchInterval: isPresent && 15_000,
  })
  const [largest] = groups.data ?? []
  const group = isTexts(chosen.group) ? chosen.group : largest && valuesOf(largest)
  // One more than is shown at first, to know whether there are more.
  const places = Math.min(isLong ? MOST_PLACES : FIRST_PLACES + 1, maxParticipants)
  const ranking = useRanking({ board, run, isPresent, group, places }, !hasGroups || group !== undefined)
  const shown = ranking.data && {
    ...ranking.data,
    rankings: ranking.data.rankings.slice(0, isLong ? MOST_PLACES : FIRST_PLACES),
  }
  const error = groups.error ?? ranking.error
  return (
    <Card
      title={TITLE}
      about={<RunInWords run={run} isFinished={status === 'finished'} />}
      actions={
        runs.length > 0 && (
          <Select
            aria-label="Run"
            value={isPresent ? '' : run.start}
            onChange={({ target }) => show({ run: target.value })}
            none={status === 'finished' ? 'The last run' : `Now: ${datesOf(present)}`}
            options={listed.map((one) => ({ value: one.start, label: datesOf(one) }))}
          />
        )
      }
    >
      {error !== null && ranking.data === undefined ? (
        <Unread of={groups.isError ? groups : ranking} />
      ) : hasGroups && group === undefined && !groups.isPending ? (
        <Empty title="Nobody is ranked yet">
          Users are ranked once they have a score and a value of each attribute of the groups.
        </Empty>
      ) : (
        <LaurelLook>
          <Leaderboard
            {...ranking}
            data={shown}
            {...(hasGroups && {
              groups: groups.data ?? [],
              group: group && groupOf(group),
              onGroupChange: (one: GroupData) => show({ group: valuesOf(one) }),
            })}
            placeholderRows={FIRST_PLACES}
            renderName={({ userId }, name) => (
              <Link to={userPath(userId)} className="rounded-sm hover:underline" preload={false}>
                {name}
              </Link>
            )}
          />
        </LaurelLook>
      )}
      {!isLong && ranking.data !== undefined && ranking.data.rankings.length > FIRST_PLACES && (
        <div className="mt-3 text-center">
          <Button look="quiet" onClick={() => setLong(true)}>
            Show the first {Math.min(MOST_PLACES, maxParticipants)}
          </Button>
        </div>
      )}
    </Card>
  )
}

/** Until when a run lasts, and when its ranking is final (L8). */
function RunInWords({ run, isFinished }: { run: Run; isFinished: boolean }) {
  const now = useNow()
  const final = finalAt(run)
  if (isFinished) return 'The ranking is final. Open a user by the name.'
  if (run.end === null || final === null) return 'It has no end. Open a user by the name.'
  const moment = formatMoment(new Date(final).toISOString())
  if (now !== null && now >= final) return `Final since ${moment}. Open a user by the name.`
  return `It lasts until the end of ${formatDate(run.end)} in the time zone of each user, and is final on ${moment}.`
}

const groupOf = (values: Record<string, string>): GroupData => ({
  group: Object.entries(values).map(([key, value]) => ({ key, value })),
})
