import type { TenantDatabase } from '../../db/database'
import { packed } from '../../shared/packed'
import type { Parcel } from './outbox'

/** A parcel, and the caller's id of the user whose it is, by which the user is found. */
export type Addressed = { parcel: Parcel; userId: string | null }

// Nothing is kept of somebody who was erased meanwhile (U8).
const KEEP = `
  INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
  SELECT ?1, p.value ->> 0, p.value ->> 1, p.value ->> 2, p.value ->> 3, p.value -> 4 FROM json_each(?2) p
  WHERE p.value ->> 3 IS NULL OR EXISTS (
    SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = p.value ->> 5 AND u.iid = p.value ->> 3)
  ON CONFLICT DO NOTHING`

/** Puts parcels into the outbox, one row each; those that are there already stay as they are. */
export function keepParcels(db: TenantDatabase, parcels: readonly Addressed[]): D1PreparedStatement[] {
  const rows = parcels.map(({ parcel: { at, seq, id, userIid, messages }, userId }) =>
    JSON.stringify([at, seq, id, userIid, messages, userId]),
  )
  return packed(rows).map((list) => db.statement(KEEP, db.tenantId, list))
}
