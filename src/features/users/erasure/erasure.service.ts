import * as z from 'zod'
import { keyCacheOf } from '../../../access/keys.cache'
import { dropKeyRecord } from '../../../access/keys.repository'
import { boardObject } from '../../../boards/board-updates.service'
import { type DueWork, progressed, rescheduled } from '../../../jobs/due-work.repository'
import { wakeTimekeeper } from '../../../jobs/timekeeper.service'
import { type Instant, instant } from '../../../lib/clock'
import { newId } from '../../../lib/new-id'
import { wait } from '../../../lib/system-clock'
import { within } from '../../../lib/timeout'
import type { Scope, TenantContext } from '../../../runtime/context'
import { objectsAfter } from '../../../store/user-data/objects.repository'
import type { ErasureStage } from '../../../store/user-data/user-data.register'
import { removeRows } from '../../../store/user-data/user-rows.repository'
import { removeUser } from './erasure.repository'

/** Failures of D1 itself after which an erasure is given up; nothing of it has happened then, or all of it. */
const MOST_FAILURES = 3
/** Keys, leaderboards and couriers that one step visits, all at once. */
const KEYS = 100
const BOARDS = 20
const DELIVERY_QUEUES = 20
/** How long a step waits for them, in milliseconds. */
const PATIENCE = 10_000

/**
 * Erases a user everywhere (U8): at once from D1's users, so that nobody finds them and no change of theirs can be stored any more;
 * the rest in steps, of which the Timekeeper does the first before this answers. It makes no difference whether there is such a user.
 */
export async function eraseUser(scope: Scope, userId: string): Promise<{ id: string }> {
  const { db, now, instance } = scope
  for (let failures = 0; ; ) {
    try {
      // A batch whose answer was lost may be repeated: it finds nothing to do, and the work that is due knows the keys.
      const prefixes = await removeUser(db, userId, now, newId(now))
      for (const prefix of prefixes) keyCacheOf(instance).delete(prefix)
      break
    } catch (error) {
      failures += 1
      if (failures >= MOST_FAILURES) throw error
      await wait(20 * failures)
    }
  }
  await wakeTimekeeper(scope)
  return { id: userId }
}

/** What is left to do of an erasure, and how far it has got. */
export const ErasureProgress = z.object({
  userId: z.string(),
  /** Null where there was no user, but keys. */
  iid: z.string().nullable(),
  /** Of the keys, ascending. */
  prefixes: z.array(z.string()),
  /** The place of the stage in `STAGES`. */
  stage: z.number().default(0),
  /** Up to where the stage has got; empty at its beginning. */
  after: z.string().default(''),
})
type Progress = z.infer<typeof ErasureProgress>

/** Up to when the Timekeeper does what is due, and after how many milliseconds nothing is on its way any more. */
type Moments = { until: Instant; grace: number }

/** Visits places, all at once; answers the last of them where there may be more. One that fails is left to the second visit. */
async function visited(
  places: readonly string[],
  most: number,
  stage: number,
  visit: (place: string) => Promise<void>,
): Promise<string | null> {
  const results = await Promise.allSettled(places.map((place) => within(PATIENCE, visit(place))))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined && stage >= SECOND_VISIT) throw failed.reason
  if (failed !== undefined)
    console.warn(JSON.stringify({ level: 'warn', error: `not visited: ${failed.reason}` }))
  return places.length < most ? null : (places.at(-1) ?? null)
}

/** Does a portion of a stage; answers up to where it has got, or null at its end. */
type Portion = (context: TenantContext, progress: Progress, now: Instant) => Promise<string | null>

/** The stages that visit other places than the database. */
const VISITS: Record<Exclude<ErasureStage, 'rows'>, Portion> = {
  keys: (context, { prefixes, stage, after }) => {
    const next = prefixes.filter((prefix) => prefix > after).slice(0, KEYS)
    return visited(next, KEYS, stage, (prefix) => dropKeyRecord(context, prefix))
  },
  boards: async (context, { iid, userId, stage, after }, now) => {
    if (iid === null) return null
    const boards = await objectsAfter(context.db, 'boards', 'living', after, BOARDS)
    return visited(boards, BOARDS, stage, async (id) => boardObject(context, id).erase({ userId, iid, now }))
  },
  deliveryQueues: async (context, { iid, userId, stage, after }) => {
    if (iid === null) return null
    const deliveryQueues = await objectsAfter(context.db, 'deliveryQueues', 'living', after, DELIVERY_QUEUES)
    return visited(deliveryQueues, DELIVERY_QUEUES, stage, async (name) =>
      context.env.DELIVERY_QUEUE.getByName(name).erase({ iid, userId }),
    )
  },
}

const rows: Portion = async ({ db }, { iid }) => (iid === null || (await removeRows(db, [iid])) ? null : '')

/**
 * What is done one after another. Keys, leaderboards and couriers are visited twice: a record, a change or a letter that was on its way when
 * the user disappeared may have arrived after the first visit. The place of a stage is stored.
 */
const STAGES: readonly Portion[] = [...Object.values(VISITS), rows, ...Object.values(VISITS)]
const SECOND_VISIT = STAGES.indexOf(rows) + 1

/**
 * Does the next step of an erasure: so many keys, leaderboards or rows. What is repeated finds nothing; the work ends when all is gone.
 * Throws where a place can't be reached on the second visit.
 */
export async function erasureStep(
  context: TenantContext,
  work: DueWork,
  { until, grace }: Moments,
): Promise<void> {
  const { db } = context
  const progress = ErasureProgress.parse(JSON.parse(work.progress ?? 'null'))
  const portion = STAGES[progress.stage]
  const after = portion === undefined ? null : await portion(context, progress, until)
  const stage = progress.stage + (after === null ? 1 : 0)
  if (stage === STAGES.length) {
    await db.batch([rescheduled(db, work, null)])
    return
  }
  await db.batch([
    progressed(db, work, JSON.stringify({ ...progress, stage, after: after ?? '' })),
    ...(stage === SECOND_VISIT && after === null ? [rescheduled(db, work, instant(until + grace))] : []),
  ])
}
