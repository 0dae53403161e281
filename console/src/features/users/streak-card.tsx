import type { StreakResponse } from '@laurel/client'
import { StreakCalendar } from '@laurel/react'
import { useQuery } from '@tanstack/react-query'
import { useLaurel } from '../../api/laurel'
import { Loaded } from '../../api/paging'
import { useWrite } from '../../resource/writes'
import { Button } from '../../ui/button'
import { counted, formatDate } from '../../ui/format'
import { LaurelLook } from '../../ui/laurel'
import { Card, Facts } from '../../ui/page'
import { say } from '../../ui/text'
import { keyOfUser, USERS, writesOf } from './user-paths'

/** How many past periods are shown. Days are shown by month, the others in a row. */
const PERIODS = 62
const PERIODS_IN_A_ROW = 8

const UNITS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** The streak with its calendar, its freezes and its pauses. */
export function StreakCard({ userId }: { userId: string }) {
  const laurel = useLaurel()
  const streak = useQuery({
    queryKey: keyOfUser(userId, 'streak'),
    queryFn: () => laurel.users.streak(userId, { historyPeriods: PERIODS }),
  })
  return (
    <Card title="Streak">
      <Loaded query={streak} className="h-80">
        {(data) => (
          <div className="flex flex-col gap-4">
            <p>
              <strong className="text-xl font-semibold tabular-nums">
                {counted(data.length, UNITS[data.frequency])}
              </strong>
            </p>
            <LaurelLook>
              <StreakCalendar data={shownOf(data)} />
            </LaurelLook>
            <Facts
              facts={[
                data.started === null ? null : ['Began', formatDate(data.started)],
                data.expires === null ? null : ['Lasts until', formatDate(data.expires)],
                data.freezes === undefined
                  ? null
                  : ['Freezes', `${data.freezes} of at most ${data.maxFreezes ?? data.freezes}`],
              ]}
            />
            {data.pauses.length > 0 && <Pauses userId={userId} pauses={data.pauses} />}
          </div>
        )}
      </Loaded>
    </Card>
  )
}

const shownOf = (streak: StreakResponse): StreakResponse =>
  streak.frequency === 'daily'
    ? streak
    : { ...streak, streakHistory: streak.streakHistory.slice(-PERIODS_IN_A_ROW) }

/** The pauses, each with a button that removes it. */
function Pauses({ userId, pauses }: { userId: string; pauses: StreakResponse['pauses'] }) {
  const { begin, isBusy } = useWrite({ ...writesOf(userId), scope: `${USERS}/${userId}/pauses` })
  return (
    <div>
      <h3 className="font-medium">Pauses</h3>
      <ul className="mt-1 flex flex-col">
        {pauses.map(({ id, start, end }) => (
          <li key={id} className="flex items-center justify-between gap-2">
            <span className="text-quiet">
              {formatDate(start)} – {formatDate(end)}
            </span>
            <Button
              look="quiet"
              isSmall
              isBusy={isBusy}
              onClick={() =>
                begin({
                  what: say`The pause of ${userId}`,
                  did: 'was removed',
                  act: (admin) => admin.streaks.pauses.delete({ ids: [id] }),
                })
              }
              aria-label={`Remove the pause from ${formatDate(start)} to ${formatDate(end)}`}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}
