import * as z from 'zod'
import { requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { created, endpointsOf, ok } from '../../api/endpoint'
import {
  createResponse,
  IdOrKey,
  isNot,
  items,
  optional,
  UserId,
  UuidResponse,
  wholeNumber,
} from '../../api/fields'
import { UNKNOWN_USER, USER_MISSED } from '../../api/resources/drafts.rules'
import { presentSystem } from '../../api/resources/resource'
import { IdempotencyKey } from '../../api/shapes/events'
import { madeFields, userEntry } from '../../configuration/audit.rules'
import { auditEntriesIf } from '../../configuration/audit.sql.ts'
import { configurationOf } from '../../configuration/configuration'
import { updateBoards } from '../../leaderboards/updates'
import { ApiError } from '../../lib/errors'
import { MOST_ADJUSTMENT_POINTS } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import { bytesOf, type ColumnValues, columnList, HexId, numberOf } from '../../platform/columns'
import type { Scope } from '../../platform/context'
import { onlyUnchanged, overUsers, usersAsRead } from '../../platform/guard'
import { adjusted, type CorrectionChange } from '../../rules/corrections.rules'
import type { UserState } from '../../rules/state'
import { writeUsers } from '../../store/commit/writer'
import { adjustmentKeys } from '../../store/tables.sql.ts'
import { readPortion } from '../../store/users/portions.sql.ts'
import { userOf } from '../../store/users/users.sql.ts'
import { type Basis, basisOf, Reason, store, untilStored } from './corrections'

const CreatePointsAdjustmentRequestItem = z
  .object({
    userId: UserId,
    amount: isNot(0, wholeNumber(-MOST_ADJUSTMENT_POINTS, MOST_ADJUSTMENT_POINTS)),
    reason: Reason,
    idempotencyKey: optional(IdempotencyKey),
  })
  .meta({ id: 'CreatePointsAdjustmentRequestItem' })

/** Adjustments of points, 1 to 100 (V1). */
const CreatePointsAdjustmentsRequest = items(CreatePointsAdjustmentRequestItem).meta({
  id: 'CreatePointsAdjustmentsRequest',
})

/** An adjustment that is in the ledger. `awarded` is what was really applied (P6). */
const PointsAdjustment = z
  .object({ id: UuidResponse, userId: z.string(), awarded: z.int32(), total: z.int32() })
  .meta({ id: 'PointsAdjustment' })

const CreatePointsAdjustmentsResponse = createResponse('CreatePointsAdjustmentsResponse', PointsAdjustment)

/** An adjustment that is in the ledger: the award's id, the applied points, and the total after them. */
type Booked = { id: string; awarded: number; total: number }

const USED = `
  SELECT asked.value ->> 0 AS userIid, k.key, hex(k.award_id) AS id, k.awarded, k.total
  FROM json_each(?2) asked CROSS JOIN adjustment_keys k ON k.user_iid = ${bytesOf('asked.value ->> 0')}
    AND k.system_no = ${numberOf('points_systems', '?1')} AND k.key = asked.value ->> 1`

const UsedRows = z.array(
  z.object({ userIid: z.string(), key: z.string(), id: HexId, awarded: z.number(), total: z.number() }),
)

type KeyRow = Booked & { userIid: string; systemId: string; key: string }
const KEY_VALUES: ColumnValues<typeof adjustmentKeys, KeyRow> = {
  userIid: { of: ({ userIid }) => userIid, as: bytesOf },
  systemNo: { of: ({ systemId }) => systemId, as: (id) => numberOf('points_systems', id) },
  key: ({ key }) => key,
  awardId: { of: ({ id }) => id, as: bytesOf },
  awarded: ({ awarded }) => awarded,
  total: ({ total }) => total,
}
const KEY_LIST = columnList(adjustmentKeys, KEY_VALUES)
const USE = `
  INSERT INTO adjustment_keys (${KEY_LIST.columns})
  SELECT ${KEY_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(KEY_LIST.value('userIid'))}`

const STORED = `
  SELECT hex(a.id) AS id FROM json_each(?2) asked CROSS JOIN awards a
    ON a.user_iid = ${bytesOf('asked.value ->> 0')} AND a.system_no = ${numberOf('points_systems', '?1')}
    AND a.at = asked.value ->> 1 AND a.seq = asked.value ->> 2 AND a.id = ${bytesOf('asked.value ->> 3')}`

/** SQL: the ledger has an entry. The subject of its audit entry is `[iid, system id, at, seq, award id]`. */
const ENTRY_IS_STORED = `EXISTS (SELECT 1 FROM awards a
  WHERE a.user_iid = unhex((value ->> 0) ->> 0, '-')
    AND a.system_no = (SELECT s.no FROM points_systems s WHERE s.id = (value ->> 0) ->> 1)
    AND a.at = (value ->> 0) ->> 2 AND a.seq = (value ->> 0) ->> 3
    AND a.id = unhex((value ->> 0) ->> 4, '-'))`

type LedgerPlace = readonly [iid: string, at: number, seq: number, id: string]

const StoredRows = z.array(z.object({ id: HexId }))

type Item = z.output<typeof CreatePointsAdjustmentsRequest>[number]
type Response = z.input<typeof CreatePointsAdjustmentsResponse>
type Issue = Response['issues'][number]

type Tried = Booked & { place: LedgerPlace; change: CorrectionChange }

/** A waiting item. `id` is the same in each attempt. `tried`: entries that attempts have tried to store. */
type Pending = { item: Item; index: number; id: string; tried: Tried[] }

/** How an item ended. `isNew` is false for a repeated idempotency key. */
type Ended = { booked: Booked; isNew: boolean } | { issue: Issue }

/** The decisions about one user's items: the changes, and how each item ends if they are stored. */
type Decided = {
  user: UserState
  changes: CorrectionChange[]
  keys: KeyRow[]
  ends: Map<Pending, Ended>
}

const NOTHING = 'The adjustment comes to 0, because the total is at its limit already. Nothing was changed.'

/**
 * Adjusts users' points in a system (V1). Each user is stored alone or left out, and users who were left out
 * are tried again. Returns the response, and whether an entry of the ledger was made.
 */
async function adjustPoints(
  scope: Scope,
  systemId: string,
  items: readonly Item[],
): Promise<{ response: Response; isCreated: boolean }> {
  const all = items.map((item, index): Pending => ({ item, index, id: newId(scope.now), tried: [] }))
  const ends = new Map<Pending, Ended>()
  const isCreated = () => [...ends.values()].some((end) => 'isNew' in end && end.isNew)
  const userIdOf = ({ item }: Pending) => item.userId
  const { missed } = await scope.databases.usersOf(scope.tenant.id).each(all, userIdOf, (db, own) =>
    untilStored(async () => {
      for (let left = own.length + 1; ; ) {
        const waiting = own.map(({ item }) => item).filter((one) => !ends.has(one))
        if (waiting.length === 0) return true
        // Without progress, other changes of the same users got in the way.
        if (waiting.length === left) return null
        left = waiting.length
        await attempt({ ...scope, db }, systemId, waiting, ends)
      }
    }).catch((error: unknown) => {
      // After an error, clients send all items again. If some are stored, the others become issues instead (E3).
      if (!(error instanceof ApiError) || !isCreated()) throw error
      for (const { item } of own)
        if (!ends.has(item)) ends.set(item, { issue: issueOf(item, 'error', error.message) })
    }),
  )
  for (const { item } of missed)
    if (!ends.has(item)) ends.set(item, { issue: issueOf(item, 'error', USER_MISSED) })
  const response: Response = { created: [], issues: [] }
  for (const one of all) {
    const end = ends.get(one)
    if (end === undefined) continue
    if ('issue' in end) response.issues.push(end.issue)
    else response.created.push({ ...end.booked, userId: one.item.userId })
  }
  return { response, isCreated: isCreated() }
}

/** One attempt for the items that wait. Notes how items end. */
async function attempt(
  scope: Scope,
  systemId: string,
  waiting: readonly Pending[],
  ends: Map<Pending, Ended>,
): Promise<void> {
  const { db, tenant } = scope
  const basis = await basisOf(scope, await db.run(requestSnapshotStatement(db, tenant.id, [])))
  const ids = [...new Set(waiting.map(({ item }) => item.userId))]
  const { rows, covered } = await readPortion(db, ids)
  const users = new Map(rows.map(userOf).map((user) => [user.id, user]))
  const read = ids.slice(0, covered)
  const present = waiting.filter(({ item }) => read.includes(item.userId))
  // Read after the users: the user of an entry that was stored in between has changed since.
  const { booked, late } = await bookedBefore(scope, systemId, users, present)
  await updateBoards(scope, basis.config, late, basis.now)
  const decided: Decided[] = []
  for (const userId of read) {
    const own = present.filter(({ item }) => item.userId === userId)
    const user = users.get(userId)
    if (user === undefined) {
      for (const one of own) ends.set(one, { issue: issueOf(one, 'error', UNKNOWN_USER) })
    } else decided.push(decide(basis, systemId, user, own, booked))
  }
  await write(scope, basis, decided, ends)
}

const issueOf = ({ index, item }: Pending, severity: Issue['severity'], message: string): Issue => {
  return { index, userId: item.userId, severity, message }
}

/** The items in the ledger already, by key or by an attempt without a response: `late` has its changes. */
async function bookedBefore(
  { db }: Scope,
  systemId: string,
  users: ReadonlyMap<string, UserState>,
  items: readonly Pending[],
): Promise<{ booked: ReadonlyMap<Pending, Ended>; late: CorrectionChange[] }> {
  const iidOf = ({ item }: Pending) => users.get(item.userId)?.iid ?? ''
  const keyed = items.flatMap((one) => {
    const { idempotencyKey: key } = one.item
    return key === undefined ? [] : [[iidOf(one), key] as const]
  })
  const asked = db.statement(USED, systemId, JSON.stringify(keyed))
  const used = keyed.length === 0 ? [] : UsedRows.parse(await db.rows(asked))
  const tried = items.flatMap((one) => one.tried)
  const places = JSON.stringify(tried.map(({ place }) => place))
  const found = StoredRows.parse(await db.rows(db.statement(STORED, systemId, places)))
  const stored = new Set(found.map(({ id }) => id))
  const booked = new Map<Pending, Ended>()
  const late: CorrectionChange[] = []
  for (const one of items) {
    const own = one.tried.find(({ id }) => stored.has(id))
    const first = used.find(({ userIid, key }) => userIid === iidOf(one) && key === one.item.idempotencyKey)
    if (own !== undefined) {
      booked.set(one, { booked: bookedOf(own), isNew: true })
      late.push(own.change)
    } else if (first !== undefined) booked.set(one, { booked: bookedOf(first), isNew: false })
  }
  return { booked, late }
}

const bookedOf = ({ id, awarded, total }: Booked): Booked => ({ id, awarded, total })

/** Decides a user's items in their order, each on the state after the ones before it. */
function decide(
  { config, now }: Basis,
  systemId: string,
  user: UserState,
  items: readonly Pending[],
  before: ReadonlyMap<Pending, Ended>,
): Decided {
  const system = presentSystem(config, systemId)
  const decided: Decided = { user, changes: [], keys: [], ends: new Map() }
  let state = user
  for (const one of items) {
    const { amount, reason = null, idempotencyKey: key } = one.item
    const same = decided.keys.find((used) => used.key === key)
    const known = before.get(one) ?? (same && { booked: bookedOf(same), isNew: false })
    const change =
      known === undefined ? adjusted(config, system, state, amount, { at: now, id: one.id, reason }) : null
    const award = change?.awards[0]
    if (change === null || award === undefined) {
      decided.ends.set(one, known ?? { issue: issueOf(one, 'warning', NOTHING) })
      continue
    }
    const booked = bookedOf(award)
    state = change.after
    decided.changes.push(change)
    decided.ends.set(one, { booked, isNew: true })
    one.tried.push({ ...booked, change, place: [user.iid, award.at, award.seq, award.id] })
    if (key !== undefined) decided.keys.push({ ...booked, userIid: user.iid, systemId, key })
  }
  return decided
}

/** The entries of the audit log about the adjustments of a user, each with its place in the ledger (Z1). */
const adjustmentEntries = ({ user: { iid }, changes }: Decided) =>
  changes.flatMap(({ awards }) =>
    awards.map(({ id, systemId, at, seq, awarded, correction }) => ({
      subject: JSON.stringify([iid, systemId, at, seq, id]),
      entry: userEntry(
        'points_adjustment',
        'create',
        { iid },
        madeFields({ id, pointsSystemId: systemId, awarded, reason: correction?.reason ?? null }),
      ),
    })),
  )

/** Stores decisions, and notes how the items of the stored users end. Users who have changed are left out. */
async function write(
  scope: Scope,
  basis: Basis,
  decided: readonly Decided[],
  ends: Map<Pending, Ended>,
): Promise<void> {
  const settle = (one: Decided) => {
    for (const [pending, end] of one.ends) ends.set(pending, end)
  }
  for (const one of decided) if (one.changes.length === 0) settle(one)
  const changed = decided.filter(({ changes }) => changes.length > 0)
  if (changed.length === 0) return
  const { db } = scope
  const { config, clock } = basis
  const users = changed.map(({ user, changes }) => ({ was: user, changes, newlyUsed: [] }))
  const writing = writeUsers(db, config, users, { kind: 'each', clock })
  if (writing.isMuch && changed.length > 1) {
    const half = Math.ceil(changed.length / 2)
    await write(scope, basis, changed.slice(0, half), ends)
    return write(scope, basis, changed.slice(half), ends)
  }
  const among = usersAsRead(
    db,
    { version: config.version, clock },
    changed.map(({ user }) => ({ iid: user.iid, id: user.id, was: user })),
  )
  const keys = changed.flatMap((one) => one.keys)
  const further = overUsers(db, USE, keys.map(KEY_LIST.values), among)
  const audit = auditEntriesIf(scope, changed.flatMap(adjustmentEntries), ENTRY_IS_STORED)
  const stored = await store(scope, writing, further, audit)
  const done = changed.filter(({ user }) => stored.has(user.iid))
  for (const one of done) settle(one)
  const changes = done.flatMap((one) => one.changes)
  await updateBoards(scope, config, changes, basis.now)
}

const endpoint = endpointsOf('admin')

/** The endpoints of adjustments of points (V1). */
export const adjustmentEndpoints = [
  endpoint(
    'POST /points/{systemId}/adjustments',
    {
      id: 'admin_points_adjustments_create',
      summary: 'Add points to users, or take them, by hand',
      params: z.object({ systemId: IdOrKey }),
      body: CreatePointsAdjustmentsRequest,
      responses: {
        200: {
          description: 'Nothing was changed by this request.',
          body: CreatePointsAdjustmentsResponse,
        },
        201: { description: 'At least one was made.', body: CreatePointsAdjustmentsResponse },
      },
    },
    { find: async (scope, param) => presentSystem(await configurationOf(scope), param('systemId')) },
    async (scope, { body }, { id }) => {
      const { response, isCreated } = await adjustPoints(scope, id, body)
      return isCreated ? created(response) : ok(response)
    },
  ),
]
