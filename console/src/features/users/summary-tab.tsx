import type {
  GetUserPointsResponse,
  MetricResponse,
  StreakResponse,
  User,
  UserLeaderboardResponseWithHistory,
} from '@laurel/client'
import { LevelProgress, runOf, StreakCalendar } from '@laurel/react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useNow } from '../../analytics/period'
import { useAdmin, useLaurel } from '../../api/laurel'
import { Loaded, Unread } from '../../api/paging'
import { useLookups } from '../../resource/lookups'
import { isListed, removing, useWrite } from '../../resource/writes'
import { Button } from '../../ui/button'
import { counted, formatDate, formatNumber, Moment, zoneOf } from '../../ui/format'
import { LaurelLook } from '../../ui/laurel'
import { Badge, Card, Facts, Skeleton } from '../../ui/page'
import { type Column, Table, type TableProps } from '../../ui/table'
import { nameOr, say } from '../../ui/text'
import { keyOfUser, USERS, useOverview, writesOf } from './user-paths'

const METRICS: readonly Column<MetricResponse>[] = [
  { name: 'Metric', cell: ({ name, key }) => nameOr(name, key) },
  { name: 'Total', cell: ({ current }) => formatNumber(current), isNumber: true },
]

type Place = UserLeaderboardResponseWithHistory

/** The last date of the run that holds a date (L2). */
const endOf = ({ start, end, runUnit, runInterval }: Place, date: string): string => {
  const run = runOf({ start, end, runUnit, runInterval }, date < start ? start : date)
  return run.end === null ? 'no end' : formatDate(run.end)
}

/** The user's places. `date` is the present date of the user; null while it is loading. */
const leaderboardsOf = (
  { attributes }: User,
  date: string | null,
  nameOf: (key: string) => string,
): readonly Column<Place>[] => [
  {
    name: 'Leaderboard',
    cell: ({ key, name, breakdownAttributes }) => (
      <>
        <span className="line-clamp-2">{nameOr(name, key)}</span>
        {breakdownAttributes.length > 0 && (
          <span className="block text-sm font-normal text-quiet">
            {breakdownAttributes.map((key) => say`${nameOf(key)}: ${attributes[key] ?? 'none'}`).join(', ')}
          </span>
        )}
      </>
    ),
  },
  { name: 'Run ends', cell: (place) => (date === null ? '…' : endOf(place, date)), isMinor: true },
  {
    name: 'Rank',
    cell: ({ rank }) =>
      rank === null ? <span className="text-quiet">not ranked</span> : `#${formatNumber(rank)}`,
    isNumber: true,
  },
  { name: 'Score', cell: ({ value }) => (value === null ? '–' : formatNumber(value)), isNumber: true },
]

/** The present state of a user: points, levels, metrics, places on leaderboards, the streak, the profile. */
export function SummaryTab({ user }: { user: User }) {
  const lookups = useLookups(['attributes'])
  const now = useNow()
  const here = new Intl.DateTimeFormat('en-CA', { timeZone: zoneOf(user.tz) })
  const date = now === null ? null : here.format(now)
  const overview = useOverview(user.id)
  const { data, error } = overview
  if (error !== null && data === undefined) return <Unread of={overview} />
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_23rem]" aria-busy={overview.isPending}>
      <div className="stack flex min-w-0 flex-col gap-6">
        <Card title="Points and levels">
          {data === undefined ? (
            <Skeleton className="h-24 w-full" />
          ) : data.points.length === 0 ? (
            <p className="text-quiet">There are no points systems yet.</p>
          ) : (
            <ul className="stack flex flex-col divide-y divide-line">
              {data.points.map((points) => (
                <Points key={points.id} points={points} />
              ))}
            </ul>
          )}
        </Card>
        <TableCard
          title="Metrics"
          none="There are no metrics yet."
          label="Totals of metrics"
          columns={METRICS}
          rows={data?.metrics}
          hrefOf={({ key }) => `/metrics/${encodeURIComponent(key)}`}
          expected={3}
        />
        <TableCard
          title="Leaderboards"
          none="There are no active leaderboards."
          label="Places on leaderboards"
          columns={leaderboardsOf(user, date, lookups.attributes.nameOf)}
          rows={data?.leaderboards}
          hrefOf={({ key }) => `/leaderboards/${encodeURIComponent(key)}`}
          expected={2}
        />
      </div>
      <div className="stack flex min-w-0 flex-col gap-6">
        <StreakCard userId={user.id} />
        <Profile user={user} />
      </div>
    </div>
  )
}

/** A table, or what is said if it has no rows. */
const TableCard = <Row extends { id: string }>({
  title,
  none,
  ...table
}: TableProps<Row> & { title: string; none: string }) => (
  <Card title={title} flush>
    {table.rows?.length === 0 ? <p className="px-5 pb-5 text-quiet">{none}</p> : <Table {...table} />}
  </Card>
)

/** The points of one system, with the level and the way to the next one. */
function Points({ points: { id, key, name, total, maxPoints } }: { points: GetUserPointsResponse }) {
  const admin = useAdmin()
  const levels = useQuery({
    queryKey: ['/points', 'levels', id],
    queryFn: () => admin.points.levels.list(id).toArray(),
    staleTime: 60_000,
  })
  return (
    <li className="flex flex-col gap-3 py-4 first:pt-0 last:pb-0" aria-busy={levels.isPending}>
      <div className="flex items-baseline justify-between gap-4">
        <Link
          to={`/points/${encodeURIComponent(key)}`}
          className="line-clamp-2 min-w-0 rounded-sm font-medium wrap-anywhere hover:underline"
        >
          {nameOr(name, key)}
        </Link>
        <span className="shrink-0 text-quiet">
          <strong className="text-xl font-semibold text-text tabular-nums">{formatNumber(total)}</strong>
          {maxPoints !== null && ` of at most ${formatNumber(maxPoints)}`}
        </span>
      </div>
      {levels.isPending && <Skeleton className="h-14 w-full" />}
      {levels.data !== undefined && levels.data.length > 0 && (
        <LaurelLook>
          <LevelProgress data={{ name, total, levels: levels.data }} />
        </LaurelLook>
      )}
    </li>
  )
}

function Profile({ user }: { user: User }) {
  const { tz, email, subscribeToEmails, deviceTokens, attributes, signUpDate, control, created } = user
  const lookups = useLookups(['attributes'])
  return (
    <Card title="Profile">
      <Facts
        facts={[
          [
            'Email',
            <span key="email" className="break-all">
              {email ?? '–'}
            </span>,
          ],
          ['Gets emails', subscribeToEmails ? 'yes' : 'no'],
          ['Devices', formatNumber(deviceTokens?.length ?? 0)],
          ['Time zone', tz ?? 'none (UTC)'],
          ['Signed up', signUpDate === null ? '–' : formatDate(signUpDate)],
          ['First seen', <Moment key="created" iso={created} zone={tz} />],
          [
            'Notifications',
            control ? <Badge key="control">none: control group</Badge> : 'as the user prefers',
          ],
          ...Object.entries(attributes).map(
            ([key, value]) => [lookups.attributes.nameOf(key), value] as const,
          ),
        ]}
      />
    </Card>
  )
}

/** How many past periods are shown. Days are shown by month, the others in a row. */
const PERIODS = 62
const PERIODS_IN_A_ROW = 8

const UNITS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** The streak with its calendar, its freezes and its pauses. */
function StreakCard({ userId }: { userId: string }) {
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
                  act: removing(
                    (admin) => admin.streaks.pauses.delete({ ids: [id] }),
                    (admin) => isListed(admin.streaks.pauses.list({ userId }), id),
                  ),
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
