import { z } from 'zod'
import type { Database } from '../../db/database'
import { type Instant, instant } from '../../shared/clock'

/** The one tenant there is with multi-tenancy off (T1); the first migration makes it. */
export const IMPLICIT_TENANT_ID = '00000000-0000-7000-8000-000000000000'

/** A tenant as every request reads it. */
export type Tenant = { id: string; configVersion: number }

/** What one statement says of a request's standing: the tenant, the clock, and which of the keys still exist. */
export type Standing = {
  /** Null where there is no such active tenant. */
  tenant: Tenant | null
  /** The test clock's time where it is set (C1). */
  clock: Instant | null
  /** The prefixes, of those asked for, whose keys exist (K2). */
  keys: ReadonlySet<string>
}

const STANDING = `
  SELECT t.id, t.config_version,
    (SELECT now FROM test_clock WHERE ?3) AS clock,
    (SELECT json_group_array(k.prefix) FROM json_each(?2) p CROSS JOIN api_keys k ON k.prefix = p.value) AS keys
  FROM (SELECT 1) LEFT JOIN tenants t ON t.id = ?1 AND t.status = 'active'`

const StandingRow = z.object({
  id: z.string().nullable(),
  config_version: z.number().nullable(),
  clock: z.number().nullable(),
  keys: z.string(),
})
const Prefixes = z.array(z.string())

/** Reads a request's standing; part of a batch, so that the clock and the keys cost no round trip (K2, C1). */
export function standingStatement(
  db: Database,
  tenantId: string,
  prefixes: readonly string[],
): D1PreparedStatement {
  return db.statement(STANDING, tenantId, JSON.stringify(prefixes), db.testClock ? 1 : 0)
}

/** What `standingStatement` has read. */
export function parseStanding(result: D1Result | undefined): Standing {
  const row = StandingRow.parse(result?.results[0])
  return {
    tenant:
      row.id === null || row.config_version === null
        ? null
        : { id: row.id, configVersion: row.config_version },
    clock: row.clock === null ? null : instant(row.clock),
    keys: new Set(Prefixes.parse(JSON.parse(row.keys))),
  }
}

/** The id of the active tenant that is called so by its UUID or by the customer's own identifier (T2). */
export async function findTenantId(db: Database, reference: string): Promise<string | null> {
  const rows = await db.rows(
    db.statement(
      "SELECT id FROM tenants WHERE (id = ?1 OR customer_id = ?1) AND status = 'active'",
      reference,
    ),
  )
  return rows.length === 0 ? null : z.object({ id: z.string() }).parse(rows[0]).id
}
