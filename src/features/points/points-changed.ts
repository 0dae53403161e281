import * as z from 'zod'
import { type PointsAward, pointsChange, storedAwardResponse } from '../../api/shapes/points'
import { userResponse } from '../../api/shapes/users'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { childId } from '../../lib/ids'
import { newId } from '../../lib/new-id'
import { jsonBytes } from '../../lib/packed'
import type { TenantContext } from '../../platform/context'
import { configurationUnchanged, nullIfConflict } from '../../platform/guard'
import { StoredAwardRow, triggerForms } from '../../store/awards.sql.ts'
import { coveredBy, portionOf, portionStatement, shortAmong } from '../../store/users/portions.sql.ts'
import { userOf } from '../../store/users/users.sql.ts'
import { defineJob } from '../../time/job'
import { drain } from '../../webhooks/delivery/drain'
import { draftOf } from '../../webhooks/events'
import { listens, type OutboxEntry } from '../../webhooks/outbox/outbox'
import { insertOutboxEntries } from '../../webhooks/outbox/outbox.sql.ts'
import {
  awardsSince,
  type DuePoints,
  duePoints,
  firstDue,
  forgetPoints,
  notePointsSent,
  notSentYet,
  type SentPoints,
} from '../../webhooks/outbox/points-changed.sql.ts'

const AwardRow = StoredAwardRow.extend({ nth: z.number() })
const SeenRows = z.array(z.object({ iid: z.string(), seq: z.number() }))

/** The most bytes of JSON of a message's awards. With the longest user, it still fits into a row of D1. */
const MOST_BYTES = 300_000

/** The newest awards that fit into a message, oldest first. `added` still counts all of them. */
function newest(awards: readonly z.infer<typeof PointsAward>[]): z.infer<typeof PointsAward>[] {
  let room = MOST_BYTES
  const first = awards.findLastIndex((award) => {
    room -= jsonBytes(award)
    return room < 0
  })
  return awards.slice(first + 1)
}

/**
 * Writes the points notifications that are due from one moment to another to the outbox: all changes of a user
 * and points system since the last one. A change that comes in between is in this notification or in the next one (W5).
 * Returns whether any was due. Call it until it returns false.
 */
export async function flushPoints(
  context: TenantContext,
  config: Configuration,
  { from, now }: { from: Instant; now: Instant },
): Promise<boolean> {
  const { db } = context
  const all = await duePoints(db, from, now)
  if (all.length === 0) return false
  const ids = [...new Set(all.map(({ userId }) => userId))]
  const { found, awardRows } = await db.batchOf({
    found: portionStatement(db, { ids }),
    awardRows: awardsSince(db, all),
  })
  const { rows, covered } = coveredBy(
    ids,
    await portionOf(db, found.results, { short: shortAmong(ids.length) }),
  )
  const read = new Set(ids.slice(0, covered))
  const users = new Map(rows.map(userOf).map((user) => [user.iid, user]))
  // The next call takes users who did not fit, and users with new awards since the awards were read.
  const seen = new Map(SeenRows.parse(found.results).map(({ iid, seq }) => [iid, seq]))
  const isPresent = ({ userId, userIid }: DuePoints) =>
    read.has(userId) && users.get(userIid)?.seq === seen.get(userIid)
  const due = all.filter(isPresent)
  const awards = z.array(AwardRow).parse(awardRows.results)
  const forms = await triggerForms(db, awards)
  const gone: DuePoints[] = []
  const noted: SentPoints[] = []
  const outboxEntries: OutboxEntry[] = []
  for (const [nth, one] of all.entries()) {
    if (!isPresent(one)) continue
    const user = users.get(one.userIid)
    const system = config.systems.find(({ id }) => id === one.systemId)
    if (user === undefined || system === undefined) {
      gone.push(one)
      continue
    }
    const total = user.points.get(system.id) ?? 0
    const own = awards.filter((award) => award.nth === nth)
    const wasSent = own.length > 0 && listens(config, 'points.changed')
    noted.push({ ...one, seq: user.seq, at: user.changed, total, wasSent })
    if (!wasSent) continue
    const shown = newest(own.map((award) => storedAwardResponse(award, forms)))
    const draft = draftOf('points.changed', {
      user: userResponse(config, user),
      points: pointsChange(system, one.total, total, shown),
    })
    const id = newId(now)
    const messages = [{ id: childId(id, 0), ...draft }]
    outboxEntries.push({ at: now, seq: user.seq, id, userIid: user.iid, messages })
  }
  const statements = [
    configurationUnchanged(db, config.version),
    notSentYet(db, due),
    ...insertOutboxEntries(db, outboxEntries, null),
    ...(gone.length === 0 ? [] : [forgetPoints(db, gone)]),
    notePointsSent(db, noted, now),
  ]
  // After a conflict, another drain has sent them, or the configuration has changed. The next call reads again.
  await db.batch(statements).catch(nullIfConflict)
  return true
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    outbox: true
  }
}

/** Sends changes of points once their quiet time is over, and schedules the next ones (W5). */
export const pointsNotificationsJob = defineJob({
  kind: 'outbox',
  of: 'users',
  step: async (context, work, { mustAll, until, isClockSet }) => {
    // In real time, the quiet time begins when they are sent, also if that is late.
    await drain(context, flushPoints, { by: isClockSet || mustAll ? work.dueAt : until, mustAll })
    await context.db.batch([work.goOnAt(await firstDue(context.db))])
  },
})
