import * as z from 'zod'
import type { TenantDatabase } from '../../db/database'
import { amongUnmoved, overUsers, type Unmoved } from '../../db/guard'
import { type Instant, instant } from '../../shared/clock'
import { packed } from '../../shared/packed'
import { Message, type Parcel } from './outbox'

const PUT = `
  INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
  SELECT ?2, value ->> 1, value ->> 2, value ->> 3, value ->> 0, value ->> 4 FROM json_each(?1)
  WHERE ${amongUnmoved('value ->> 0')}`
// Those alone whose users are still as they were read; see changes.repository.ts.
const PUT_IF_UNCHANGED = `
  WITH asked AS MATERIALIZED (SELECT value FROM json_each(?2))
  INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
  SELECT ?1, asked.value ->> 0, asked.value ->> 1, asked.value ->> 2, asked.value ->> 3, asked.value ->> 4 FROM asked
  CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 5 AND u.iid = asked.value ->> 3
    AND u.seq = asked.value ->> 6`

const columns = ({ at, seq, id, userIid, messages }: Parcel) => [
  at,
  seq,
  id,
  userIid,
  JSON.stringify(messages),
]

/** Puts parcels into the outbox; part of the guarded batch of the changes that they tell of (W2). One row written for each. */
export function putParcels(
  db: TenantDatabase,
  parcels: readonly Parcel[],
  among: Unmoved,
): D1PreparedStatement[] {
  const rows = parcels.map(({ at, seq, id, userIid, messages }) => [
    userIid,
    at,
    seq,
    id,
    JSON.stringify(messages),
  ])
  return overUsers(db, PUT, rows, among)
}

/** A parcel about a user, who was read at this `seq`. */
export type UserParcel = { parcel: Parcel; was: { id: string; seq: number } }

/** The same in a batch that leaves users alone who have changed meanwhile: theirs are left out. Before the statement that stores the users. */
export function putParcelsOf(db: TenantDatabase, parcels: readonly UserParcel[]): D1PreparedStatement[] {
  const rows = parcels.map(({ parcel, was }) => JSON.stringify([...columns(parcel), was.id, was.seq]))
  return packed(rows).map((list) => db.statement(PUT_IF_UNCHANGED, db.tenantId, list))
}

/** A parcel, and the caller's id of the user whose it is, by which the user is found. */
export type Addressed = { parcel: Parcel; userId: string | null }

// Nothing is kept of somebody who was erased meanwhile (U8).
const KEEP = `
  INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
  SELECT ?1, p.value ->> 0, p.value ->> 1, p.value ->> 2, p.value ->> 3, p.value ->> 4 FROM json_each(?2) p
  WHERE p.value ->> 3 IS NULL OR EXISTS (
    SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = p.value ->> 5 AND u.iid = p.value ->> 3)
  ON CONFLICT DO NOTHING`

/** The same where no user changes: those of users who are still there, each once however often it is put. */
export function keepParcels(db: TenantDatabase, parcels: readonly Addressed[]): D1PreparedStatement[] {
  const rows = parcels.map(({ parcel, userId }) => JSON.stringify([...columns(parcel), userId]))
  return packed(rows).map((list) => db.statement(KEEP, db.tenantId, list))
}

/** The most rows that are handed over at once, and the most characters, unless a single row has more: a call of an object takes 32 MB. */
const ROWS = 200
const CHARACTERS = 4_000_000

const NEXT = `
  SELECT at, seq, id, userIid, messages FROM (
    SELECT at, seq, id, user_iid AS userIid, messages, sum(length(messages)) OVER (ORDER BY at, seq, id) AS sum
    FROM (SELECT * FROM outbox WHERE tenant_id = ?1 AND (at, seq, id) > (?2, ?3, ?4) ORDER BY at, seq, id LIMIT ${ROWS}))
  WHERE sum <= ${CHARACTERS} OR sum = length(messages) ORDER BY at, seq, id`

const ParcelRow = z.object({
  at: z.number().transform(instant),
  seq: z.number(),
  id: z.string(),
  userIid: z.string().nullable(),
  messages: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(Message)),
})

/** Reads the oldest parcels of a tenant, or the oldest after one. Parsed by `parseParcels`. */
export function nextParcels(
  db: TenantDatabase,
  after: Pick<Parcel, 'at' | 'seq' | 'id'> | null,
): D1PreparedStatement {
  return db.statement(NEXT, db.tenantId, after?.at ?? -1, after?.seq ?? 0, after?.id ?? '')
}

/** The parcels that `nextParcels` has read, oldest first; of one user in the order in which things happened. */
export function parseParcels(result: D1Result | undefined): Parcel[] {
  return z.array(ParcelRow).parse(result?.results ?? [])
}

const REMOVE = `
  DELETE FROM outbox WHERE (tenant_id, at, seq, id) IN (
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2))`

/** Takes parcels out that were handed over. */
export function removeParcels(db: TenantDatabase, parcels: readonly Parcel[]): D1PreparedStatement[] {
  return packed(parcels.map(({ at, seq, id }) => JSON.stringify([at, seq, id]))).map((list) =>
    db.statement(REMOVE, db.tenantId, list),
  )
}

const WAITING = `
  SELECT EXISTS (SELECT 1 FROM outbox WHERE tenant_id = ?1)
    OR EXISTS (SELECT 1 FROM points_told WHERE tenant_id = ?1 AND due_at <= ?2) AS waiting`

/** Whether a tenant has something to tell by a moment. */
export async function hasNews(db: TenantDatabase, now: Instant): Promise<boolean> {
  const [row] = await db.rows(db.statement(WAITING, db.tenantId, now))
  return z.object({ waiting: z.number() }).parse(row).waiting === 1
}
