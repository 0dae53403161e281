import type * as z from 'zod'
import { version } from '../../../package.json'
import { countMessages } from '../../delivery/queue.service'
import { dueWorkOfPart, type PartOfDueWork, type WorkKey } from '../../jobs/due-work.repository'
import type { Jobs } from '../../jobs/job.types'
import { iso } from '../../lib/clock'
import { within } from '../../lib/timeout'
import { MINUTE, SECOND } from '../../lib/units'
import type { AccountScope } from '../../runtime/context'
import { logProblem } from '../../runtime/log'
import {
  destinationsStatement,
  inboxStatement,
  outboxStatement,
  parseCount,
  parseDestinations,
} from './status.repository'
import type { SessionResponse, StatusResponse } from './status.schemas'

/** The most parts of the table of due work that are read, of 5,000 rows each. */
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
 * delivery queues.
 */
export async function readStatus(scope: AccountScope, jobs: Jobs): Promise<Status> {
  const { db } = scope
  const { inbox, outbox, destinations } = await db.batchOf({
    inbox: inboxStatement(db),
    outbox: outboxStatement(db),
    destinations: destinationsStatement(db),
  })
  const [due, deliveries] = await Promise.all([
    dueWorkOf(scope, jobs),
    deliveriesOf(scope, parseDestinations(destinations)),
  ])
  return {
    version,
    databases: [{ name: 'DB', bytes: inbox.meta.size_after }],
    due: { count: due.count, oldest: due.oldest === null ? null : iso(due.oldest) },
    inbox: parseCount(inbox),
    outbox: parseCount(outbox),
    deliveries,
    leaderboards: { behind: due.behind },
  }
}

/** The work of active tenants that is due by now, read in parts. */
async function dueWorkOf({ db, now }: AccountScope, { list }: Jobs) {
  const sum: Pick<PartOfDueWork, 'count' | 'oldest' | 'behind'> = { count: 0, oldest: null, behind: 0 }
  let after: WorkKey | null = null
  for (let part = 0; part < MOST_PARTS; part += 1) {
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
