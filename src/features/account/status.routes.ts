import * as z from 'zod'
import { version } from '../../../package.json'
import { type Endpoint, endpointsOf, ok } from '../../api/endpoint'
import { Timestamp, UuidResponse } from '../../api/fields'
import { boardObject } from '../../leaderboards/updates'
import { type Instant, instant, iso, MINUTE } from '../../lib/clock'
import type { AccountScope } from '../../platform/context'
import type { AccountDatabase } from '../../platform/database'
import { FIRST } from '../../platform/databases/directory'
import { isDatabaseAway } from '../../platform/guard'
import { answersOf, logProblem } from '../../platform/log'
import type { DueJob, Jobs } from '../../time/job'
import { dueWorkOfPart, type PartOfDueWork, type WorkKey } from '../../time/timekeeper.sql.ts'
import { Condition } from '../../webhooks/delivery/messages'
import { conditionOf } from '../../webhooks/delivery/queue'

/*
 * No statement reads more than 20,000 rows, however many users and messages there are. Each table is read up
 * to a number of rows first, and then the tenants of these rows: an archived tenant's work waits (T3).
 */

const MOST_COUNTED = 5_000

const ACTIVE = "JOIN tenants t ON t.id = read.tenant_id AND t.status = 'active'"
// The events of batches that wait for their turn, in rows of at most 250 events each.
const INBOX = `
  SELECT coalesce(sum(read.count - read.done), 0) AS found
  FROM (SELECT tenant_id, count, done FROM inbox ORDER BY no LIMIT ${MOST_COUNTED}) read ${ACTIVE}`
// The changes whose messages wait to be handed over to delivery queues.
const OUTBOX = `
  SELECT count(*) AS found FROM (SELECT tenant_id FROM outbox LIMIT ${MOST_COUNTED}) read ${ACTIVE}`

const parseCount = ({ results }: D1Result): number => z.object({ found: z.number() }).parse(results[0]).found

// A tenant has a delivery queue for email or push once it has a template for that channel.
const DESTINATIONS = `
  SELECT 'webhook:' || read.id AS name, read.tenant_id AS tenantId, read.id, read.key, read.status FROM (
    SELECT id, tenant_id, key, status FROM webhooks WHERE deleted IS NULL LIMIT ${MOST_COUNTED}) read ${ACTIVE}
  UNION ALL SELECT DISTINCT read.channel || ':' || read.tenant_id, read.tenant_id, '', '', '' FROM (
    SELECT channel, tenant_id FROM notification_templates WHERE deleted IS NULL
    LIMIT ${MOST_COUNTED}) read ${ACTIVE}`

// The leaderboards that changes of users reach.
const BOARDS = `
  SELECT read.id AS name FROM (SELECT id, tenant_id FROM leaderboards
    WHERE status = 'active' AND deleted IS NULL LIMIT ${MOST_COUNTED}) read ${ACTIVE}`

// The id, the key and the status are those of a webhook.
const Destination = z.object({
  name: z.string(),
  tenantId: z.string(),
  id: z.string(),
  key: z.string(),
  status: z.string(),
})

const Names = z.array(z.object({ name: z.string() }).transform(({ name }) => name))

const Count = z.int().min(0)

const StatusResponse = z
  .object({
    version: z.string(),
    // The size is null if the database can't be reached.
    databases: z.array(z.object({ name: z.string(), bytes: Count.nullable() })),
    due: z.object({ count: Count, oldest: Timestamp.nullable(), ahead: Count }),
    inbox: Count,
    outbox: Count,
    deliveries: z.object({ pending: Count, dead: Count, unknown: Count }),
    failing: z.array(
      Condition.extend({ tenantId: UuidResponse, id: UuidResponse, key: z.string() }).meta({
        id: 'FailingWebhook',
      }),
    ),
    leaderboards: z.object({ behind: Count, unconfirmed: Count, unknown: Count }),
  })
  .meta({ id: 'StatusResponse' })

const SessionResponse = z
  .object({
    keyId: z.uuid().nullable(),
    version: z.string(),
    multiTenancy: z.boolean(),
    testClock: z.boolean(),
    now: Timestamp,
  })
  .meta({ id: 'SessionResponse' })

const ListEnvironmentsResponse = z
  .array(
    z
      .object({ name: z.string(), key: z.string(), priority: z.int().min(1).max(10) })
      .meta({ id: 'AdminEnvironment' }),
  )
  .meta({ id: 'ListEnvironmentsResponse' })

/** The most parts of the table of due work that are read in all databases, of 5,000 rows each. */
const MOST_PARTS = 40
/** The most delivery queues, and the most leaderboards, that are asked. */
const MOST_ASKED = 100
const MOST_BOARDS = 20
/** For how long the upkeep of a leaderboard has to be due until it counts as behind, in milliseconds. */
const BEHIND = MINUTE

/** This deployment, as the only environment. The contract orders environments by `priority` (T6). */
function environmentsOf({ variables: { ENVIRONMENT: key } }: AccountScope) {
  const name = key.slice(0, 1).toUpperCase() + key.slice(1)
  return [{ name, key, priority: key === 'production' ? 1 : 2 }]
}

/** The features that a console shows: whether there are tenants, and a test clock (G13). */
function readSession({ access, now, variables }: AccountScope): z.infer<typeof SessionResponse> {
  return {
    keyId: access.kind === 'admin' ? access.keyId : null,
    version,
    multiTenancy: variables.MULTI_TENANCY === 'on',
    testClock: variables.TEST_CLOCK === 'on',
    now: iso(now),
  }
}

/**
 * The state of the whole service (G12). It reads at most 20,000 rows in a statement, and asks at most 100
 * delivery queues and 20 leaderboards. It asks all databases side by side, and says which of them can't be
 * reached; without the first one, it throws.
 */
async function readStatus(scope: AccountScope, jobs: Jobs): Promise<z.infer<typeof StatusResponse>> {
  const { databases } = scope
  const found = await statesOf(scope, jobs)
  const states = found.flatMap((state) => state ?? [])
  const queues = states.flatMap(({ destinations }) => destinations)
  const boards = states.flatMap((state) => state.boards)
  const asked = queues.slice(0, MOST_ASKED).map(({ name }) => name)
  const [conditions, unconfirmed] = await Promise.all([
    answersOf('queue', asked, (queue) => conditionOf(scope, queue)),
    answersOf('leaderboard', boards.slice(0, MOST_BOARDS), (id) => boardObject(scope, id).unconfirmed()),
  ])
  const sum = (of: (state: State) => number) => total(states.map(of))
  const totalOf = (status: 'pending' | 'dead') => total([...conditions.values()].map((one) => one[status]))
  const oldest = states.flatMap(({ due }) => due.oldest ?? [])
  return {
    version,
    databases: databases.names.map((name, nth) => ({ name, bytes: found[nth]?.bytes ?? null })),
    due: {
      count: sum(({ due }) => due.count),
      oldest: oldest.length === 0 ? null : iso(instant(Math.min(...oldest))),
      ahead: sum(({ due }) => due.ahead),
    },
    inbox: sum(({ inbox }) => inbox),
    outbox: sum(({ outbox }) => outbox),
    deliveries: {
      pending: totalOf('pending'),
      dead: totalOf('dead'),
      unknown: queues.length - conditions.size,
    },
    failing: queues.flatMap(({ name, status, ...webhook }) => {
      const condition = conditions.get(name)
      return status === 'active' && condition?.failing ? { ...webhook, ...condition } : []
    }),
    leaderboards: {
      behind: sum(({ due }) => due.behind),
      unconfirmed: total([...unconfirmed.values()]),
      unknown: boards.length - unconfirmed.size,
    },
  }
}

type State = {
  bytes: number
  inbox: number
  outbox: number
  /** All delivery queues, and the ids of active leaderboards. The first database has them. */
  destinations: z.infer<typeof Destination>[]
  boards: string[]
  due: Pick<PartOfDueWork, 'count' | 'oldest' | 'behind' | 'ahead'>
}

/** The state of each database, in order; null if it can't be reached. Throws if that is the first one. */
async function statesOf({ databases, now }: AccountScope, { list }: Jobs): Promise<(State | null)[]> {
  const answers = await Promise.allSettled(
    databases.names.map(async (name): Promise<State> => {
      const db = databases.named(name)
      const [{ inbox, outbox, destinations, boards }, due] = await Promise.all([
        db.batchOf({
          inbox: db.statement(INBOX),
          outbox: db.statement(OUTBOX),
          destinations: name === FIRST ? [db.statement(DESTINATIONS)] : [],
          boards: name === FIRST ? [db.statement(BOARDS)] : [],
        }),
        dueWorkOf(db, list, now, Math.ceil(MOST_PARTS / databases.names.length)),
      ])
      return {
        bytes: inbox.meta.size_after,
        inbox: parseCount(inbox),
        outbox: parseCount(outbox),
        destinations: destinations.flatMap(({ results }) => z.array(Destination).parse(results)),
        boards: boards.flatMap(({ results }) => Names.parse(results)),
        due,
      }
    }),
  )
  return answers.map((answer, nth) => {
    if (answer.status === 'fulfilled') return answer.value
    if (nth === 0 || !isDatabaseAway(answer.reason)) throw answer.reason
    logProblem('warn', { error: `the database ${databases.names[nth]} was not reached: ${answer.reason}` })
    return null
  })
}

async function dueWorkOf(
  db: AccountDatabase,
  list: readonly DueJob[],
  now: Instant,
  mostParts: number,
): Promise<State['due']> {
  const sum: State['due'] = { count: 0, oldest: null, behind: 0, ahead: 0 }
  let after: WorkKey | null = null
  for (let part = 0; part < mostParts; part += 1) {
    const found: PartOfDueWork = await dueWorkOfPart(db, list, now, {
      after,
      late: { kind: 'leaderboard', milliseconds: BEHIND },
    })
    sum.count += found.count
    sum.behind += found.behind
    sum.ahead += found.ahead
    if (found.oldest !== null && (sum.oldest === null || found.oldest < sum.oldest)) sum.oldest = found.oldest
    if (found.last === null) break
    after = found.last
  }
  return sum
}

const total = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

const endpoint = endpointsOf('admin')

/** The endpoints of the service's state (G12) and of a key's features (G13). `jobs` are all jobs. */
export const statusEndpoints = (jobs: Jobs): Endpoint[] => [
  endpoint(
    'GET /status',
    {
      id: 'admin_status',
      account: true,
      summary: 'Get the state of the service: databases, due work, queues',
      responses: { 200: { description: 'The state as of now.', body: StatusResponse } },
    },
    async (scope) => ok(await readStatus(scope, jobs)),
  ),
  endpoint(
    'GET /session',
    {
      id: 'admin_session_get',
      account: true,
      summary: 'Check an admin key, and get what is switched on in this deployment',
      responses: { 200: { description: 'The key is valid.', body: SessionResponse } },
    },
    async (scope) => ok(readSession(scope)),
  ),
  endpoint(
    'GET /environments',
    {
      id: 'admin_environments_list',
      account: true,
      summary: 'List the environments: this deployment is one',
      responses: { 200: { description: 'The environment.', body: ListEnvironmentsResponse } },
    },
    async (scope) => ok(environmentsOf(scope)),
  ),
]
