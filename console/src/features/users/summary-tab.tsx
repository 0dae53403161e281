import type {
  GetUserPointsResponse,
  MetricResponse,
  User,
  UserLeaderboardResponseWithHistory,
} from '@laurel/client'
import { LevelProgress, runOf } from '@laurel/react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useNow } from '../../analytics/period'
import { useAdmin, useLaurel } from '../../api/laurel'
import { Unread } from '../../api/paging'
import { useLookups } from '../../resource/lookups'
import { formatDate, formatNumber, Moment } from '../../ui/format'
import { LaurelLook } from '../../ui/laurel'
import { Badge, Card, Facts, Skeleton } from '../../ui/page'
import { type Column, Table } from '../../ui/table'
import { StreakCard } from './streak-card'
import { keyOfUser } from './user-paths'

const LINK = 'rounded-sm font-medium hover:underline'

const METRICS: readonly Column<MetricResponse>[] = [
  { name: 'Metric', cell: ({ name }) => name },
  { name: 'Total', cell: ({ current }) => formatNumber(current), isNumber: true },
]

type Place = UserLeaderboardResponseWithHistory

/** The last date of the run that holds a date (L2). */
const endOf = ({ start, end, runUnit, runInterval }: Place, date: string): string => {
  const run = runOf({ start, end, runUnit, runInterval }, date < start ? start : date)
  return run.end === null ? 'no end' : formatDate(run.end)
}

/** The present date of a user. */
const localDate = (now: number, zone: string | null): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone ?? 'UTC' }).format(now)

/** The user's places. `date` is the present date of the user; null while it is loading. */
const leaderboardsOf = (
  { attributes }: User,
  date: string | null,
  nameOf: (key: string) => string,
): readonly Column<Place>[] => [
  {
    name: 'Leaderboard',
    cell: ({ name, breakdownAttributes }) => (
      <>
        <span className="line-clamp-2">{name}</span>
        {breakdownAttributes.length > 0 && (
          <span className="block text-sm font-normal text-quiet">
            {breakdownAttributes.map((key) => `${nameOf(key)}: ${attributes[key] ?? 'none'}`).join(', ')}
          </span>
        )}
      </>
    ),
  },
  {
    name: 'Run ends',
    cell: (place) => (date === null ? '…' : endOf(place, date)),
    isMinor: true,
  },
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
  const laurel = useLaurel()
  const lookups = useLookups(['attributes'])
  const now = useNow()
  const date = now === null ? null : localDate(now, user.tz)
  const overview = useQuery({
    queryKey: keyOfUser(user.id, 'overview'),
    queryFn: () => laurel.users.overview(user.id),
  })
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
        <Card title="Metrics" flush>
          {data?.metrics.length === 0 ? (
            <p className="px-5 pb-5 text-quiet">There are no metrics yet.</p>
          ) : (
            <Table
              label="Totals of metrics"
              columns={METRICS}
              rows={data?.metrics}
              keyOf={({ id }) => id}
              hrefOf={({ key }) => `/metrics/${encodeURIComponent(key)}`}
              expected={3}
            />
          )}
        </Card>
        <Card title="Leaderboards" flush>
          {data?.leaderboards.length === 0 ? (
            <p className="px-5 pb-5 text-quiet">There are no active leaderboards.</p>
          ) : (
            <Table
              label="Places on leaderboards"
              columns={leaderboardsOf(user, date, lookups.attributes.nameOf)}
              rows={data?.leaderboards}
              keyOf={({ id }) => id}
              hrefOf={({ key }) => `/leaderboards/${encodeURIComponent(key)}`}
              expected={2}
            />
          )}
        </Card>
      </div>
      <div className="stack flex min-w-0 flex-col gap-6">
        <StreakCard userId={user.id} />
        <Profile user={user} />
      </div>
    </div>
  )
}

/** The points of one system, with the level and the way to the next one. */
function Points({ points: { id, key, name, total, maxPoints } }: { points: GetUserPointsResponse }) {
  const admin = useAdmin()
  const levels = useQuery({
    queryKey: ['/points', 'levels', id],
    queryFn: async () => admin.points.levels.list(id, { limit: 100 }),
    staleTime: 60_000,
  })
  return (
    <li className="flex flex-col gap-3 py-4 first:pt-0 last:pb-0" aria-busy={levels.isPending}>
      <div className="flex items-baseline justify-between gap-4">
        <Link
          to={`/points/${encodeURIComponent(key)}`}
          className={`${LINK} line-clamp-2 min-w-0 wrap-anywhere`}
        >
          {name}
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
            email === null ? (
              '–'
            ) : (
              <span key="email" className="break-all">
                {email}
              </span>
            ),
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
