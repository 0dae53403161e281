import type * as z from 'zod'
import { version } from '../../../package.json'
import { type Instant, instant, iso } from '../../lib/clock'
import { within } from '../../lib/timeout'
import { MINUTE, SECOND } from '../../lib/units'
import type { AccountScope } from '../../platform/context'
import type { AccountDatabase } from '../../platform/database'
import { FIRST } from '../../platform/databases/directory'
import { isDatabaseAway } from '../../platform/guard'
import { logProblem } from '../../platform/log'
import { dueWorkOfPart, type PartOfDueWork, type WorkKey } from '../../time/due-work.repository'
import type { Job, Jobs } from '../../time/job.types'
import { countMessages } from '../../webhooks/delivery/queue.service'
import {
  destinationsStatement,
  inboxStatement,
  outboxStatement,
  parseCount,
  parseDestinations,
} from './status.repository'
import type { SessionResponse, StatusResponse } from './status.schemas'

/** The most parts of the table of due work that are read in all databases, of 5,000 rows each. */
const MOST_PARTS = 40
/** The most delivery queues that are asked, and how long they may take, in milliseconds. */
const MOST_ASKED = 100
const PATIENCE = 5 * SECOND
/** For how long the upkeep of a leaderboard has to be due until it counts as behind, in milliseconds. */
const BEHIND = MINUTE

type Status = z.infer<typeof StatusResponse>
type Session = z.infer<typeof SessionResponse>

/** The features that a console shows: whether there are tenants, and a test clock (G13). */
export function readSession({ access, now, variables }: AccountScope): Session {
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
 * delivery queues. It asks all databases side by side, and says which of them can't be reached; without the
 * first one, it throws.
 */
export async function readStatus(scope: AccountScope, jobs: Jobs): Promise<Status> {
  const { databases } = scope
  const found = await statesOf(scope, jobs)
  const states = found.flatMap((state) => state ?? [])
  const deliveries = await deliveriesOf(
    scope,
    states.flatMap(({ destinations }) => destinations),
  )
  const sum = (of: (state: State) => number) => states.reduce((all, state) => all + of(state), 0)
  const oldest = states.flatMap(({ due }) => due.oldest ?? [])
  return {
    version,
    databases: databases.names.map((name, nth) => ({ name, bytes: found[nth]?.bytes ?? null })),
    due: {
      count: sum(({ due }) => due.count),
      oldest: oldest.length === 0 ? null : iso(instant(Math.min(...oldest))),
    },
    inbox: sum(({ inbox }) => inbox),
    outbox: sum(({ outbox }) => outbox),
    deliveries,
    leaderboards: { behind: sum(({ due }) => due.behind) },
  }
}

/** The work and messages that wait in one database, and its size. */
type State = {
  bytes: number
  inbox: number
  outbox: number
  /** The names of all delivery queues. The first database has them. */
  destinations: string[]
  due: Pick<PartOfDueWork, 'count' | 'oldest' | 'behind'>
}

/** The state of each database, in order; null if it can't be reached. Throws if that is the first one. */
async function statesOf({ databases, now }: AccountScope, { list }: Jobs): Promise<(State | null)[]> {
  const answers = await Promise.allSettled(
    databases.names.map(async (name): Promise<State> => {
      const db = databases.named(name)
      const [{ inbox, outbox, destinations }, due] = await Promise.all([
        db.batchOf({
          inbox: inboxStatement(db),
          outbox: outboxStatement(db),
          destinations: name === FIRST ? [destinationsStatement(db)] : [],
        }),
        dueWorkOf(db, list, now, Math.ceil(MOST_PARTS / databases.names.length)),
      ])
      return {
        bytes: inbox.meta.size_after,
        inbox: parseCount(inbox),
        outbox: parseCount(outbox),
        destinations: destinations.flatMap(parseDestinations),
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

/** The work of active tenants that is due by now in a database, read in parts. */
async function dueWorkOf(
  db: AccountDatabase,
  list: readonly Job[],
  now: Instant,
  mostParts: number,
): Promise<State['due']> {
  const sum: State['due'] = { count: 0, oldest: null, behind: 0 }
  let after: WorkKey | null = null
  for (let part = 0; part < mostParts; part += 1) {
    const found: PartOfDueWork = await dueWorkOfPart(db, list, now, {
      after,
      late: { kind: 'leaderboard', milliseconds: BEHIND },
    })
    sum.count += found.count
    sum.behind += found.behind
    if (found.oldest !== null && (sum.oldest === null || found.oldest < sum.oldest)) sum.oldest = found.oldest
    if (found.last === null) break
    after = found.last
  }
  return sum
}

/** The messages of these delivery queues. `unknown` is the number of queues that were not asked or failed. */
async function deliveriesOf(scope: AccountScope, names: readonly string[]): Promise<Status['deliveries']> {
  const asked = names.slice(0, MOST_ASKED)
  const answers = await Promise.allSettled(asked.map((name) => within(PATIENCE, countMessages(scope, name))))
  const sum = { pending: 0, dead: 0, unknown: names.length - asked.length }
  for (const [index, answer] of answers.entries()) {
    if (answer.status === 'fulfilled') {
      sum.pending += answer.value.pending
      sum.dead += answer.value.dead
      continue
    }
    sum.unknown += 1
    logProblem('warn', { queue: asked[index] ?? '', error: `delivery queue not reached: ${answer.reason}` })
  }
  return sum
}
