import { DatabaseError, MISPLACED_WORD } from '../database-error'
import { PLACEMENT, PLACEMENT_WITHOUT_TENANT, type Statement } from '../statement'

/** SQL that raises an error with a text of its own. See `CONFLICT` in guard.ts. */
const MISPLACED = `json_extract('{}', '${MISPLACED_WORD}')`

/**
 * SQL: the database holds the same buckets of a tenant as in the sender's directory, and no change of the
 * configuration or of the test clock is under way (B3, B4). `tenant` is the name of the tenant's row, whose
 * columns are null if there is none; `wanted` and `without` are the parameters `PLACEMENT` and
 * `PLACEMENT_WITHOUT_TENANT`. A copy that does not exist has no placement. The first database's row may not
 * exist: then nothing was ever placed there.
 */
const isPlaced = (tenant: string, wanted: string, without: string): string => `(${wanted} IS NULL OR (
    CASE WHEN ${tenant}.id IS NULL THEN ${without} WHEN ${tenant}.changing IS NULL THEN ${tenant}.placement
      ELSE -1 END = ${wanted}
    AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)))`

/** SQL: 1, or the error of a batch that was sent by an old directory. See `isPlaced`. */
export const placedOrRefused = (tenant: string, wanted: string, without: string): string =>
  `CASE WHEN ${isPlaced(tenant, wanted, without)} THEN 1 ELSE ${MISPLACED} END`

/**
 * SQL: true if the row of a tenant that exists is still placed as in the sender's directory. `wanted` is the
 * parameter `PLACEMENT`.
 */
export const stillPlaced = (wanted: string): string => `(${wanted} IS NULL OR (placement = ${wanted}
    AND changing IS NULL AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)))`

const PLACED = `
  SELECT ${placedOrRefused('t', '?2', '?3')} FROM (SELECT 1) LEFT JOIN tenants t ON t.id = ?1`

/**
 * The guard of a batch of a tenant, if there are several databases and no statement of the batch checks the
 * placement itself.
 */
export const placed = (tenantId: string): Statement => ({
  sql: PLACED,
  params: [tenantId, PLACEMENT, PLACEMENT_WITHOUT_TENANT],
})

/** Whether a batch was refused because its sender's directory, or the copy of the configuration, is old. */
export const isMisplaced = (error: unknown): boolean =>
  error instanceof DatabaseError && error.outcome === 'misplaced'
