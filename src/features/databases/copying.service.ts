import { packsOf, utf8Bytes } from '../../lib/packed'
import type { Databases } from '../../platform/databases/databases-databases'
import { FIRST } from '../../platform/databases/directory'
import type { Statement } from '../../platform/statement'
import { removeMovedRows } from '../../store/user-data/user-rows.repository'
import * as logs from './copied-logs.repository'
import { COPIED_LOGS } from './moved-tables.register'
import type { Move } from './moves.repository'

/* Copies the rows of users who are going to move, while the users are still in the old database (B3). */

/** A context of moves: all databases, the tenant, and the kinds of work on users. */
export type Moving = { databases: Databases; tenantId: string; kinds: readonly string[] }

/** Users whose rows are read at once. */
export const READ_AT_ONCE = 100
/** How many changed users are left for the departure. */
const FEW_CHANGED = 20
/** Users whose rows are deleted at once. */
export const DELETED_AT_ONCE = 50
/** The most bytes of rows in one batch. */
const MOST_BYTES = 4_000_000

/** Copies rows of users who have none there yet, or who have changed. `ready`: few users are left. */
export async function copy(moving: Moving, move: Move): Promise<'ready' | 'more'> {
  const { databases, tenantId } = moving
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const here = await logs.seqsIn(source, tenantId, move)
  const there = await logs.arrivingIn(target, tenantId)
  const gone = new Map([...there].filter(([iid]) => !here.has(iid)))
  if (gone.size > 0) await removeCopies(moving, move.target, gone, move.joined)
  const fresh = [...here.keys()].filter((iid) => (there.get(iid) ?? -1) < 0)
  if (fresh.length > 0) {
    for (let from = 0; from < fresh.length; ) {
      const some = fresh.slice(from, from + READ_AT_ONCE)
      from += await copyWhole(moving, move, some, there)
    }
    return 'more'
  }
  const changed = [...there].filter(([iid, seq]) => here.has(iid) && here.get(iid) !== seq)
  if (changed.length === 0) return 'ready'
  const { rows, seqs } = await logs.readNewer(source, tenantId, move, changed)
  const now = changed.flatMap(([iid]) => {
    const seq = seqs.get(iid)
    return seq === undefined ? [] : [[iid, seq] as const]
  })
  await target.batch([
    logs.notYetJoined(tenantId, move),
    ...logs.insertNewer(rows, changed),
    logs.arrive(tenantId, now),
  ])
  return changed.length <= FEW_CHANGED ? 'ready' : 'more'
}

/** Copies all rows of the first of these users. Returns how many users that were. */
export async function copyWhole(
  moving: Moving,
  move: Move,
  iids: readonly string[],
  there: logs.Seqs,
): Promise<number> {
  const { databases, tenantId } = moving
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const begun = new Map(iids.flatMap((iid) => (there.has(iid) ? [[iid, -1] as const] : [])))
  if (begun.size > 0) await removeCopies(moving, move.target, begun, move.joined)
  let some = iids
  for (;;) {
    const { rows, isAll, seqs } = await logs.readLogs(source, tenantId, move, some)
    if (isAll) {
      // The rows of a user who was erased meanwhile are noted too, so that they are found and deleted.
      const users = some.map((iid) => [iid, seqs.get(iid) ?? -1] as const)
      await writeParts(moving, move, logs.insertLogs(rows), users)
      return some.length
    }
    if (some.length === 1) break
    some = some.slice(0, Math.ceil(some.length / 4))
  }
  const [iid] = some
  if (iid === undefined) return 0
  // So many rows that they are read page by page. Changes that happen meanwhile are newer than this `seq`.
  const seq = (await logs.seqsIn(source, tenantId, move)).get(iid)
  await target.batch([logs.notYetJoined(tenantId, move), logs.arrive(tenantId, [[iid, -1]])])
  for (const log of COPIED_LOGS) {
    for (let after: string | null = null; ; ) {
      const rows = await logs.readPage(source, log, iid, after)
      const inserts = logs.insertLogs(COPIED_LOGS.map((one) => (one === log ? rows : [])))
      await writeParts(moving, move, inserts, [])
      after = rows.at(-1) ?? null
      if (after === null || rows.length < log.most) break
    }
  }
  if (seq !== undefined)
    await target.batch([logs.notYetJoined(tenantId, move), logs.arrive(tenantId, [[iid, seq]])])
  return 1
}

/** Writes copies in batches of a few megabytes. Until the last one, the users are noted as incomplete. */
async function writeParts(
  { databases, tenantId }: Moving,
  move: Move,
  inserts: readonly Statement[],
  users: readonly (readonly [iid: string, seq: number])[],
): Promise<void> {
  const target = databases.named(move.target)
  const parts = packsOf(inserts, MOST_BYTES, ({ params }) => utf8Bytes(String(params[0])))
  const unfinished = users.map(([iid]) => [iid, -1] as const)
  for (const [index, part] of (parts.length === 0 ? [[]] : parts).entries()) {
    const isLast = index >= parts.length - 1
    await target.batch([
      logs.notYetJoined(tenantId, move),
      ...part,
      ...(users.length === 0 ? [] : [logs.arrive(tenantId, isLast ? users : unfinished)]),
    ])
  }
}

/**
 * Deletes copies of users who are not coming. Returns whether there were none. `placement` is that of the
 * database, read before the copies were found. Raises a conflict if users have arrived there since then.
 */
export async function removeCopies(
  { databases, tenantId }: Moving,
  name: string,
  users: logs.Seqs,
  placement: number,
): Promise<boolean> {
  const db = databases.named(name)
  const guard = logs.placementIs(tenantId, placement)
  const iids = [...users.keys()]
  for (let from = 0; from < iids.length; from += DELETED_AT_ONCE) {
    const some = iids.slice(from, from + DELETED_AT_ONCE)
    while (!(await removeMovedRows(db.of(tenantId), some, { isFirst: name === FIRST, guard }))) {}
    await db.batch([guard, logs.leaveOut(tenantId, some)])
  }
  return iids.length === 0
}
