import type { DatabasesResponse, StatusResponse } from '@laurel/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { isConnectionLost } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import { Unread } from '../../api/paging'
import { useSignedIn } from '../../session/session-context'
import { Button } from '../../ui/button'
import { counted, formatBytes, formatMoment, formatNumber, formatRelative } from '../../ui/format'
import { Badge, Card, Facts, Notice, Page, Skeleton } from '../../ui/page'
import { Table } from '../../ui/table'

/** How often the page asks again, in milliseconds. */
const AGAIN = 10_000

/** The most bytes of a database, in the words of the interface: 10 GB. */
const MOST_BYTES = 10 * 1024 ** 3
/** From here on, the next database must be planned. */
const MANY_BYTES = 7 * 1024 ** 3

const MINUTE = 60_000

/** Reads a part of the state, again and again. */
const usePart = <Part,>(name: string, queryFn: () => Promise<Part>, enabled = true) =>
  useQuery({ queryKey: ['/status', name], queryFn, refetchInterval: AGAIN, enabled })

export default function StatusPage() {
  const admin = useAdmin()
  const queries = useQueryClient()
  const { tenant } = useSignedIn()
  const status = usePart('work', async () => admin.status())
  const session = usePart('session', async () => admin.session())
  const isSeveral = (status.data?.databases.length ?? 0) > 1
  const spread = usePart('databases', async () => admin.databases.list(), isSeveral)
  const health = usePart('health', readProblem)
  const now = session.data === undefined ? Date.now() : Date.parse(session.data.now)
  const time = session.data && formatMoment(session.data.now)
  return (
    <Page
      name="Status"
      intro="Whether the service keeps up. The page reads it again every ten seconds."
      beside={<Health isOk={health.isPending ? undefined : health.data === null} />}
      actions={<Button onClick={() => queries.invalidateQueries({ queryKey: ['/status'] })}>Refresh</Button>}
      isLoading={status.isPending}
    >
      {health.data && <Notice tone="danger">{health.data}</Notice>}
      {status.isError && !isConnectionLost(status.error) && <Unread of={status} />}
      <Card title="Work in the background" flush>
        <Table
          label="Work in the background"
          rows={status.data === undefined ? undefined : rowsOf(status.data, now, tenant?.id)}
          expected={9}
          hasTwoLines
          columns={[
            {
              name: 'What',
              cell: ({ id: name, about }) => (
                <>
                  <span className="font-medium">{name}</span>
                  <span className="block text-sm text-quiet">{about}</span>
                </>
              ),
            },
            { name: 'Now', cell: ({ count }) => count, isNumber: true },
            {
              name: 'State',
              cell: ({ problem, remedy }) =>
                problem === null ? (
                  <Badge tone="good">fine</Badge>
                ) : (
                  <>
                    <Badge tone="warning">{problem}</Badge>
                    <span className="mt-1 block max-w-md text-sm text-quiet">{remedy}</span>
                  </>
                ),
            },
          ]}
        />
      </Card>
      <Card title="Databases" about="A database of D1 has at most 10 GB. Plan the next one at 7 GB.">
        {status.data === undefined ? (
          <Skeleton className="h-10 w-full" />
        ) : (
          <ul className="flex flex-col gap-4">
            {status.data.databases.map(({ name, bytes }) => (
              <li key={name} className="flex flex-col gap-1.5">
                <span className="flex flex-wrap items-baseline justify-between gap-x-3">
                  <span className="font-medium">{name}</span>
                  {bytes === null ? (
                    <Badge tone="warning">can't be reached</Badge>
                  ) : (
                    <span className="text-quiet tabular-nums">{formatBytes(bytes)}</span>
                  )}
                </span>
                {isSeveral && bytes !== null && (
                  <Spread database={spread.data?.find((one) => one.name === name)} />
                )}
                {bytes !== null && (
                  <meter
                    className="meter"
                    aria-label={`Size of ${name}`}
                    min={0}
                    max={MOST_BYTES}
                    high={MANY_BYTES}
                    value={bytes}
                  >
                    {formatBytes(bytes)}
                  </meter>
                )}
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title="Service">
        <Facts
          facts={[
            ['Version', status.data?.version ?? <Skeleton key="version" />],
            ['Time of the service', time ?? <Skeleton key="time" className="w-40" />],
          ]}
        />
      </Card>
    </Page>
  )
}

/** The users of one of several databases, and whether users move. */
function Spread({ database }: { database: DatabasesResponse[number] | undefined }) {
  if (database === undefined) return <Skeleton className="w-48" />
  const { users, buckets, events, state } = database
  return (
    <span className="flex flex-wrap items-baseline gap-x-3 text-sm text-quiet">
      {users !== null && events !== null && (
        <span className="tabular-nums">
          {counted(users, 'user')}, {counted(buckets, 'bucket')}, {counted(events, 'event')}
        </span>
      )}
      {state === 'filling' && <Badge>users are moving here</Badge>}
      {state === 'draining' && <Badge>gives its users away</Badge>}
    </span>
  )
}

/** Why the service cannot work, as it says it; null if it can. This path needs no key. */
async function readProblem(): Promise<string | null> {
  const response = await fetch('/health')
  // Read in any case: a request ends only when its body was read.
  const answer: unknown = await response.json().catch(() => null)
  if (response.ok) return null
  return String(Object(answer).error ?? '')
}

function Health({ isOk }: { isOk: boolean | undefined }) {
  if (isOk === undefined) return <Skeleton className="w-16" />
  return <Badge tone={isOk ? 'good' : 'danger'}>{isOk ? 'healthy' : 'not healthy'}</Badge>
}

const linkTo = (path: string, name: string) => (
  <Link to={path} className="text-accent underline">
    {name}
  </Link>
)

type Row = {
  /** The name, as people read it. */
  id: string
  about: string
  count: ReactNode
  /** The problem; null if there is none. docs/operations.md has the same thresholds. */
  problem: string | null
  remedy: ReactNode
}

/** A row of the table. Of its problems, it shows the first one that there is. */
const row = (
  id: string,
  about: string,
  count: number,
  ...problems: (readonly [is: boolean, name: string, remedy: ReactNode])[]
): Row => {
  const [, name = null, remedy] = problems.find(([is]) => is) ?? []
  return { id, about, count: formatNumber(count), problem: name, remedy }
}

/** The state in rows, with the meaning of each. */
function rowsOf(
  { due, inbox, outbox, deliveries, failing, leaderboards }: StatusResponse,
  now: number,
  tenant: string | undefined,
): Row[] {
  const late = due.oldest === null ? 0 : now - Date.parse(due.oldest)
  return [
    row(
      'Due work',
      due.oldest === null
        ? 'Streaks that end, points by time, runs of leaderboards.'
        : `The oldest piece is due since ${formatRelative(due.oldest, now)}.`,
      due.count,
      [
        late > 10 * MINUTE,
        'late',
        'Look in the log for “due work failed”. A new rule that counts past events takes a while: then the number falls.',
      ],
      [
        due.ahead > 0,
        'ahead',
        'The clock of the machine was ahead. Laurel makes this work due now within five minutes.',
      ],
      [
        due.count >= 1_000,
        'much to do',
        'If it stays like this for 15 minutes, more work comes than is done.',
      ],
    ),
    row('Events of batches', 'Events that were accepted, and wait to be processed.', inbox, [
      inbox >= 100_000,
      'too many',
      'Batches come faster than they are processed. Send fewer at once.',
    ]),
    row('Changes to hand over', 'Changes whose messages are not in the delivery queues yet.', outbox, [
      outbox >= 1_000,
      'too many',
      'Messages do not reach the queues. Look in the log for “not drained”.',
    ]),
    row(
      'Messages that wait',
      'Webhooks, emails and push messages that were not delivered yet.',
      deliveries.pending,
      [
        deliveries.pending >= 5_000,
        'a receiver is slow',
        <>Look at the deliveries of each {linkTo('/webhooks', 'webhook')} for the reason.</>,
      ],
    ),
    row(
      'Webhooks that fail',
      'They rest after 20 failures in a row, or a tenth of their deliveries failed within a day.',
      failing.length,
      [
        failing.length > 0,
        'repair the receiver',
        failing.map(({ id, key, tenantId, failed, tried, restsUntil }) => (
          <span key={id} className="block">
            {(tenant ?? tenantId) === tenantId
              ? linkTo(`/webhooks/${id}`, key)
              : `${key} of tenant ${tenantId}`}
            : {formatNumber(failed)} of {formatNumber(tried)} failed
            {restsUntil && `, rests until ${formatMoment(restsUntil)}`}
          </span>
        )),
      ],
    ),
    row('Messages given up', 'Messages whose last attempt failed.', deliveries.dead, [
      deliveries.dead > 0,
      'look at them',
      <>
        Repair the receiver, and send them again on the page of the {linkTo('/webhooks', 'webhook')}.{' '}
        {linkTo('/notifications', 'Notifications')} lists emails and push messages.
      </>,
    ]),
    row(
      'Delivery queues without an answer',
      'Queues that did not answer, or are more than 100.',
      deliveries.unknown,
      [
        deliveries.unknown > 0,
        'not counted',
        'With fewer than 100 webhooks and channels, look in the log for “delivery queue not reached”.',
      ],
    ),
    row('Leaderboards behind', 'They may lack changes of more than a minute ago.', leaderboards.behind, [
      leaderboards.behind > 0,
      `${counted(leaderboards.behind, 'leaderboard')} behind`,
      'Rankings may lack changes. After a new leaderboard, or the end of a run, a million users take minutes.',
    ]),
    row(
      'Unconfirmed scores',
      'Stored changes that a leaderboard lacks, by users.',
      leaderboards.unconfirmed,
      [
        leaderboards.unconfirmed > 0,
        'unconfirmed',
        'Each is right after the user’s next change, and all within the hour.',
      ],
    ),
  ]
}
