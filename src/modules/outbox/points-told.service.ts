import * as z from 'zod'
import type { TenantContext } from '../../context'
import { configurationUnchanged, isConflict } from '../../db/guard'
import { type Instant, systemNow } from '../../shared/clock'
import { childId, newId } from '../../shared/ids'
import type { Configuration } from '../configuration/configuration'
import { levelAnswer, storedAwardAnswer, systemFields } from '../points/points.answers'
import { StoredAward, triggerForms } from '../points/points.repository'
import { levelOf } from '../points/points.rules'
import { userAnswer } from '../users/users.answers'
import { userOf, usersStatement } from '../users/users.repository'
import { listens, type Parcel } from './outbox'
import { putParcels } from './outbox.repository'
import {
  awardsSince,
  type DuePoints,
  duePoints,
  forgetPoints,
  notePointsTold,
  type ToldPoints,
  untold,
} from './points-told.repository'

/** Characters of JSON that a message's awards take at most, so that it fits a row of D1. */
const MOST_CHARACTERS = 300_000

/** The newest of these, oldest first, as many as a message holds: of somebody who got more at once, `added` still tells all of them. */
function newest<T>(awards: readonly T[]): T[] {
  let room = MOST_CHARACTERS
  const first = awards.findLastIndex((award) => {
    room -= JSON.stringify(award).length
    return room < 0
  })
  return awards.slice(first + 1)
}

const AwardRow = StoredAward.extend({ nth: z.number() })

/**
 * Puts into the outbox what is due to be told of users' points by a moment: of each user and system all that happened since the last time, by
 * one guarded batch, so that whatever comes in between is told with it or afterwards (W5). Answers whether there was anything; to be called
 * until there is not.
 */
export async function flushPoints(
  context: TenantContext,
  config: Configuration,
  now: Instant,
): Promise<boolean> {
  const { db } = context
  const due = await duePoints(db, now)
  if (due.length === 0) return false
  const ids = [...new Set(due.map(({ userId }) => userId))]
  const [rows, awardRows] = await db.batch([usersStatement(db, { ids }, systemNow()), awardsSince(db, due)])
  const users = new Map((rows?.results ?? []).map(userOf).map((user) => [user.iid, user]))
  const awards = z.array(AwardRow).parse(awardRows?.results ?? [])
  const forms = await triggerForms(db, awards)
  const gone: DuePoints[] = []
  const noted: ToldPoints[] = []
  const parcels: Parcel[] = []
  for (const [nth, one] of due.entries()) {
    const user = users.get(one.userIid)
    const system = config.systems.find(({ id }) => id === one.systemId)
    if (user === undefined || system === undefined) {
      gone.push(one)
      continue
    }
    const total = user.points.get(system.id) ?? 0
    const own = newest(
      awards.filter((award) => award.nth === nth).map((award) => storedAwardAnswer(award, forms)),
    )
    const wasTold = own.length > 0 && listens(config, 'points.changed')
    noted.push({ ...one, seq: user.seq, at: user.changed, total, wasTold })
    if (!wasTold) continue
    const [level, before] = [levelOf(system, total), levelOf(system, one.total)]
    const points = {
      ...systemFields(system),
      total,
      ...(level?.id !== before?.id && { level: level && levelAnswer(level) }),
      added: total - one.total,
      awards: own,
    }
    const id = newId(now)
    const messages = [
      {
        id: childId(id, 0),
        type: 'points.changed' as const,
        body: { user: userAnswer(config, user), points },
      },
    ]
    parcels.push({ at: now, seq: user.seq, id, userIid: user.iid, messages })
  }
  try {
    await db.batch([
      configurationUnchanged(db, config.version),
      untold(db, due),
      ...putParcels(db, parcels, null),
      ...(gone.length === 0 ? [] : [forgetPoints(db, gone)]),
      notePointsTold(db, noted, now),
    ])
  } catch (error) {
    // Somebody else has told of them, or the configuration has moved: what is due is looked at anew.
    if (!isConflict(error)) throw error
  }
  return true
}
